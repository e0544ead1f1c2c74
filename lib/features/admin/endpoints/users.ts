import { type Static, Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { RequestedUsers, UserWithRow } from '../../../accounts/managed-users.ts'
import { OAuthError } from '../../../errors.ts'
import { type Endpoint, endpoint } from '../../../http/edge/endpoint.ts'
import type { Registration } from '../../../http/edge/registration.ts'
import { MAX_SCOPE_LENGTH } from '../../../protocol/scope.ts'
import { acting, type AdminDeps, askedBy, Id, Reason, numberIn, queryOf, refused, ifMatch, tagOf } from './acting.ts'
import { auditEndpoint } from './audit.ts'
import { userItemEndpoints, sessionEndpoints } from './user-items.ts'
import { adminOf } from '../../../http/edge/admin-guard.ts'

/** `POST /auth/admin/users/:id/impersonate`. */
const impersonateEndpoint = (users: () => RequestedUsers, deps: AdminDeps): Endpoint =>
  endpoint({
    method: 'POST',
    path: '/admin/users/:id/impersonate',
    callers: { admin: 'authority:impersonate' },
    summary: 'Act as a user',
    what:
      'Issues an access token whose `sub` is the user and whose `act.sub` is the administrator: no refresh token, no ' +
      'ID token, no session. It ends with the sign-in of the administrator. The routes of accounts and of ' +
      'administration refuse it. `reason` has 10 to 500 characters. `scope` is a part of the scopes of the user.',
    params: Id,
    body: Type.Object(
      {
        reason: Reason,
        scope: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_SCOPE_LENGTH }))
      },
      { additionalProperties: false }
    ),
    answers: {
      200: Type.Object({
        access_token: Type.String(),
        token_type: Type.String(),
        expires_in: Type.Integer(),
        scope: Type.Optional(Type.String()),
        act: Type.Object({ sub: Type.String() })
      })
    },
    errors: { 400: ['invalid_request', 'invalid_scope'], 404: 'not_found', 409: 'conflict' },
    handle: async (request) => {
      const { signIn } = adminOf(request)
      return await users().impersonate(request.params.id, {
        ...request.body,
        ...askedBy(request, deps),
        signIn: signIn ?? undefined
      })
    }
  })

const TextOrNull = Type.Union([Type.String(), Type.Null()])
const Profile = Type.Object(
  {
    id: Type.String(),
    username: Type.String(),
    email: TextOrNull,
    email_verified: Type.Boolean(),
    disabled: Type.Boolean(),
    has_password: Type.Boolean(),
    created_at: Type.Union([Type.String(), Type.Null()], { description: 'RFC 3339' })
  },
  { additionalProperties: true, description: 'Also has the values of `registration.fields` and `admin.fields`.' }
)
const Fields = Type.Optional(Type.Record(Type.String(), Type.Unknown()))
const Name = Type.String({ minLength: 1, maxLength: 255 })

/**
 * Checks values against the host's schemas in `registration.fields`. Accepts `null` for a field that is not required,
 * because `null` removes the field. Does not check fields without a schema.
 * @throws OAuthError `invalid_request`
 */
function checkFields(given: Record<string, unknown> = {}, registration: Registration | null): void {
  const { properties = {}, required = [] } = registration?.fields ?? {}
  for (const [name, value] of Object.entries(given)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
    const isRemoved = value === null && !required.includes(name)
    if (schema !== undefined && !isRemoved && registration?.fits(schema, value) === false)
      throw refused(name, 'it does not fit the schema of the field.')
  }
}

