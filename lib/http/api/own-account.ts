import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { requestEmailChange } from '../../accounts/change-email.ts'
import { type AccountChange, requireProof } from '../../accounts/fresh-sign-in.ts'
import { changeProfile, profileOf } from '../../accounts/profile.ts'
import { removeAccount } from '../../accounts/remove-account.ts'
import { normalizeUsername } from '../../accounts/username.ts'
import { sendVerificationAgain } from '../../accounts/verify-email.ts'
import { OAuthError } from '../../errors.ts'
import { BODY_LIMIT, registerBodyParsers, strictValidator } from '../edge/body.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { callableBy } from '../edge/callers.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { localeOf } from '../edge/locale.ts'
import type { Registration } from '../edge/registration.ts'
import {
  describeRoute,
  EmailAddress,
  Empty,
  ErrorResponse,
  FOR_THE_ACCOUNT,
  PasswordAgain,
  Profile
} from '../edge/schemas.ts'
import { TypeCompiler } from '@sinclair/typebox/compiler'

const common = { ...callableBy('account'), bodyLimit: BODY_LIMIT, onRequest: noStoreHook }
const failures = { '4xx': ErrorResponse, 503: ErrorResponse }
const described = { description: FOR_THE_ACCOUNT }
/** The same for free and taken addresses, and for a message less than five minutes ago. */
const ACCEPTED = { message: 'A message is on its way to this address, unless one was sent just now.' }
const Accepted = Type.Object({ message: Type.String() })

/** A signed-in user's own account. A method that the user store lacks has no route. */
export function ownAccountRoutes(child: FastifyInstance, deps: HttpDeps): void {
  const { users, outbox } = deps.grants.accounts
  const fields = deps.registration?.profile ?? null
  registerBodyParsers(child, { forms: false })
  profileRoute(child, deps)
  if (users.update !== undefined && fields !== null) changeProfileRoute(child, deps, fields)
  if (users.update !== undefined && outbox !== null) changeEmailRoute(child, deps)
  if (users.setEmailVerified !== undefined && outbox !== null) resendRoute(child, deps)
  if (users.remove !== undefined) removeRoute(child, deps)
}

function profileRoute(child: FastifyInstance, { registration, path }: HttpDeps): void {
  child.get(
    path('profile'),
    {
      ...common,
      schema: describeRoute({ summary: 'My profile', ...described, response: { 200: Profile, '4xx': ErrorResponse } })
    },
    async (request) => await guarded(async () => profileOf(accountOf(request).user, registration?.profile?.names ?? []))
  )
}

function changeProfileRoute(
  child: FastifyInstance,
  { grants: { accounts }, path }: HttpDeps,
  { names, body, validate }: NonNullable<Registration['profile']>
): void {
  child.patch<{ Body: Record<string, unknown> }>(
    path('profile'),
    {
      ...common,
      validatorCompiler: () => validate,
      schema: describeRoute({
        summary: 'Change my profile',
        ...described,
        body,
        response: { 200: Profile, ...failures }
      })
    },
    async (request) =>
      await guarded(async () => {
        const { user, sid } = accountOf(request)
        return profileOf(
          await changeProfile({ user, sid, changes: request.body, origin: originOf(request) }, accounts),
          names
        )
      })
  )
}

function changeEmailRoute(child: FastifyInstance, deps: HttpDeps): void {
  const {
    grants: { accounts },
    limiter,
    path
  } = deps
  const body = Type.Object({ email: EmailAddress, password: PasswordAgain }, { additionalProperties: false })
  child.post<{ Body: { email: string; password?: string } }>(
    path('email'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Change my e-mail address',
        ...described,
        body,
        response: { 202: Accepted, ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user, sid } = accountOf(request)
        await prove('email', request, reply, request.body.password, deps)
        await limiter.reserve(request, reply, { rule: 'passwordReset', userId: user.id }, async () => {
          await requestEmailChange(
            { user, sid, email: request.body.email, locale: localeOf(request), origin: originOf(request) },
            accounts
          )
        })
        reply.code(202)
        return ACCEPTED
      })
  )
}

function resendRoute(child: FastifyInstance, { grants: { accounts }, limiter, path }: HttpDeps): void {
  child.post(
    path('emailResend'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Send the confirmation of my e-mail address again',
        ...described,
        response: { 202: Accepted, ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user } = accountOf(request)
        await limiter.reserve(request, reply, { rule: 'passwordReset', userId: user.id }, async () => {
          await sendVerificationAgain(user, { locale: localeOf(request), origin: originOf(request) }, accounts)
        })
        reply.code(202)
        return ACCEPTED
      })
  )
}

function removeRoute(child: FastifyInstance, deps: HttpDeps): void {
  const {
    grants: { accounts },
    path
  } = deps
  const body = Type.Object({ password: PasswordAgain }, { additionalProperties: false })
  const check = strictValidator(() => TypeCompiler.Compile(body))
  child.delete<{ Body: { password?: string } | null | undefined }>(
    path('account'),
    {
      ...common,
      // Fastify hands in `null` where there is no body: with a fresh sign-in there need not be one. A body that is
      // `null` is none of ours.
      validatorCompiler: () => (value: unknown) => value === null || check(value),
      preValidation(request, _reply, done) {
        const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
        if (request.body === null && (length !== '0' || encoding !== undefined))
          done(new OAuthError('invalid_request', 'The body must be an object.'))
        else done()
      },
      schema: describeRoute({ summary: 'Remove my account', ...described, body, response: { 204: Empty, ...failures } })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user, stay } = accountOf(request)
        await prove('removal', request, reply, request.body?.password, deps)
        await removeAccount(
          { user, stays: stay(reply), locale: localeOf(request), origin: originOf(request) },
          accounts
        )
        reply.code(204)
      })
  )
}

/** A password is an attempt like that of a sign-in, and counts with those. */
async function prove(
  change: AccountChange,
  request: FastifyRequest,
  reply: FastifyReply,
  password: string | undefined,
  { grants: { accounts }, limiter }: HttpDeps
): Promise<void> {
  const { user, sid, authentication } = accountOf(request)
  const work = async (): Promise<void> => {
    await requireProof(change, { user, sid, authentication, password, origin: originOf(request) }, accounts)
  }
  if (password === undefined) await work()
  // As sign-ins count it, whatever the store spells.
  else
    await limiter.reserve(
      request,
      reply,
      { rule: 'login', account: normalizeUsername(user.username) ?? user.username },
      work
    )
}
