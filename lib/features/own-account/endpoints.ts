import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { shownSession } from '../../accounts/export-user.ts'
import { requestEmailChange } from '../../accounts/request-email-change.ts'
import { type AccountChange, requireProof } from '../../accounts/fresh-sign-in.ts'
import { changeProfile, profileOf } from './change-profile.ts'
import { removeAccount } from '../../accounts/remove-account.ts'
import { countedName } from '../../accounts/username.ts'
import { sendVerificationAgain } from '../../accounts/verify-email.ts'
import { OAuthError } from '../../errors.ts'
import { listSessions } from '../../sessions/browser-sessions.ts'
import { strictValidator } from '../../http/edge/body.ts'
import { accountOf } from '../../http/edge/caller-guards.ts'
import { endpoint, type HttpDeps } from '../../http/edge/endpoint.ts'
import { localeOf, originOf } from '../../http/edge/request-origin.ts'
import { exported } from './endpoints-export.ts'
import { EmailAddress, Empty, Id, Message, PasswordAgain } from '../../http/edge/schemas.ts'

/**
 * The answer to a request for a message. It is the same for free and taken addresses, and if the service sends nothing
 * because the last message is less than five minutes old.
 */
const ACCEPTED = { message: 'A message is on its way to this address, unless one was sent just now.' }

const Profile = Type.Object(
  {
    sub: Type.String(),
    username: Type.String(),
    email: Type.Optional(Type.String({ description: 'The address for messages.' })),
    email_verified: Type.Optional(Type.Boolean({ description: 'There with `email`.' }))
  },
  { additionalProperties: true, description: 'Also has the values of `registration.fields` of the user.' }
)
const Removal = Type.Object({ password: PasswordAgain }, { additionalProperties: false })

const profile = endpoint({
  method: 'GET',
  path: '/profile',
  callers: 'account',
  summary: 'My profile',
  what:
    "Returns `sub`, `username`, the address for messages and whether it is confirmed, and the user's values of " +
    '`registration.fields`. Other columns of the user store are not shown.',
  answers: { 200: Profile },
  handle: (request, _reply, { registration }) => profileOf(accountOf(request).user, registration?.profile?.names ?? [])
})

const changedProfile = endpoint({
  method: 'PATCH',
  path: '/profile',
  callers: 'account',
  summary: 'Change my profile',
  what:
    'Changes the fields that the body names, and no others: those of `registration.fields`, each as its schema says. ' +
    '`null` removes an optional field. If the body has any other field, nothing changes: names and addresses are not ' +
    'changed here. Exists if the user store has `update` and the user may change a field of `registration.fields`. ' +
    'The table has the fields of an example.',
  body: ({ registration }) => registration?.profile?.body ?? Type.Object({}),
  check: ({ registration }) => registration?.profile?.validate ?? (() => true),
  answers: { 200: Profile },
  errors: { 400: { invalid_request: 'naming the field' } },
  isOn: ({ registration, grants: { accounts } }) =>
    accounts.users.update !== undefined && (registration?.profile ?? null) !== null,
  handle: async (request, _reply, { registration, grants: { accounts } }) => {
    const { user, sid } = accountOf(request)
    const changes = request.body as Record<string, unknown>
    return profileOf(
      await changeProfile({ user, sid, changes, origin: originOf(request) }, accounts),
      registration?.profile?.names ?? []
    )
  }
})

const email = endpoint({
  method: 'POST',
  path: '/email',
  callers: 'account',
  summary: 'Change my email address',
  what:
    'Asks for another email address. A message `email_change` with a link goes to that address, and a notice ' +
    '`email_change_requested` to the current one. Nothing changes before the link is used. The link is good for 24 ' +
    'hours. A newer link, a new password or another change of the address ends it. An address that is another ' +
    "account's username gets the same answer, and its owner the message `already_registered`. Within five minutes no " +
    'second link goes to one address.\n\nThe sign-in must be at most five minutes old. A user without a second ' +
    'factor may send the `password` instead. Exists if the user store has `update` and `sendMessage` is set.',
  body: Type.Object({ email: EmailAddress, password: PasswordAgain }, { additionalProperties: false }),
  answers: { 202: Message },
  errors: {
    400: { invalid_request: "no address, or the account's own", invalid_grant: 'the password is wrong' },
    401: 'insufficient_user_authentication',
    429: { too_many_requests: 'rule `passwordReset`; with a password `login` and `account`' }
  },
  isOn: ({ grants: { accounts } }) => accounts.users.update !== undefined && accounts.outbox !== null,
  handle: async (request, reply, deps) => {
    const { user, sid } = accountOf(request)
    await prove('email', request, reply, request.body.password, deps)
    await deps.limiter.reserve(request, reply, { rule: 'passwordReset', userId: user.id }, async () => {
      await requestEmailChange(
        { user, sid, email: request.body.email, locale: localeOf(request), origin: originOf(request) },
        deps.grants.accounts
      )
    })
    return ACCEPTED
  }
})

