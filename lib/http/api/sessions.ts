import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../errors.ts'
import { listSessions } from '../../sessions/browser-sessions.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { originOf } from '../edge/deps.ts'
import { endpoint } from '../edge/endpoint.ts'
import { Empty, Id } from '../edge/schemas.ts'

/** `GET /auth/sessions` and `DELETE /auth/sessions/:id`: a user's own sign-ins, token families and browser sessions. */
export const sessions = [
  endpoint({
    method: 'GET',
    path: 'sessions',
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
            current: Type.Boolean({ description: 'Whether this request belongs to it.' })
          })
        )
      })
    },
    handle: async (request, _reply, { grants }) => {
      const { user, sid, sessionSid } = accountOf(request)
      const sessions = await listSessions(user.id, grants.sessions)
      return {
        sessions: sessions.map(({ id, kind, clientId, scope, userAgent, createdAt, lastUsedAt, expiresAt }) => ({
          id,
          kind,
          client_id: clientId,
          scope,
          user_agent: userAgent,
          created_at: createdAt.toISOString(),
          last_used_at: lastUsedAt.toISOString(),
          expires_at: expiresAt.toISOString(),
          current: id === (kind === 'token' ? sid : sessionSid)
        }))
      }
    }
  }),
  endpoint({
    method: 'DELETE',
    path: 'sessions/:id',
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
