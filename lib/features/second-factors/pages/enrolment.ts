import type { ProvingDeps } from '../deps.ts'
import { hasFactor } from '../../../protocol/second-factors.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkEnrolmentLink, isInvited, redeemEnrolmentLink } from '../enrolment-link.ts'
import type { Enroller } from '../../../accounts/factor-kinds.ts'
import { openStep, type PendingStep } from '../second-step.ts'
import { firstFactorHolds } from '../../../accounts/first-factor.ts'
import { isRecentEnough } from '../../../accounts/fresh-sign-in.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import { Type } from '@sinclair/typebox'
import { OneTimeTokenValue } from '../../../http/edge/schemas.ts'
import { formPage, goOn, withQuery } from '../../../http/pages/form-page.ts'
import { queryParam } from '../../../http/pages/page-routes.ts'

/**
 * The user who has to set up a second factor: after the first factor, without a session, or in a session that began
 * without a second factor. `isInvited`: they come by a link of the host.
 */
export type Owing = ({ step: PendingStep; ticket: string } | { person: SignedInPerson }) & { isInvited: boolean }

/** Finds the user by the request. `null`: no ticket and no recent session, or the user has a second factor already. */
export function owingIn(
  { browser, cookies }: Pick<PageDeps, 'browser' | 'cookies'>,
  accounts: ProvingDeps
): (request: FastifyRequest) => Promise<Owing | null> {
  return async (request) => {
    const ticket = cookies.step.read(request)
    const step = ticket === undefined ? null : await openStep(ticket, { page: true, needs: 'enrolment' }, accounts)
    const person = step === null ? await browser.signedIn(request) : null
    const owing =
      step !== null && ticket !== undefined
        ? { step, ticket }
        : person !== null && isRecentEnough(person.session, accounts.clock.now())
          ? { person }
          : null
    if (owing === null) return null
    const user = 'step' in owing ? owing.step.user : owing.person.user
    const found = await accounts.factors.store.findFactors(user.id)
    if (hasFactor(found)) return null
    // A ticket contains the epoch of its invitation. The cookie can't be checked again here, because it is bound to the
    // password hash, which the sign-in may have updated meanwhile.
    return {
      ...owing,
      isInvited:
        'step' in owing
          ? owing.step.invitedAt === found.deviceEpoch
          : await isInvited(cookies.enrolment?.read(request), user, found, accounts)
    }
  }
}

export function userOf(owing: Owing): PendingStep['user'] {
  return 'step' in owing ? owing.step.user : owing.person.user
}

export function enrollerOf(owing: Owing, accounts: ProvingDeps): Enroller {
  const { isInvited: invited } = owing
  return 'step' in owing
    ? {
        user: owing.step.user,
        sid: null,
        ticket: owing.ticket,
        holds: async () => (await firstFactorHolds(owing.step, accounts)) !== null,
        isInvited: invited
      }
    : { user: owing.person.user, sid: owing.person.session.sid, isInvited: invited }
}

interface Shown {
  token: string
  username: string
}

/**
 * The page behind a link of `startEnrolment`, with a button. Opening the page does not use up the link, because
 * programs open links too. The button uses up the link and leads to the sign-in. The user gives the usual first factor
 * there, and then sets up the second one.
 */
export function secondFactorLinkPage(child: FastifyInstance, deps: PageDeps, accounts: ProvingDeps): void {
  const { cookies, link, loginUrl } = deps
  const asked = async (token: string): Promise<Shown> => ({
    token,
    username: (await checkEnrolmentLink(token, accounts)).username
  })
  // The host's own sign-in page begins a session and returns to the set-up page, because a recent session may set a
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
            // Ends a sign-in that began before the link was used, because it is not an invited one.
            cookies.step.clear(reply)
            return await goOn(loginPage)(reply)
          }
        }
      }),
      async again({ token = '' }, refused) {
        // Without a valid token there is no form to show again, so the error page shows the refusal.
        return await asked(token).catch(() => {
          throw refused
        })
      },
      content: (shown) => shown
    },
    deps
  )
}