const emailResend = endpoint({
  method: 'POST',
  path: '/email/resend',
  callers: 'account',
  summary: 'Send the confirmation of my email address again',
  what:
    "Sends the message that confirms the account's own address again, if the address is not confirmed and the last " +
    'message is at least five minutes old. The link before it stops working. There is no body. To get a link for ' +
    'another address again, ask for the change again. Exists if the user store has `setEmailVerified` and ' +
    '`sendMessage` is set.',
  answers: { 202: Message },
  errors: { 429: { too_many_requests: 'rule `passwordReset`' } },
  isOn: ({ grants: { accounts } }) => accounts.users.setEmailVerified !== undefined && accounts.outbox !== null,
  handle: async (request, reply, { grants: { accounts }, limiter }) => {
    const { user } = accountOf(request)
    await limiter.reserve(request, reply, { rule: 'passwordReset', userId: user.id }, async () => {
      await sendVerificationAgain(user, { locale: localeOf(request), origin: originOf(request) }, accounts)
    })
    return ACCEPTED
  }
})

const account = endpoint({
  method: 'DELETE',
  path: 'account',
  callers: 'account',
  summary: 'Remove my account',
  what:
    'Removes the account for good. All its sessions, tokens, consents and links end. Then the user store removes the ' +
    'user, and there is the event `account_removed` and a message of that kind. The username is free again. After a ' +
    'failure half-way (503), the same request does the rest, because the sign-in of the request ends last.\n\nThe ' +
    'sign-in must be at most five minutes old. A user without a second factor may send the `password` instead. With ' +
    'a fresh sign-in the body is optional. Exists if the user store has `remove`.',
  body: Removal,
  // Accepts `null`, which Fastify passes for a missing body. With a fresh sign-in no body is needed.
  check() {
    const check = strictValidator(() => TypeCompiler.Compile(Removal))
    return (value) => value === null || check(value)
  },
  answers: { 204: Empty },
  errors: {
    400: { invalid_grant: 'the password is wrong' },
    401: 'insufficient_user_authentication',
    429: { too_many_requests: 'rules `login` and `account`, with a password' }
  },
  isOn: ({ grants: { accounts } }) => accounts.users.remove !== undefined,
  handle: async (request, reply, deps) => {
    const { user, stay } = accountOf(request)
    const body = request.body as { password?: string } | null | undefined
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
    // Rejects the JSON text `null`, which `check` could not tell from a missing body.
    if (body === null && (length !== '0' || encoding !== undefined))
      throw new OAuthError('invalid_request', 'The body must be an object.')
    await prove('removal', request, reply, body?.password, deps)
    await removeAccount(
      { user, stays: stay(reply), locale: localeOf(request), origin: originOf(request) },
      deps.grants.accounts
    )
  }
})

/** `GET /auth/sessions` and `DELETE /auth/sessions/:id`: a user's own refresh token families and browser sessions. */
export const sessions = [
  endpoint({
    method: 'GET',
    path: '/sessions',
    callers: 'account',
    summary: 'List my sessions',
    what:
      'Lists the sessions of the signed-in user, newest first. The kind `token` is a session of one device or app, ' +
      'the kind `browser` a browser that is signed in at the hosted pages. `current` marks the session of this ' +
      'request, and the browser session from which it came.',
    answers: {
      200: Type.Object({
        sessions: Type.Array(
          Type.Object({
            id: Type.String(),
            kind: Type.Union([Type.Literal('browser'), Type.Literal('token')], {
              description: '`browser`: the hosted pages; `token`: what one device was given.'
            }),
            client_id: Type.Union([Type.String(), Type.Null()]),
            user_agent: Type.Union([Type.String(), Type.Null()]),
            scope: Type.String(),
            created_at: Type.String({ description: 'RFC 3339' }),
            last_used_at: Type.String({ description: 'RFC 3339' }),
            expires_at: Type.String({ description: 'RFC 3339' }),
            current: Type.Boolean({ description: 'True for the session of this request.' })
          })
        )
      })
    },
    handle: async (request, _reply, { grants }) => {
      const { user, sid, sessionSid } = accountOf(request)
      const sessions = await listSessions(user.id, grants.sessions)
      return {
        sessions: sessions.map((one) => ({
          ...shownSession(one),
          current: one.id === (one.kind === 'token' ? sid : sessionSid)
        }))
      }
    }
  }),
  endpoint({
    method: 'DELETE',
    path: '/sessions/:id',
    callers: 'account',
    summary: 'End one of my sessions',
    what:
      "Ends one of the user's own sessions. Its refresh token ends at once. Its access tokens end at once in this " +
      'process and at the endpoints that look at the store, elsewhere when they expire. For the current session, ' +
      'this is the sign-out.',
    params: Id,
    answers: { 204: Empty },
    errors: { 404: 'not_found' },
    handle: async (request, _reply, { grants }) => {
      const { user } = accountOf(request)
      if (!(await grants.sessions.revoke(user.id, request.params.id, 'user', originOf(request))))
        throw new OAuthError('not_found', 'There is no such session.')
    }
  })
]

/** The endpoints of a signed-in user's own account. Each exists only if the options and the user store allow it. */
export const ownAccount = [profile, changedProfile, email, emailResend, account, exported, ...sessions]

/** Requires a fresh sign-in or the password (`requireProof`). A password counts as an attempt for the rate limits. */
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
  else await limiter.reserve(request, reply, { rule: 'login', account: countedName(user.username) }, work)
}
