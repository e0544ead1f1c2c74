import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { type EmailSignInDeps, openLink, type PendingCode } from '../ask.ts'
import { invalidLink } from '../../../accounts/message-codes.ts'
import { OneTimeTokenValue } from '../../../http/edge/schemas.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import { formPage } from '../../../http/pages/form-page.ts'
import { queryParam, tokenIn } from '../../../http/pages/page-routes.ts'
import type { FoundWaits } from '../../../http/pages/waiting.ts'
import { tellsPasskeys } from '../../../http/pages/parts.ts'
import { enterCode } from './enter-code.ts'
import { pendingIn } from './send-code.ts'

/** The content of the page. `username` is `null` in a browser that did not ask for the link. */
interface Shown {
  token: string
  username: string | null
}

/**
 * The page of the link in a sign-in message. Opening the link does not use up the code and signs nobody in, because
 * mail programs open links too. Some mail programs even press buttons, so only the browser that asked for the code gets
 * the sign-in button. Any other browser gets the advice to continue in that browser. So nobody can be tricked into
 * signing in a stranger who waits in another browser.
 */
export function emailLinkPage(child: FastifyInstance, deps: PageDeps, accounts: EmailSignInDeps): void {
  const { journeys, link, waiting } = deps

  const waitsFor = (request: FastifyRequest, opened: ReturnType<typeof openLink>): FoundWaits | null =>
    waiting.find(request, (one) => one.kind === 'code' && opened?.belongsTo(pendingIn(one)) === true)
  function pendingOf(
    request: FastifyRequest,
    token: string
  ): { pending: PendingCode; code: string; only: string | undefined } | null {
    const opened = openLink(token, accounts)
    if (opened === null) throw invalidLink()
    const waits = waitsFor(request, opened)
    return waits !== null && waits.query !== null
      ? { pending: pendingIn(waits), code: opened.code, only: waits.only }
      : null
  }
  const shownOf = (request: FastifyRequest, token: string): Shown => ({
    token,
    username: pendingOf(request, token)?.pending.name ?? null
  })

  formPage<'email_link', Shown>(
    child,
    {
      name: 'email_link',
      path: 'emailLink',
      summaries: { page: 'Page of a sign-in link', form: 'Sign in by the link of a message' },
      errors: {
        page: { 400: 'invalid_token' },
        form: { 400: ['invalid_code', 'invalid_token'], 429: { too_many_requests: 'rule `login`' } }
      },
      what: {
        page:
          'The link of a message `sign_in_code` leads to this page. It shows a button in the browser that ' +
          'asked for the code. Any other browser is told to go back to that browser. Opening it does not ' +
          'use the link up and signs nobody in. `HEAD` works too. Exists with the option `emailSignIn`.',
        form: 'Signs in by the button of the page. In another browser the answer is the page.'
      },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue, passkeys: Type.Optional(Type.String({ maxLength: 3 })) }),
      fields: [],
      tokenInAddress: true,
      leadsOn: true,
      journeyOf: async (request) => await journeys.kept(waitsFor(request, openLink(tokenIn(request), accounts))?.query),
      open: async ({ request }) => shownOf(request, queryParam(request, 'token')),
      submit(form, visit) {
        const { token = '' } = form
        const elsewhere = { token, username: null }
        const found = pendingOf(visit.request, token)
        if (found === null) return { limit: null, work: async () => elsewhere }
        return {
          limit: { rule: 'login' },
          work: async () => (await enterCode(found, form, visit, { deps, accounts })) ?? elsewhere
        }
      },
      again: ({ token = '' }, _refused, { request }) => shownOf(request, token),
      content: ({ token, username }, { journey }) => ({
        token,
        username,
        tellsPasskeys: accounts.emailSignIn.signUp && tellsPasskeys(deps),
        codeUrl: `${link('emailCode')}${journey.query}`
      })
    },
    deps
  )
}
