import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { changePassword } from '../../accounts/change-password.ts'
import { register } from '../../accounts/register.ts'
import { confirmPasswordReset, requestPasswordReset } from '../../accounts/reset-password.ts'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { normalizeUsername } from '../../accounts/username.ts'
import { verifyEmail } from '../../accounts/verify-email.ts'
import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import { BODY_LIMIT, registerBodyParsers, strictValidator } from '../edge/body.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { callableBy } from '../edge/callers.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { localeOf } from '../edge/locale.ts'
import { aboutUsername, type Registration } from '../edge/registration.ts'
import {
  describeRoute,
  Empty,
  ErrorResponse,
  FOR_THE_ACCOUNT,
  OneTimeTokenValue,
  Password,
  Username
} from '../edge/schemas.ts'

const common = { ...callableBy('anyone'), bodyLimit: BODY_LIMIT, onRequest: noStoreHook }
const failures = { '4xx': ErrorResponse, 503: ErrorResponse }
/** The same answer whether the account exists or not. */
const ACCEPTED = { message: 'If the address is one we know, a message is on its way.' }
/** The same answer whether the address is new or not. Only the message to it says which. */
const REGISTERED = { message: 'A message is on its way to this address. Follow the link in it to continue.' }

/** The endpoints of a person's own account. A method that the user store lacks has no route. */
export function accountRoutes(child: FastifyInstance, deps: HttpDeps): void {
  const { accounts } = deps.grants
  registerBodyParsers(child, { forms: false })
  if (deps.registration !== null && accounts.users.create !== undefined) registerRoute(child, deps, deps.registration)
  if (accounts.users.setPasswordHash !== undefined) changePasswordRoute(child, deps)
  if (accounts.users.setPasswordHash !== undefined && accounts.outbox !== null) resetRoutes(child, deps)
  if ((accounts.users.setEmailVerified ?? accounts.users.update) !== undefined && accounts.outbox !== null)
    verifyEmailRoute(child, deps)
}

function registerRoute(
  child: FastifyInstance,
  { grants: { accounts }, limiter, path }: HttpDeps,
  { fields, body, compiled, defaultsOf }: Registration
): void {
  const names = Object.keys(fields.properties)
  child.post<{ Body: { username: string; password: string } & Record<string, unknown> }>(
    path('register'),
    {
      ...common,
      validatorCompiler: () => strictValidator(() => compiled),
      schema: describeRoute({
        summary: 'Register',
        body,
        response: {
          201: Type.Object({ sub: Type.String(), username: Type.String() }, { additionalProperties: true }),
          202: Type.Object({ message: Type.String() }),
          ...failures
        }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { username, password, ...given } = request.body
        const result = await limiter.reserve(
          request,
          reply,
          { rule: 'register' },
          async () =>
            await register(
              {
                username,
                password,
                fields: { ...defaultsOf(names), ...given },
                locale: localeOf(request),
                origin: originOf(request)
              },
              accounts
            ).catch((error: unknown) => {
              throw error instanceof OAuthError ? aboutUsername(error, names) : error
            })
        )
        reply.code(result === 'pending' ? 202 : 201)
        return result === 'pending' ? REGISTERED : publicProfile(result.user, names)
      })
  )
}

function changePasswordRoute(child: FastifyInstance, { grants, limiter, path }: HttpDeps): void {
  const body = Type.Object({ current_password: Password, new_password: Password }, { additionalProperties: false })
  child.post<{ Body: { current_password: string; new_password: string } }>(
    path('password'),
    {
      ...common,
      ...callableBy('account'),
      schema: describeRoute({
        summary: 'Change the password',
        description: FOR_THE_ACCOUNT,
        body,
        response: { 204: Empty, ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user, sid, authentication, stay } = accountOf(request)
        await requireProof('password', { user, sid, authentication, origin: originOf(request) }, grants.accounts)
        // Under the normalised name, as sign-ins count it.
        await limiter.reserve(
          request,
          reply,
          { rule: 'login', account: normalizeUsername(user.username) ?? user.username },
          async () => {
            await changePassword(
              {
                userId: user.id,
                stays: stay(reply),
                currentPassword: request.body.current_password,
                newPassword: request.body.new_password,
                locale: localeOf(request),
                origin: originOf(request)
              },
              grants.accounts
            )
          }
        )
        reply.code(204)
      })
  )
}

function resetRoutes(child: FastifyInstance, { grants: { accounts }, limiter, path }: HttpDeps): void {
  child.post<{ Body: { username: string } }>(
    path('passwordReset'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Ask for a password reset',
        body: Type.Object({ username: Username }, { additionalProperties: false }),
        response: { 202: Type.Object({ message: Type.String() }), ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        await limiter.reserve(request, reply, { rule: 'passwordReset' }, async () => {
          await requestPasswordReset(
            { ...request.body, locale: localeOf(request), origin: originOf(request) },
            accounts
          )
        })
        reply.code(202)
        return ACCEPTED
      })
  )

  child.post<{ Body: { token: string; password: string } }>(
    path('passwordResetConfirm'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Set a new password by a reset token',
        body: Type.Object({ token: OneTimeTokenValue, password: Password }, { additionalProperties: false }),
        response: { 204: Empty, ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        await limiter.countFailure(request, reply, async () => {
          await confirmPasswordReset(
            { ...request.body, locale: localeOf(request), origin: originOf(request) },
            accounts
          )
        })
        reply.code(204)
      })
  )
}

function verifyEmailRoute(child: FastifyInstance, { grants: { accounts }, limiter, path }: HttpDeps): void {
  child.post<{ Body: { token: string } }>(
    path('emailVerify'),
    {
      ...common,
      schema: describeRoute({
        summary: 'Confirm an e-mail address',
        body: Type.Object({ token: OneTimeTokenValue }, { additionalProperties: false }),
        response: { 204: Empty, ...failures }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        await limiter.countFailure(request, reply, async () => {
          await verifyEmail({ ...request.body, locale: localeOf(request), origin: originOf(request) }, accounts)
        })
        reply.code(204)
      })
  )
}

/** The public fields of a new user: the subject, the name and the fields that the host declared. Never the hash. */
function publicProfile(user: User, fields: string[]): Record<string, unknown> {
  const shown = fields.flatMap((name) => (user[name] === undefined ? [] : [[name, user[name]]]))
  return { sub: user.id, username: user.username, ...(Object.fromEntries(shown) as Record<string, unknown>) }
}
