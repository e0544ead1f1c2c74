import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { requireConfirmedAddress } from '../../accounts/factors/confirmed-address.ts'
import type { FactorDeps } from '../../accounts/factors/deps.ts'
import type { GivenCredential, PasskeyKind, Passkeys } from '../../accounts/factors/passkeys.ts'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { BODY_LIMIT, registerBodyParsers } from '../edge/body.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { callableBy } from '../edge/callers.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { localeOf } from '../edge/locale.ts'
import { describeRoute, ErrorResponse, FactorName, FOR_THE_ACCOUNT } from '../edge/schemas.ts'

const failures = { '4xx': ErrorResponse, 503: ErrorResponse }
const Options = Type.Object(
  {},
  {
    additionalProperties: true,
    description:
      'As JSON, for `PublicKeyCredential.parseCreationOptionsFromJSON` or ' +
      '`parseRequestOptionsFromJSON`. The answer is good for ten minutes.'
  }
)
const Kind = Type.Object(
  {
    kind: Type.Optional(
      Type.Union([Type.Literal('passkey'), Type.Literal('security_key')], {
        description:
          'Default: `passkey`. `security_key`: one that need not verify who holds it, which is a second factor alone.'
      })
    )
  },
  { additionalProperties: false }
)
const Credential = Type.Union([Type.Object({}, { additionalProperties: true }), Type.String()], {
  description: 'What `navigator.credentials.create` gave, as `RegistrationResponseJSON`, or that as text.'
})

/**
 * A signed-in user's own passkeys. The start of an addition takes a fresh sign-in (`requireProof`), and is good for
 * that sign-in alone.
 */
export function passkeyRoutes(
  child: FastifyInstance,
  { grants, path }: HttpDeps,
  factors: FactorDeps,
  passkeys: Passkeys
): void {
  const accounts = { ...grants.accounts, factors }
  const common = { ...callableBy('account'), bodyLimit: BODY_LIMIT, onRequest: noStoreHook }
  registerBodyParsers(child, { forms: false })

  child.post<{ Body: { kind?: PasskeyKind } | null }>(
    path('factorsPasskeysOptions'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Begin to add a passkey',
        description: FOR_THE_ACCOUNT,
        body: Type.Union([Type.Null(), Kind]),
        response: { 200: Type.Object({ options: Options }), ...failures }
      })
    },
    async (request) =>
      await guarded(async () => {
        const caller = accountOf(request)
        await requireProof('passkeys', { ...caller, origin: originOf(request) }, accounts)
        await requireConfirmedAddress(caller.user, { locale: localeOf(request), origin: originOf(request) }, accounts)
        return {
          options: await passkeys.creationOptions(
            { user: caller.user, sid: caller.sid, kind: request.body?.kind },
            accounts
          )
        }
      })
  )

  child.post<{ Body: { credential: GivenCredential; name?: string } }>(
    path('factorsPasskeys'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Add a passkey',
        description: FOR_THE_ACCOUNT,
        body: Type.Object({ credential: Credential, name: Type.Optional(FactorName) }, { additionalProperties: false }),
        response: {
          201: Type.Object({ id: Type.String() }),
          ...failures
        }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user, sid } = accountOf(request)
        const { credential, name = '' } = request.body
        const { factorId } = await passkeys.add(
          { user, sid, credential, name, locale: localeOf(request), origin: originOf(request) },
          accounts
        )
        reply.code(201)
        return { id: factorId }
      })
  )
}

/** The start of a sign-in by a passkey: alike for everybody, and nothing is stored for it. */
export function passkeyChallengeRoute(
  child: FastifyInstance,
  { grants: { accounts }, path }: HttpDeps,
  passkeys: Passkeys
): void {
  child.get(
    path('passkeyChallenge'),
    {
      ...callableBy('anyone'),
      onRequest: noStoreHook,
      schema: describeRoute({
        summary: 'Begin a sign-in by a passkey',
        response: { 200: Type.Object({ options: Options }) }
      })
    },
    async () => ({ options: passkeys.signInOptions(accounts) })
  )
}

/** The origins that may use the passkeys of this domain. @see W3C WebAuthn Level 3 §5.11 */
export function relatedOriginsRoute(
  child: FastifyInstance,
  { path }: HttpDeps,
  { relatedOrigins }: Passkeys,
  constraints: { host?: string }
): void {
  const document = { origins: relatedOrigins }
  child.get(
    path('webauthn'),
    {
      ...callableBy('anyone'),
      constraints,
      schema: describeRoute({
        summary: 'Origins that may use these passkeys',
        response: { 200: Type.Object({ origins: Type.Array(Type.String()) }) }
      })
    },
    async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300')
      return document
    }
  )
}
