import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { isActive } from '../accounts/active-user.ts'
import { OAuthError } from '../errors.ts'
import type { GrantDeps } from '../grants/deps.ts'
import type { User } from '../ports/user-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { invalidToken } from '../protocol/bearer.ts'
import { type HttpDeps, originOf } from './deps.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import { describeRoute, Empty, ErrorResponse, NEEDS_ACCESS_TOKEN, SessionList } from './schemas.ts'

/** `GET /auth/sessions` and `DELETE /auth/sessions/:id`: a user's own sign-ins. */
export function sessionRoutes (child: FastifyInstance, { grants, authenticate, readAuth, path }: HttpDeps): void {
  const shared = {
    onRequest: [noStoreHook, authenticate]
  }
  child.get(path('sessions'), {
    ...shared,
    schema: describeRoute({ summary: 'List my sessions', description: NEEDS_ACCESS_TOKEN, response: { 200: SessionList, '4xx': ErrorResponse } })
  }, async (request) => await guarded(async () => {
    const { user, sid } = await liveSession(readAuth(request), grants)
    const families = await grants.sessions.list(user.id)
    return {
      sessions: families.map((family) => ({
        id: family.sid,
        client_id: family.clientId,
        user_agent: family.userAgent,
        scope: family.scope,
        created_at: new Date(family.createdAt).toISOString(),
        last_used_at: new Date(family.lastUsedAt).toISOString(),
        expires_at: new Date(Math.min(family.expiresAt, family.idleExpiresAt)).toISOString(),
        current: family.sid === sid
      }))
    }
  }))

  child.delete<{ Params: { id: string } }>(`${path('sessions')}/:id`, {
    ...shared,
    schema: describeRoute({ summary: 'End one of my sessions', description: NEEDS_ACCESS_TOKEN, params: Type.Object({ id: Type.String({ maxLength: 128 }) }), response: { 204: Empty, '4xx': ErrorResponse } })
  }, async (request, reply) => await guarded(async () => {
    const { user } = await liveSession(readAuth(request), grants)
    if (!await grants.sessions.revoke(user.id, request.params.id, 'user', originOf(request))) throw new OAuthError('not_found', 'There is no such session.')
    reply.code(204)
  }))
}

/**
 * The user behind an access token, looked up in the stores: a revocation or a disabled account anywhere is seen at once.
 * @throws OAuthError `invalid_token`
 */
export async function liveSession (claims: AccessTokenClaims | null, grants: GrantDeps): Promise<{ user: User, sid: string }> {
  const sid = claims?.sid
  if (claims === null || sid === undefined) throw invalidToken('The token belongs to no session.')
  const family = await grants.sessions.find(sid)
  if (family === null || family.userId !== claims.sub) throw invalidToken('The token was revoked.')
  const user = await grants.accounts.users.findById(claims.sub)
  if (!isActive(user)) throw invalidToken('The token was revoked.')
  return { user, sid }
}
