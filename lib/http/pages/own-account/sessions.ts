import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../../errors.ts'
import type { AccountSession } from '../../../pages/account-models.ts'
import { listSessions } from '../../../sessions/browser-sessions.ts'
import type { PageDeps } from '../deps.ts'
import { accountPage, MOST_ROWS, signInFirst } from './account-page.ts'
import { clientNames } from './client-names.ts'

const EndOf = Type.Union([Type.Literal('end_others'), Type.Literal('end_all')])

/**
 * The person's sign-ins, as `GET /auth/sessions` has them. Ends one of them, or all. Ending the present sign-in signs
 * out.
 */
export function sessionsPage(child: FastifyInstance, deps: PageDeps): void {
  const { authorize, browser } = deps
  const { sessions } = authorize
  accountPage<'account_sessions', { sessions: AccountSession[]; hasMore: boolean }>(
    child,
    {
      name: 'account_sessions',
      path: 'accountSessions',
      summaries: { page: 'Sessions page', form: 'End sign-ins by a form' },
      body: Type.Object({ session: Type.Optional(Type.String({ maxLength: 128 })), decision: Type.Optional(EndOf) }),
      fields: [],
      async open({ person: { user, session } }) {
        const all = await listSessions(user.id, sessions)
        const ordered = all.toSorted((one, other) => Number(other.id === session.sid) - Number(one.id === session.sid))
        const listed = ordered.slice(0, MOST_ROWS)
        const nameOf = await clientNames(
          listed.flatMap(({ clientId }) => clientId ?? []),
          authorize
        )
        const shown = listed.map(({ id, clientId, userAgent, createdAt, lastUsedAt }): AccountSession => ({
          id,
          current: id === session.sid,
          clientName: clientId === null ? null : nameOf(clientId),
          userAgent,
          createdAt: createdAt.getTime(),
          lastUsedAt: lastUsedAt.getTime()
        }))
        return { sessions: shown, hasMore: all.length > MOST_ROWS }
      },
      submit({ session: id, decision }, visit) {
        const {
          request,
          reply,
          person: { user, session },
          origin
        } = visit
        const signOut = async (): ReturnType<typeof end> => async (reply) => {
          browser.clearCookie(reply)
          return await signInFirst('account', visit, deps)(reply)
        }
        async function end(): Promise<'session' | 'others' | ReturnType<typeof signInFirst>> {
          if (decision === 'end_others' || decision === 'end_all') {
            await sessions.revokeAll(user.id, 'user', {
              stays: decision === 'end_others' ? browser.stay(request, reply, session.sid) : null,
              origin
            })
            return decision === 'end_others' ? 'others' : await signOut()
          }
          if (id === undefined || id === '') throw new OAuthError('invalid_request', 'session: it is required.')
          // One that is not there has ended: the button was pressed twice, or on two devices.
          await sessions.revoke(user.id, id, 'user', origin)
          return id === session.sid ? await signOut() : 'session'
        }
        return { limit: null, work: end }
      },
      content: (shown) => shown
    },
    deps
  )
}
