import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import type { FactorDeps } from '../../accounts/factors/deps.ts'
import { requireConfirmedAddress } from '../../accounts/factors/confirmed-address.ts'
import { confirmEnrolment, startEnrolment } from '../../accounts/factors/enrol-totp.ts'
import { removeFactor, renameFactor, shownFactors } from '../../accounts/factors/manage-factors.ts'
import { replaceRecoveryCodes } from '../../accounts/factors/recovery-codes.ts'
import { twoStepNow } from '../../accounts/factors/policy.ts'
import { turnTwoStepOff, turnTwoStepOn } from '../../accounts/factors/two-step.ts'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { BODY_LIMIT, registerBodyParsers } from '../edge/body.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { callableBy } from '../edge/callers.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { localeOf } from '../edge/locale.ts'
import { describeRoute, Empty, ErrorResponse, FactorName, FOR_THE_ACCOUNT, SecondFactorCode } from '../edge/schemas.ts'

const common = { ...callableBy('account'), bodyLimit: BODY_LIMIT, onRequest: noStoreHook }
const failures = { '4xx': ErrorResponse, 503: ErrorResponse }
const described = { description: FOR_THE_ACCOUNT }
const Factors = Type.Object({
  factors: Type.Array(
    Type.Object({
      id: Type.String(),
      kind: Type.String({ description: '`totp`: an authenticator app; `passkey`: a passkey or a security key.' }),
      name: Type.Union([Type.String(), Type.Null()]),
      created_at: Type.String({ format: 'date-time' }),
      last_used_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
      disabled: Type.Boolean({ description: 'After too many wrong codes.' }),
      synced: Type.Union([Type.Boolean(), Type.Null()], {
        description: 'Of a passkey: whether it is kept in several places by now.'
      })
    })
  ),
  recovery_codes_left: Type.Integer(),
  two_step: Type.Object({
    on: Type.Boolean({ description: 'Whether a sign-in takes a second step.' }),
    because: Type.Union([Type.Literal('app'), Type.Literal('required'), Type.Literal('chosen'), Type.Null()], {
      description: '`app`: there is an authenticator app. `required`: by the host. `chosen`: by the person.'
    })
  })
})
const Enrolment = Type.Object({
  enrolment: Type.String({ description: 'Goes back with the first code, within ten minutes.' }),
  secret: Type.String({ description: 'base32, for people who type it.' }),
  uri: Type.String({ description: 'The `otpauth:` URI, for a link on the same device.' }),
  qr_svg: Type.String({ description: 'The same as an SVG image of a QR code.' })
})
const Id = Type.Object({ id: Type.String({ maxLength: 128 }) })
const RecoveryCodes = Type.Array(Type.String(), { description: 'Shown this once.' })
const ConfirmBody = Type.Object(
  { enrolment: Type.String({ maxLength: 4096 }), code: SecondFactorCode, name: Type.Optional(FactorName) },
  { additionalProperties: false }
)

/**
 * A signed-in user's own second factors. A change takes a fresh sign-in (`requireProof`). Reading them does not, nor
 * does the first code of an app, because a fresh sign-in began its enrolment.
 */
