import { Type } from '@sinclair/typebox'
import { changePassword } from '../../accounts/change-password.ts'
import { register as registerUser } from '../../accounts/register.ts'
import { canResetPasswords, confirmPasswordReset, requestPasswordReset } from '../../accounts/reset-password.ts'
import { requireProof } from '../../accounts/fresh-sign-in.ts'
import { countedName } from '../../accounts/username.ts'
import { canVerifyEmails, verifyEmail } from '../../accounts/verify-email.ts'
import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import { strictValidator } from '../edge/body.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { endpoint } from '../edge/endpoint.ts'
import { localeOf, originOf } from '../edge/request-origin.ts'
import { aboutUsername } from '../edge/registration.ts'
import { Empty, Message, OneTimeTokenValue, Password, Username } from '../edge/schemas.ts'

/** The answer is the same whether the account exists or not. */
const ACCEPTED = { message: 'If the address is one we know, a message is on its way.' }
/**
 * The answer is the same whether the address is new or not. Only the message to that address reveals whether an account
 * exists.
 */
const REGISTERED = { message: 'A message is on its way to this address. Follow the link in it to continue.' }

const register = endpoint({
  method: 'POST',
  path: '/register',
  callers: 'anyone',
  summary: 'Register',
  what:
    "Creates an account and signs nobody in. A username is an email address, and with `registration.username: 'any'` " +
    'that or 3 to 64 of `a-z 0-9 . _ -`. It is compared in lower case. The body takes the fields of ' +
    '`registration.fields` besides the username and the password, and no others. With `registration.verifyEmail` the ' +
    'answer is 202 for free and taken names. Exists if the user store has `create` and `registration` is not `false`.',
  body: ({ registration }) => registration?.body ?? Type.Object({}),
  check: ({ registration }) => (registration === null ? () => true : strictValidator(() => registration.compiled)),
  answers: {
    201: Type.Object({ sub: Type.String(), username: Type.String() }, { additionalProperties: true }),
    202: Message
  },
  errors: {
    400: { invalid_request: 'naming the field', invalid_password: 'with the reason' },
    409: 'username_taken',
    429: { too_many_requests: 'rule `register`' }
  },
  isOn: ({ registration, grants: { accounts } }) => registration !== null && accounts.users.create !== undefined,
  handle: async (request, reply, { grants: { accounts }, limiter, registration }) => {
    const names = Object.keys(registration?.fields.properties ?? {})
    const { username, password, ...given } = request.body as { username: string; password: string }
    const { user } = await limiter.reserve(
      request,
      reply,
      { rule: 'register' },
      async () =>
        await registerUser(
          {
            username,
            password,
            fields: { ...registration?.defaultsOf(names), ...given },
            locale: localeOf(request),
            origin: originOf(request)
          },
          accounts
        ).catch((error: unknown) => {
          throw error instanceof OAuthError ? aboutUsername(error, names) : error
        })
    )
    reply.code(user === null ? 202 : 201)
    return user === null ? REGISTERED : publicProfile(user, names)
  }
})

const password = endpoint({
  method: 'POST',
  path: '/password',
  callers: 'account',
  summary: 'Change the password',
  what:
    'Changes the password of the signed-in user and ends all their other sessions. The session of the request stays. ' +
    'Exists if the user store has `setPasswordHash`.',
  body: Type.Object({ current_password: Password, new_password: Password }, { additionalProperties: false }),
  answers: { 204: Empty },
  errors: {
    400: { invalid_grant: 'the current password is wrong', invalid_password: '' },
    429: { too_many_requests: 'rules `login` and `account`' }
  },
  isOn: ({ grants: { accounts } }) => accounts.users.setPasswordHash !== undefined,
  handle: async (request, reply, { grants, limiter }) => {
    const { user, sid, authentication, stay } = accountOf(request)
    await requireProof('password', { user, sid, authentication, origin: originOf(request) }, grants.accounts)
    await limiter.reserve(request, reply, { rule: 'login', account: countedName(user.username) }, async () => {
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
    })
  }
})

