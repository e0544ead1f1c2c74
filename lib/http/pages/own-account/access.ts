import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { consentsOf, takeBackConsent } from '../../../authorize/consent.ts'
import { OAuthError } from '../../../errors.ts'
import type { AccountAccess } from '../../../pages/account-models.ts'
import { shownScope } from '../../../pages/own-texts.ts'
import type { PageDeps } from '../deps.ts'
import { accountPage, MOST_ROWS } from './account-page.ts'
import { clientNames } from './client-names.ts'

/**
 * The person's consents for third-party clients, and the buttons that take a consent back with all tokens of that
 * client.
 */
export function accessPage(child: FastifyInstance, deps: PageDeps): void {
  const { authorize, pages, scopeTexts } = deps
  accountPage<'account_access', { clients: AccountAccess[]; hasMore: boolean }>(
    child,
    {
      name: 'account_access',
      path: 'accountAccess',
      summaries: { page: 'Page of the apps with access', form: 'Take access back by a form' },
      body: Type.Object({ client: Type.String({ maxLength: 255 }) }),
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
            // A consent that does not exist was taken back already. A text that can't be a client's id reaches no
            // store.
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
