import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../errors.ts'
import { listSessions } from '../../sessions/list.ts'
import { accountOf } from '../edge/caller-guards.ts'
import { callableBy } from '../edge/callers.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { describeRoute, Empty, ErrorResponse, FOR_THE_ACCOUNT, SessionList } from '../edge/schemas.ts'

/** `GET /auth/sessions` and `DELETE /auth/sessions/:id`: a user's own sign-ins, token families and browser sessions. */
export function sessionRoutes(child: FastifyInstance, { grants, path }: HttpDeps): void {
  const shared = { ...callableBy('account'), onRequest: noStoreHook }
  child.get(
    path('sessions'),
    {
      ...shared,
      schema: describeRoute({
        summary: 'List my sessions',
        description: FOR_THE_ACCOUNT,
        response: { 200: SessionList, '4xx': ErrorResponse }
      })
    },
    async (request) =>
      await guarded(async () => {
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
      })
  )

  child.delete<{ Params: { id: string } }>(
    `${path('sessions')}/:id`,
    {
      ...shared,
      schema: describeRoute({
        summary: 'End one of my sessions',
        description: FOR_THE_ACCOUNT,
        params: Type.Object({ id: Type.String({ maxLength: 128 }) }),
        response: { 204: Empty, '4xx': ErrorResponse }
      })
    },
    async (request, reply) =>
      await guarded(async () => {
        const { user } = accountOf(request)
        if (!(await grants.sessions.revoke(user.id, request.params.id, 'user', originOf(request))))
          throw new OAuthError('not_found', 'There is no such session.')
        reply.code(204)
      })
  )
}
