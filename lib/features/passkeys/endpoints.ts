import type { ProvingDeps } from '../second-factors/deps.ts'
import { Type } from '@sinclair/typebox'
import { requireConfirmedAddress } from '../second-factors/addition.ts'
import type { Passkeys } from '../../accounts/factor-kinds.ts'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { accountOf } from '../../http/edge/caller-guards.ts'
import { localeOf, originOf } from '../../http/edge/request-origin.ts'
import { endpoint, type Endpoint } from '../../http/edge/endpoint.ts'
import { FactorName } from '../../http/edge/schemas.ts'

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
  description: 'The answer of `navigator.credentials.create`, as `RegistrationResponseJSON`, or that as text.'
})

/**
 * The endpoints that add a passkey, begin a sign-in by a passkey, and list the related origins. The options for a new
 * passkey require a fresh sign-in (`requireProof`). The new passkey can be added only in the same session.
 */
export function passkeyEndpoints(
  accounts: ProvingDeps,
  passkeys: Passkeys,
  relatedOrigins: readonly string[]
): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/factors/passkeys/options',
      callers: 'account',
      summary: 'Begin to add a passkey',
      what:
        'Returns the options of `navigator.credentials.create` for a passkey, or with `kind` for a security key that ' +
        'is a second factor alone. Only the handle of the user is stored. The answer counts for ten minutes, for ' +
        'this sign-in. Exists if passkeys are on.',
      body: Type.Union([Type.Null(), Kind]),
      answers: { 200: Type.Object({ options: Options }) },
      errors: { 401: 'insufficient_user_authentication' },
      async handle(request) {
        const caller = accountOf(request)
        await requireProof('passkeys', { ...caller, origin: originOf(request) }, accounts)
        await requireConfirmedAddress(caller.user, { locale: localeOf(request), origin: originOf(request) }, accounts)
        return {
          options: await passkeys.creationOptions({ user: caller.user, sid: caller.sid, kind: request.body?.kind })
        }
      }
    }),
    endpoint({
      method: 'POST',
      path: '/factors/passkeys',
      callers: 'account',
      summary: 'Add a passkey',
      what:
        'Stores the passkey. No other sign-in ends, and two-step sign-in stays as it is. Attestation is not read. ' +
        'Exists if passkeys are on.',
      body: Type.Object({ credential: Credential, name: Type.Optional(FactorName) }, { additionalProperties: false }),
      answers: { 201: Type.Object({ id: Type.String() }) },
      errors: {
        400: {
          invalid_credential: 'it does not fit, or answers no options of this sign-in and of the last ten minutes'
        },
        401: { login_required: 'the sign-in ended in this very moment' },
        409: ['duplicate_factor', 'factor_limit']
      },
      async handle(request) {
        const { user, sid } = accountOf(request)
        const { credential, name = '' } = request.body
        const { factorId } = await passkeys.add({
          user,
          sid,
          credential,
          name,
          locale: localeOf(request),
          origin: originOf(request)
        })
        return { id: factorId }
      }
    }),
    // Open to every origin without a sign-in, because the answer names no user and nothing is stored.
    endpoint({
      method: 'GET',
      path: 'passkeyChallenge',
      callers: 'anyone',
      cors: 'anyOrigin',
      summary: 'Begin a sign-in by a passkey',
      what:
        'Returns the options of `navigator.credentials.get` for a sign-in by a passkey. They are the same for all ' +
        'users, so they name nobody, and nothing is stored for them. The answer counts once, within ten minutes, at ' +
        '`POST /auth/token` or on the sign-in page. Exists if passkeys are on.',
      answers: { 200: Type.Object({ options: Options }) },
      handle: () => ({ options: passkeys.signInOptions() })
    }),
    // The other origins that may use the passkeys of this domain. @see W3C WebAuthn Level 3 §5.11
    endpoint({
      method: 'GET',
      path: 'webauthn',
      callers: 'anyone',
      cors: 'anyOrigin',
      isCached: true,
      summary: 'Origins that may use these passkeys',
      what:
        'Lists the origins of `passkeys.relatedOrigins` for browsers (W3C WebAuthn Level 3 §5.11), which ask the ' +
        'host that is the `rpId`. Exists with that option.',
      answers: { 200: Type.Object({ origins: Type.Array(Type.String()) }) },
      handle(_request, reply) {
        reply.header('cache-control', 'public, max-age=300')
        return { origins: relatedOrigins }
      }
    })
  ]
}