/** The endpoints of the admin API. */
export function adminEndpoints(deps: AdminDeps): Endpoint[] {
  const { accounts, users } = deps

  function shown({ user, row }: UserWithRow): Static<typeof Profile> {
    const { id, username, email, emailVerified, disabled, hasPassword, createdAt, version: _v, ...fields } = user
    const more = Object.fromEntries(
      deps.fields.filter((name) => row[name] !== undefined).map((name) => [name, row[name]])
    )
    return {
      ...more,
      ...fields,
      id,
      username,
      email,
      email_verified: emailVerified,
      disabled,
      has_password: hasPassword,
      created_at: createdAt?.toISOString() ?? null
    }
  }

  async function profile(id: string, reply: FastifyReply): Promise<Static<typeof Profile>> {
    const found = await users().get(id)
    if (found === null) throw new OAuthError('not_found', 'There is no such user.')
    tagOf(found.user, reply)
    return shown(found)
  }

  return [
    endpoint({
      method: 'GET',
      path: '/admin/users',
      callers: { admin: 'authority:users:read' },
      summary: 'List users',
      what:
        'Lists users, the newest first: `limit` (1 to 200), `after` (the `next` of an answer), `prefix` (of the ' +
        'username), `email` (the whole address), `connection` (its id). `next` is `null` on the last page.',
      answers: { 200: Type.Object({ users: Type.Array(Profile), next: TextOrNull }) },
      errors: { 400: 'invalid_request' },
      handle: async (request) => {
        const query = queryOf(request, ['limit', 'after', 'prefix', 'email', 'connection'])
        const page = await users().list({ ...query, limit: numberIn(query.limit, 'limit') })
        return { users: page.users.map(shown), next: page.next }
      }
    }),
    endpoint({
      method: 'POST',
      path: '/admin/users',
      callers: { admin: 'authority:users:write' },
      summary: 'Create a user',
      what: 'Creates a user without a password. With `invite` the user gets a link to set one.',
      body: Type.Object(
        { username: Name, email: Type.Optional(Name), fields: Fields, invite: Type.Optional(Type.Boolean()) },
        { additionalProperties: false }
      ),
      answers: { 201: Profile },
      errors: { 409: 'username_taken' },
      handle: async (request, reply, { registration }) => {
        checkFields(request.body.fields, registration)
        const made = await users().create(request.body, askedBy(request, deps))
        return await profile(made.id, reply)
      }
    }),
    endpoint({
      method: 'GET',
      path: '/admin/users/:id',
      callers: { admin: 'authority:users:read' },
      summary: 'Look up a user',
      what: 'Returns the profile. The header `ETag` has the version.',
      params: Id,
      answers: { 200: Profile },
      errors: { 404: 'not_found' },
      handle: async (request, reply) => await profile(request.params.id, reply)
    }),
    endpoint({
      method: 'PATCH',
      path: '/admin/users/:id',
      callers: { admin: 'authority:users:write' },
      summary: 'Change a user',
      what:
        'Changes these fields, if the user still has the version of the header `If-Match`. A username that is an ' +
        'address changes with `email`. A new address is unconfirmed, and both mailboxes are told.',
      params: Id,
      body: Type.Object(
        { username: Type.Optional(Name), email: Type.Optional(Name), fields: Fields },
        { additionalProperties: false }
      ),
      answers: { 200: Profile },
      errors: { 404: 'not_found', 409: ['conflict', 'username_taken'], 412: 'changed_meanwhile' },
      handle: async (request, reply, { registration }) => {
        checkFields(request.body.fields, registration)
        const version = ifMatch(request)
        const { id } = request.params
        await users().update(id, request.body, { ...askedBy(request, deps), ...version })
        return await profile(id, reply)
      }
    }),
    acting(
      {
        method: 'DELETE',
        path: '/admin/users/:id',
        scope: 'authority:users:delete',
        summary: 'Remove a user',
        what: 'Removes the account for good, with all that belongs to it.'
      },
      async (id, act) => await users().remove(id, act),
      deps
    ),
    acting(
      {
        method: 'POST',
        path: '/admin/users/:id/disable',
        scope: 'authority:users:write',
        summary: 'Disable a user',
        what: 'The user can not sign in any more, and all sign-ins end. A repeat changes nothing.'
      },
      async (id, act) => await users().disable(id, act),
      deps
    ),
    acting(
      {
        method: 'POST',
        path: '/admin/users/:id/enable',
        scope: 'authority:users:write',
        summary: 'Enable a user',
        what: 'The user can sign in again.'
      },
      async (id, act) => await users().enable(id, act),
      deps
    ),
    acting(
      {
        method: 'POST',
        path: '/admin/users/:id/invite',
        scope: 'authority:users:write',
        summary: 'Invite a user',
        what: 'Sends the link with which a user without a password begins. A former link stops working.'
      },
      async (id, act) => await users().invite(id, act),
      deps
    ),
    acting(
      {
        method: 'POST',
        path: '/admin/users/:id/reset',
        scope: 'authority:users:write',
        summary: 'Require a new password',
        what: 'Removes the password, ends all sign-ins, and sends the link that sets a new one.'
      },
      async (id, act) => await users().requireReset(id, act),
      deps
    ),
    endpoint({
      method: 'GET',
      path: '/admin/users/:id/export',
      callers: { admin: 'authority:users:read' },
      summary: "A copy of a user's data",
      what: 'Everything that the service keeps of the user, without a secret.',
      params: Id,
      answers: { 200: Type.Object({}, { additionalProperties: true }) },
      errors: { 404: 'not_found' },
      handle: async (request) => {
        return await users().export(request.params.id, askedBy(request, deps))
      }
    }),
    ...(deps.impersonates ? [impersonateEndpoint(users, deps)] : []),
    ...sessionEndpoints(deps),
    ...userItemEndpoints(deps),
    auditEndpoint(accounts)
  ]
}
