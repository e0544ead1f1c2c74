import { Type } from '@sinclair/typebox'
import type { ManagedUsers, RequestedAct } from '../../../accounts/managed-users.ts'
import { adminOf } from '../../../http/edge/admin-guard.ts'
import { type Endpoint, endpoint } from '../../../http/edge/endpoint.ts'
import { type AdminDeps, askedBy, Id, Reason } from './acting.ts'

/** The route to a token that acts in the name of a user. */
export const impersonateEndpoint = (users: () => ManagedUsers<RequestedAct>, deps: AdminDeps): Endpoint =>
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
        scope: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 }))
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
