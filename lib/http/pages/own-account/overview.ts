import type { FastifyInstance } from 'fastify'
import type { PageModels } from '../../../pages/model.ts'
import { originOf } from '../../edge/deps.ts'
import { localeOf } from '../../edge/request-origin.ts'
import type { PageDeps } from '../deps.ts'
import { pageGet, queryParam } from '../forms.ts'
import { signInFirst } from './account-page.ts'

export type AccountLinks = PageModels['account']['links']

/** `GET /auth/account`: who is signed in, and the ways to what they can do. */
export function overviewPage(child: FastifyInstance, deps: PageDeps, links: AccountLinks): void {
  const { browser, homeUrl, journeys, link, pages, path } = deps
  child.get(path('account'), pageGet({ summary: 'Account page' }), async (request, reply) => {
    const journey = await journeys.read(request)
    const person = await browser.signedIn(request)
    if (person === null)
      return await signInFirst(
        'account',
        { request, reply, journey, origin: originOf(request), locale: localeOf(request) },
        deps
      )(reply)
    const {
      user: { username, email, emailVerified }
    } = person
    const address = email ?? (username.includes('@') ? username : null)
    return await pages.send(
      request,
      reply,
      'account',
      {
        username,
        email: address === username ? null : address,
        emailVerified: address === null ? null : emailVerified === true,
        links: Object.fromEntries(
          Object.entries(links).map(([name, url]) => [name, url === null ? null : `${url}${journey.query}`])
        ) as AccountLinks,
        logoutUrl: link('logout'),
        // An authorization request is no place to come back to: its client would be behind a link that names the host.
        backUrl: queryParam(request, 'client_id') === '' ? journey.next : homeUrl
      },
      { uiLocales: journey.uiLocales }
    )
  })
}
