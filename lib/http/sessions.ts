import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { OAuthError } from '../errors.ts'
import type { GrantDeps } from '../grants/deps.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import type { User } from '../ports/user-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { liveSession as findLiveSession } from '../tokens/live-session.ts'
import { type HttpDeps, originOf } from './deps.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import { describeRoute, Empty, ErrorResponse, NEEDS_ACCESS_TOKEN, SessionList } from './schemas.ts'

/** `GET /auth/sessions` and `DELETE /auth/sessions/:id`: a user's own sign-ins, token families and browser sessions. */
export function sessionRoutes (child: FastifyInstance, { grants, authenticate, readAuth, path }: HttpDeps): void {
  const shared = {
    onRequest: [noStoreHook, authenticate]
  }
  child.get(path('sessions'), {
    ...shared,
    schema: describeRoute({ summary: 'List my sessions', description: NEEDS_ACCESS_TOKEN, response: { 200: SessionList, '4xx': ErrorResponse } })
  }, async (request) => await guarded(async () => {
    const { user, sid } = await liveSession(readAuth(request), grants)
    const [families, browserSessions] = await Promise.all([grants.sessions.list(user.id), grants.sessions.listBrowserSessions(user.id)])
    const here = families.find((family) => family.sid === sid)?.sessionSid ?? null
    return {
      sessions: [
        ...families.map((family) => ({ id: family.sid, kind: 'token', client_id: family.clientId, scope: family.scope, current: family.sid === sid, ...commonFields(family) })),
        ...browserSessions.map((session) => ({ id: session.sid, kind: 'browser', client_id: null, scope: '', current: session.sid === here, ...commonFields(session) }))
      ].sort((a, b) => b.created_at.localeCompare(a.created_at))
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

/** @throws OAuthError `invalid_token` */
export async function liveSession (claims: AccessTokenClaims | null, { sessions, accounts }: GrantDeps): Promise<{ user: User, sid: string }> {
  const { user, family } = await findLiveSession(claims, { sessions, users: accounts.users })
  return { user, sid: family.sid }
}

function commonFields ({ userAgent, createdAt, lastUsedAt, expiresAt, idleExpiresAt }: RefreshTokenFamily | BrowserSession): Record<'user_agent', string | null> & Record<'created_at' | 'last_used_at' | 'expires_at', string> {
  return {
    user_agent: userAgent,
    created_at: new Date(createdAt).toISOString(),
    last_used_at: new Date(lastUsedAt).toISOString(),
    expires_at: new Date(Math.min(expiresAt, idleExpiresAt)).toISOString()
  }
}
