import { type ProvingDeps } from '../deps.ts'
import { hasFactor } from '../../../protocol/second-factors.ts'
import type { FastifyRequest } from 'fastify'
import { isInvited } from '../enrolment-link.ts'
import type { Enroller } from '../../../accounts/factor-kinds.ts'
import { openStep, type PendingStep } from '../second-step.ts'
import { firstFactorHolds } from '../../../accounts/first-factor.ts'
import { isRecentEnough } from '../../../accounts/fresh-sign-in.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'

/**
 * The user who has to set up a second factor: after the first factor, without a session, or in a session that began
 * without a second factor. `isInvited`: they come by a link of the host.
 */
export type Owing = ({ step: PendingStep; ticket: string } | { person: SignedInPerson }) & { isInvited: boolean }

/** Finds the user by the request. `null`: no user, or they have a second factor already. */
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
    // A ticket has the user as they signed in. To the invitation, a hash that was updated meanwhile is another one.
    return {
      ...owing,
      isInvited:
        'step' in owing
          ? owing.step.invitedAt === found.deviceEpoch
          : isInvited(cookies.enrolment?.read(request), user, found, accounts)
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
