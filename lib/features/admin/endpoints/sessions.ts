import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { audited } from '../../../accounts/audited.ts'
import { shownSession } from '../../../accounts/export-user.ts'
import { OAuthError } from '../../../errors.ts'
import { type Endpoint, endpoint } from '../../../http/edge/endpoint.ts'
import { originOf } from '../../../http/edge/request-origin.ts'
import type { User } from '../../../ports/user-store.ts'
import { listSessions } from '../../../sessions/browser-sessions.ts'
import { acting, type Acting, type AdminDeps, Id, target } from './acting.ts'

const TextOrNull = Type.Union([Type.String(), Type.Null()])
const Session = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  client_id: TextOrNull,
  scope: Type.String(),
  user_agent: TextOrNull,
  created_at: Type.String(),
  last_used_at: Type.String(),
  expires_at: Type.String()
})

/** Ends one sign-in of a user, or all of them, between two entries of the audit log. */
export async function endSessions(
  user: User,
  sid: string | null,
  { by, reason }: Acting & { reason?: string },
  request: FastifyRequest,
  { accounts }: Pick<AdminDeps, 'accounts'>
): Promise<void> {
  const origin = originOf(request)
  await audited(
    { action: 'sessions_ended', actor: by, target: { type: 'user', id: user.id }, reason, origin },
    async () => {
      if (sid === null) await accounts.sessions.revokeAll(user.id, 'admin', { origin })
      else if (!(await accounts.sessions.revoke(user.id, sid, 'admin', origin)))
        throw new OAuthError('not_found', 'There is no such session.')
    },
    accounts
  )
}

/** Sign-ins of a user. */
export function sessionEndpoints(deps: AdminDeps): Endpoint[] {
  const { accounts } = deps

  return [
    endpoint({
      method: 'GET',
      path: '/admin/users/:id/sessions',
      callers: { admin: 'authority:users:read' },
      summary: "List a user's sessions",
      what: 'Lists token families and browser sessions, the newest first.',
      params: Id,
      answers: { 200: Type.Object({ sessions: Type.Array(Session) }) },
      errors: { 404: 'not_found' },
      handle: async (request) => {
        const { user } = await target(request, false, deps)
        return { sessions: (await listSessions(user.id, accounts.sessions)).map(shownSession) }
      }
    }),
    acting(
      {
        method: 'DELETE',
        path: '/admin/users/:id/sessions',
        scope: 'authority:sessions:write',
        summary: "End a user's sessions",
        what: 'Ends all sign-ins of the user.'
      },
      async (user, act, request) => {
        await endSessions(user, null, act, request, deps)
      },
      deps
    ),
    acting(
      {
        method: 'DELETE',
        path: '/admin/users/:id/sessions/:sid',
        scope: 'authority:sessions:write',
        summary: "End one of a user's sessions",
        what: 'Ends one sign-in of the user.',
        params: Type.Object({
          id: Type.String({ minLength: 1, maxLength: 255 }),
          sid: Type.String({ minLength: 1, maxLength: 255 })
        })
      },
      async (user, act, request) => {
        await endSessions(user, (request.params as { sid: string }).sid, act, request, deps)
      },
      deps
    )
  ]
}