export function factorRoutes(child: FastifyInstance, { grants, path }: HttpDeps, factors: FactorDeps): void {
  const accounts = { ...grants.accounts, factors }
  registerBodyParsers(child, { forms: false })

  async function fresh(
    request: FastifyRequest
  ): Promise<ReturnType<typeof accountOf> & { locale: string | undefined; origin: ReturnType<typeof originOf> }> {
    const caller = { ...accountOf(request), locale: localeOf(request), origin: originOf(request) }
    await requireProof('factors', caller, accounts)
    return caller
  }

  child.get(
    path('factors'),
    {
      ...common,
      schema: describeRoute({
        summary: 'My second factors',
        ...described,
        response: { 200: Factors, '4xx': ErrorResponse, 503: ErrorResponse }
      })
    },
    async (request) =>
      await guarded(async () => {
        const { user } = accountOf(request)
        const found = await factors.store.findFactors(user.id)
        const { factors: listed, recoveryCodesLeft } = shownFactors(found)
        return {
          factors: listed.map(({ id, kind, name, createdAt, lastUsedAt, disabled, synced }) => ({
            id,
            kind,
            name,
            created_at: new Date(createdAt).toISOString(),
            last_used_at: lastUsedAt === null ? null : new Date(lastUsedAt).toISOString(),
            disabled,
            synced
          })),
          recovery_codes_left: recoveryCodesLeft,
          two_step: await twoStepNow(user, found, accounts)
        }
      })
  )

  child.post(
    path('factorsTotp'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Begin to set up an authenticator app',
        ...described,
        response: { 200: Enrolment, ...failures }
      })
    },
    async (request) =>
      await guarded(async () => {
        const { user, sid, locale, origin } = await fresh(request)
        await requireConfirmedAddress(user, { locale, origin }, accounts)
        const begun = await startEnrolment({ user, sid }, accounts)
        const { qrSvg } = await import('../../pages/qr.ts')
        return { ...begun, qr_svg: qrSvg(begun.uri) }
      })
  )

  child.post<{ Body: { enrolment: string; code: string; name?: string } }>(
    path('factorsTotpConfirm'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Set up an authenticator app',
        ...described,
        body: ConfirmBody,
        response: { 201: Type.Object({ id: Type.String(), recovery_codes: Type.Optional(RecoveryCodes) }), ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user, sid, stay } = accountOf(request)
        const { enrolment, code, name = '' } = request.body
        const { factorId, recoveryCodes } = await confirmEnrolment(
          {
            user,
            sid,
            stays: stay(reply),
            enrolment,
            code,
            name,
            locale: localeOf(request),
            origin: originOf(request)
          },
          accounts
        )
        reply.code(201)
        return { id: factorId, ...(recoveryCodes === null ? {} : { recovery_codes: recoveryCodes }) }
      })
  )

  child.post(
    path('factorsRecoveryCodes'),
    {
      ...common,
      schema: describeRoute({
        summary: 'New recovery codes',
        ...described,
        response: { 200: Type.Object({ recovery_codes: RecoveryCodes }), ...failures }
      })
    },
    async (request) =>
      await guarded(async () => {
        return { recovery_codes: await replaceRecoveryCodes(await fresh(request), accounts) }
      })
  )

  child.post<{ Body: { on: boolean } }>(
    path('factorsTwoStep'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Turn two-step sign-in on or off',
        ...described,
        body: Type.Object({ on: Type.Boolean() }, { additionalProperties: false }),
        response: {
          200: Type.Object({ on: Type.Boolean(), recovery_codes: Type.Optional(RecoveryCodes) }),
          ...failures
        }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { stay, ...caller } = await fresh(request)
        const { on } = request.body
        const recoveryCodes = on ? await turnTwoStepOn({ ...caller, stays: stay(reply) }, accounts) : null
        if (!on) await turnTwoStepOff(caller, accounts)
        return { on, ...(recoveryCodes === null ? {} : { recovery_codes: recoveryCodes }) }
      })
  )

  child.patch<{ Params: { id: string }; Body: { name: string } }>(
    `${path('factors')}/:id`,
    {
      ...common,
      schema: describeRoute({
        summary: 'Rename one of my second factors',
        ...described,
        params: Id,
        body: Type.Object({ name: FactorName }, { additionalProperties: false }),
        response: { 204: Empty, ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user } = await fresh(request)
        await renameFactor({ userId: user.id, factorId: request.params.id, name: request.body.name }, accounts)
        reply.code(204)
      })
  )

  child.delete<{ Params: { id: string } }>(
    `${path('factors')}/:id`,
    {
      ...common,
      schema: describeRoute({
        summary: 'Remove one of my second factors',
        ...described,
        params: Id,
        response: { 204: Empty, ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user, stay, locale, origin } = await fresh(request)
        await removeFactor(
          { user, stays: stay(reply), factorId: request.params.id, by: 'user', locale, origin },
          accounts
        )
        reply.code(204)
      })
  )
}
