import { type ProvingDeps } from './deps.ts'
import type { FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { removeFactor, renameFactor, shownFactors } from './manage-factors.ts'
import { replaceRecoveryCodes, turnTwoStepOff, turnTwoStepOn, twoStepNow } from './two-step.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { accountOf } from '../../http/edge/caller-guards.ts'
import { localeOf, originOf } from '../../http/edge/request-origin.ts'
import { endpoint, type Endpoint } from '../../http/edge/endpoint.ts'
import { Empty, FactorName, Id } from '../../http/edge/schemas.ts'

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
        description: 'True for a passkey that is stored in several places.'
      })
    })
  ),
  recovery_codes_left: Type.Integer(),
  two_step: Type.Object({
    on: Type.Boolean({ description: 'True if a sign-in takes a second step.' }),
    because: Type.Union([Type.Literal('app'), Type.Literal('required'), Type.Literal('chosen'), Type.Null()], {
      description: '`app`: there is an authenticator app. `required`: by the host. `chosen`: by the person.'
    })
  })
})
export const RecoveryCodes = Type.Array(Type.String(), { description: 'Shown this once.' })
export const ENDED = 'the sign-in ended in this very moment'

/** Returns the signed-in caller, after `requireProof` has checked that the sign-in is fresh. */
export async function freshCaller(
  request: FastifyRequest,
  accounts: AccountsDeps
): Promise<ReturnType<typeof accountOf> & { locale: string | undefined; origin: ReturnType<typeof originOf> }> {
  const caller = { ...accountOf(request), locale: localeOf(request), origin: originOf(request) }
  await requireProof('factors', caller, accounts)
  return caller
}

/** The endpoints for a signed-in user's own second factors. A change requires a fresh sign-in. Reading does not. */
export function factorEndpoints(accounts: ProvingDeps): Endpoint[] {
  const { factors } = accounts
  const fresh = async (request: FastifyRequest): ReturnType<typeof freshCaller> => await freshCaller(request, accounts)

  return [
    endpoint({
      method: 'GET',
      path: '/factors',
      callers: 'account',
      summary: 'My second factors',
      what:
        "Lists the user's own second factors and the number of recovery codes that are left, but no key. Exists with " +
        'the option `factors`.',
      answers: { 200: Factors },
      async handle(request) {
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
      }
    }),
    endpoint({
      method: 'POST',
      path: '/factors/recovery-codes',
      callers: 'account',
      summary: 'New recovery codes',
      what: 'Replaces all recovery codes with ten new ones.',
      answers: { 200: Type.Object({ recovery_codes: RecoveryCodes }) },
      errors: { 401: 'insufficient_user_authentication', 409: { invalid_request: 'two-step sign-in is off' } },
      handle: async (request) => ({ recovery_codes: await replaceRecoveryCodes(await fresh(request), accounts) })
    }),
    endpoint({
      method: 'POST',
      path: '/factors/two-step',
      callers: 'account',
      summary: 'Turn two-step sign-in on or off',
      what:
        'Turns two-step sign-in on or off. On: all other sign-ins of the user end, and `recovery_codes` has ten new ' +
        'codes. If it was on already, there are no new codes and nothing ends. Off: the first factor is enough ' +
        'again, and the recovery codes end.',
      body: Type.Object({ on: Type.Boolean() }, { additionalProperties: false }),
      answers: { 200: Type.Object({ on: Type.Boolean(), recovery_codes: Type.Optional(RecoveryCodes) }) },
      errors: {
        401: { insufficient_user_authentication: '', login_required: ENDED },
        409: {
          last_factor: 'on: there is neither an app nor a passkey; off: there is an app, or `mfa.required` holds'
        }
      },
      async handle(request, reply) {
        const { stay, ...caller } = await fresh(request)
        const { on } = request.body
        const recoveryCodes = on ? await turnTwoStepOn({ ...caller, stays: stay(reply) }, accounts) : null
        if (!on) await turnTwoStepOff(caller, accounts)
        return { on, ...(recoveryCodes === null ? {} : { recovery_codes: recoveryCodes }) }
      }
    }),
    endpoint({
      method: 'PATCH',
      path: '/factors/:id',
      callers: 'account',
      summary: 'Rename one of my second factors',
      what: 'Renames one of the second factors. An empty name removes its name.',
      params: Id,
      body: Type.Object({ name: FactorName }, { additionalProperties: false }),
      answers: { 204: Empty },
      errors: { 401: 'insufficient_user_authentication', 404: 'not_found' },
      async handle(request) {
        const { user } = await fresh(request)
        await renameFactor({ userId: user.id, factorId: request.params.id, name: request.body.name }, accounts)
      }
    }),
    endpoint({
      method: 'DELETE',
      path: '/factors/:id',
      callers: 'account',
      summary: 'Remove one of my second factors',
      what:
        'Removes one of the second factors. The other sign-ins of the user end. With the last factor, the recovery ' +
        'codes and the sign-in of the request end too. The last passkey stays if the account has neither a password ' +
        'nor a connection and gets no codes by email (`emailSignIn`).',
      params: Id,
      answers: { 204: Empty },
      errors: { 401: 'insufficient_user_authentication', 404: 'not_found', 409: 'last_factor' },
      async handle(request, reply) {
        const { user, stay, locale, origin } = await fresh(request)
        await removeFactor(
          { user, stays: stay(reply), factorId: request.params.id, by: 'user', locale, origin },
          accounts
        )
      }
    })
  ]
}
