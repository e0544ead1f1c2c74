import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../../errors.ts'
import type { AccountAccess, AccountSession } from '../../../pages/account-models.ts'
import { listSessions } from '../../../sessions/browser-sessions.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import { accountPage, MOST_ROWS, signInFirst } from '../../../http/pages/account-page.ts'
import type { ClientStore } from '../../../ports/client-store.ts'
import { CLIENT_PARAMS } from '../../../protocol/client-authentication.ts'
import { consentsOf, takeBackConsent } from '../../../authorize/consent.ts'
import { shownScope } from '../../../pages/own-texts.ts'

const EndOf = Type.Union([Type.Literal('end_others'), Type.Literal('end_all')])

/**
 * The page of the person's sessions, as in `GET /auth/sessions`, but at most `MOST_ROWS` of them. Ends one session, all
 * others, or all. Ending the current session signs the person out.
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
      what: {
        page:
          "The person's sessions in browsers and apps. The session of this browser is marked. Exists if " +
          '`GET /auth/account` does.',
        form:
          'Ends the session with the id `session`. `decision=end_others` ends all sessions but the one of ' +
          'this browser, and `decision=end_all` ends that too. A session that does not exist counts as ' +
          'ended. Sessions of other people are not touched.'
      },
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
          // An unknown session counts as ended: the button may have been pressed twice, or on two devices.
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

/**
 * Reads each client once. Returns a function from a client id to the client's name, or to the id if there is no name.
 */
async function clientNames(
  clientIds: readonly string[],
  { clients }: { clients: ClientStore }
): Promise<(clientId: string) => string> {
  const names = new Map(
    await Promise.all(
      [...new Set(clientIds)].map(
        async (clientId) => [clientId, (await clients.findById(clientId))?.name ?? clientId] as const
      )
    )
  )
  return (clientId) => names.get(clientId) ?? clientId
}

/** The person's consents for third-party clients, with buttons that revoke a consent and all tokens of that client. */
export function accessPage(child: FastifyInstance, deps: PageDeps): void {
  const { authorize, pages, scopeTexts } = deps
  accountPage<'account_access', { clients: AccountAccess[]; hasMore: boolean }>(
    child,
    {
      name: 'account_access',
      path: 'accountAccess',
      summaries: { page: 'Page of the apps with access', form: 'Take access back by a form' },
      what: {
        page:
          'The third-party clients that the person has allowed. Exists if `GET /auth/account` and redirect ' +
          'sign-in do.',
        form: 'Revokes the consent for `client`, and ends all its tokens for the person.'
      },
      body: Type.Object({ client: Type.String({ maxLength: CLIENT_PARAMS.client_id }) }),
      fields: [],
      async open({ person: { user }, journey: { uiLocales }, request }) {
        const all = await consentsOf(user, authorize)
        const consents = all.slice(0, MOST_ROWS)
        const nameOf = await clientNames(
          consents.map(({ clientId }) => clientId),
          authorize
        )
        const { lang } = pages.messagesFor(request, { uiLocales })
        return {
          clients: consents.map(({ clientId, scopes, grantedAt }) => ({
            clientId,
            name: nameOf(clientId),
            scopes: scopes.map((scope) => shownScope(scope, lang, scopeTexts)),
            grantedAt
          })),
          hasMore: all.length > MOST_ROWS
        }
      },
      submit({ client: clientId = '' }, { person: { user, session }, origin }) {
        if (clientId === '') throw new OAuthError('invalid_request', 'client: it is required.')
        return {
          limit: null,
          async work() {
            // A missing consent counts as revoked. The check also keeps an invalid id from the store.
            const known = (await consentsOf(user, authorize)).some((consent) => consent.clientId === clientId)
            if (known)
              await takeBackConsent(
                { userId: user.id, clientId, by: 'user', sid: session.sid, origin },
                { ...authorize, events: authorize.accounts.events }
              )
            return 'access'
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
