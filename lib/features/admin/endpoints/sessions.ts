import { Type } from '@sinclair/typebox'
import { auditedOn } from '../../../accounts/acted-on.ts'
import { shownSession } from '../../../accounts/export-user.ts'
import { OAuthError } from '../../../errors.ts'
import { NO_REQUEST } from '../../../events.ts'
import { type Endpoint, endpoint } from '../../../http/edge/endpoint.ts'
import { listSessions } from '../../../sessions/browser-sessions.ts'
import { acting, type Acting, type AdminDeps, Id, userOf } from './acting.ts'

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

/** Ends one sign-in of a user, or all of them. */
export async function endSessions(
  id: string,
  sid: string | null,
  act: Acting,
  { accounts }: Pick<AdminDeps, 'accounts'>
): Promise<void> {
  const { origin = NO_REQUEST } = act
  await auditedOn(
    { action: 'sessions_ended', id },
    act,
    async (user) => {
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
        const { id } = await userOf(request, deps)
        return { sessions: (await listSessions(id, accounts.sessions)).map(shownSession) }
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
      async (id, act) => {
        await endSessions(id, null, act, deps)
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
      async (id, act, request) => {
        await endSessions(id, (request.params as { sid: string }).sid, act, deps)
      },
      deps
    )
  ]
}
