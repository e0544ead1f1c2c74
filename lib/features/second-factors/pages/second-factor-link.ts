import type { ProvingDeps } from '../deps.ts'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { checkEnrolmentLink, redeemEnrolmentLink } from '../enrolment-link.ts'
import { OneTimeTokenValue } from '../../../http/edge/schemas.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import { formPage, goOn, withQuery } from '../../../http/pages/form-page.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'

interface Shown {
  token: string
  username: string
}

/**
 * The page behind a link of `startEnrolment`, with a button. Opening it uses nothing up, because programs open links
 * too. The button uses it up and leads to the sign-in, which takes the usual first factor and then goes on to set the
 * second one up.
 */
export function secondFactorLinkPage(child: FastifyInstance, deps: PageDeps, accounts: ProvingDeps): void {
  const { cookies, link, loginUrl } = deps
  const asked = async (token: string): Promise<Shown> => ({
    token,
    username: (await checkEnrolmentLink(token, accounts)).username
  })
  // A page of the host's own begins a session by itself, and comes back to this page, where a recent session may set a
  // factor up.
  const loginPage = withQuery(
    link('login'),
    loginUrl === null ? {} : { return_to: link('secondFactorSetUp'), prompt: 'login' }
  )

  formPage<'second_factor_link', Shown>(
    child,
    {
      name: 'second_factor_link',
      path: 'secondFactorLink',
      summaries: {
        page: 'Page of a link to set up a second factor',
        form: 'Begin to set up a second factor by a link'
      },
      errors: {
        page: { 400: 'invalid_token' },
        form: { 400: 'invalid_token', 429: { too_many_requests: 'rule `refresh`' } }
      },
      what: {
        page:
          'A link of `app.authority.startEnrolment` leads to this page with a button. The link works once ' +
          'and for 24 hours. A new password, a second factor, another link or a disabled account ends it. ' +
          'Opening it does not use it up, and `HEAD` works too. Exists with the option `factors`.',
        form:
          'Uses the link up and sets a cookie. It signs nobody in. For an hour, a sign-in of the user in ' +
          'this browser leads to `/auth/second-factor/set-up` before the session begins.'
      },
      querystring: Type.Object({ token: OneTimeTokenValue }),
      body: Type.Object({ token: OneTimeTokenValue }),
      fields: [],
      tokenInAddress: true,
      open: async ({ request }) => await asked(queryParam(request, 'token')),
      submit: ({ token = '' }, { origin }) => ({
        limit: 'failures',
        async work() {
          const invitation = await redeemEnrolmentLink({ token, origin }, accounts)
          return async (reply) => {
            cookies.enrolment?.set(reply, invitation)
            // A sign-in that began before the link was used is not an invited one.
            cookies.step.clear(reply)
            return await goOn(loginPage)(reply)
          }
        }
      }),
      async again({ token = '' }, refused) {
        // If the token is not good or can't be read, there is no content for the page.
        return await asked(token).catch(() => {
          throw refused
        })
      },
      content: (shown) => shown
    },
    deps
  )
}