const passwordReset = endpoint({
  method: 'POST',
  path: '/password-reset',
  callers: 'anyone',
  summary: 'Ask for a password reset',
  what:
    'Sends a message with a token to the stored email address of the account, or to its username if that is an ' +
    'address. The answer and its time are the same for unknown accounts. The token is good for 30 minutes, works ' +
    'once, and ends the one before. Exists if the user store has `setPasswordHash` and `sendMessage` is set.',
  body: Type.Object({ username: Username }, { additionalProperties: false }),
  answers: { 202: Message },
  errors: { 429: { too_many_requests: 'rule `passwordReset`' } },
  isOn: ({ grants: { accounts } }) => canResetPasswords(accounts),
  handle: async (request, reply, { grants: { accounts }, limiter }) => {
    await limiter.reserve(request, reply, { rule: 'passwordReset' }, async () => {
      await requestPasswordReset({ ...request.body, locale: localeOf(request), origin: originOf(request) }, accounts)
    })
    return ACCEPTED
  }
})

const passwordResetConfirm = endpoint({
  method: 'POST',
  path: '/password-reset/confirm',
  callers: 'anyone',
  summary: 'Set a new password by a reset token',
  what:
    'Sets a new password by the token of a message. Ends all sessions of the user and signs nobody in. Exists ' +
    'together with the endpoint before.',
  body: Type.Object({ token: OneTimeTokenValue, password: Password }, { additionalProperties: false }),
  answers: { 204: Empty },
  errors: { 400: ['invalid_password', 'invalid_token'], 429: { too_many_requests: 'rule `refresh`' } },
  isOn: ({ grants: { accounts } }) => canResetPasswords(accounts),
  handle: async (request, reply, { grants: { accounts }, limiter }) => {
    await limiter.countFailure(request, reply, async () => {
      await confirmPasswordReset({ ...request.body, locale: localeOf(request), origin: originOf(request) }, accounts)
    })
  }
})

const emailVerify = endpoint({
  method: 'POST',
  path: '/email/verify',
  callers: 'anyone',
  summary: 'Confirm an email address',
  what:
    'Confirms the email address of the user by the token of a message. The token is good for 24 hours, works once, ' +
    'and ends the one before. The token of a message `email_change` gives the account the address to which it was ' +
    'sent, as confirmed. If the username was the address, it changes too. All other links of the user end, sessions ' +
    'stay, and the former address gets `email_changed`. Exists if `sendMessage` is set and the user store has ' +
    '`setEmailVerified` or `update`. There is no GET, because mail scanners follow links.',
  body: Type.Object({ token: OneTimeTokenValue }, { additionalProperties: false }),
  answers: { 204: Empty },
  errors: { 400: 'invalid_token', 429: { too_many_requests: 'rule `refresh`' } },
  isOn: ({ grants: { accounts } }) => canVerifyEmails(accounts),
  handle: async (request, reply, { grants: { accounts }, limiter }) => {
    await limiter.countFailure(request, reply, async () => {
      await verifyEmail({ ...request.body, locale: localeOf(request), origin: originOf(request) }, accounts)
    })
  }
})

/**
 * The endpoints of a user's own account. An endpoint does not exist if its option is off, or if the user store lacks
 * the method that it needs.
 */
export const accounts = [register, password, passwordReset, passwordResetConfirm, emailVerify]

/**
 * The public fields of a new user: the subject, the username and the fields that the host declared. Never the password
 * hash.
 */
function publicProfile(user: User, fields: string[]): Record<string, unknown> {
  const shown = fields.flatMap((name) => (user[name] === undefined ? [] : [[name, user[name]]]))
  return { sub: user.id, username: user.username, ...(Object.fromEntries(shown) as Record<string, unknown>) }
}
