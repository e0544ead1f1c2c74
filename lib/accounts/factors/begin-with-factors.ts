import type { UserFactors } from '../../ports/factor-store.ts'
import type { Browser } from '../../sessions/browser-sessions.ts'
import { type SessionBegun, type SessionDeps, settleAndCommit, type SignIn } from '../commit-session.ts'
import { type FactorDeps, hasFactor } from './deps.ts'
import { isInvited } from './enrolment-link.ts'
import { asksSecondFactor, markedExempt, mustEnrol, tellOfEnrolment } from './policy.ts'
import { isRememberedIn } from './remembered-devices.ts'
import { openStep, type PendingStep, sealStep, type StepNeeded, type StepNeeds } from './second-step.ts'

/**
 * Begins the session, or has the second factor asked for, or one set up. @returns `null` where the sign-in does not
 * hold any more
 */
export async function beginWithFactors(
  first: SignIn,
  browser: Browser,
  deps: SessionDeps & { accounts: { factors: FactorDeps } }
): Promise<SessionBegun | StepNeeded | null> {
  const { accounts } = deps
  const { factors } = accounts
  const { user, by, connection, identity, writes, methods, clientId } = first
  const ask = async (needs: StepNeeds, invitedAt?: number): Promise<StepNeeded> => {
    const ticket = await sealStep(
      { user, by, connection, identity, writes, methods, clientId, scope: '', invitedAt },
      { page: true, needs },
      accounts
    )
    if (needs === 'second_factor')
      accounts.events.emit('second_factor_required', { userId: user.id, clientId }, browser.origin)
    else tellOfEnrolment(user, clientId, browser.origin, accounts, { isInvited: invitedAt !== undefined })
    return { needs, ticket, user }
  }
  const isRemembered = (found: UserFactors): boolean => isRememberedIn(user, found, browser, accounts)
  const owes = async (found: UserFactors): Promise<boolean> =>
    !isRemembered(found) && (await asksSecondFactor(first, found, factors, accounts))
  const found = first.factors ?? (await factors.store.findFactors(user.id))
  if (await owes(found)) return await ask('second_factor')
  if (isInvited(browser.invitation, user, found, accounts)) return await ask('enrolment', found.deviceEpoch)
  if (!hasFactor(found) && (await mustEnrol(first, factors, accounts))) return await ask('enrolment')
  const seen = { second: false }
  const begun = await settleAndCommit(
    {
      ...first,
      methods: await markedExempt(first, { isRemembered: isRemembered(found) }, factors, accounts),
      async confirm() {
        // Turning two-step sign-in on has ended all sessions of that moment. This one came after that, or is seen by
        // it. A browser that was forgotten meanwhile does not count either.
        const [confirmed, now] = await Promise.all([first.confirm(), factors.store.findFactors(user.id)])
        seen.second = await owes(now)
        return seen.second ? null : confirmed
      }
    },
    browser,
    deps
  )
  return seen.second ? await ask('second_factor') : begun
}

/** Opens a ticket of `beginWithFactors`, whatever it needs. @returns `null` if the ticket is not good */
export async function openPageStep(
  ticket: string,
  accounts: SessionDeps['accounts'] & { factors: FactorDeps }
): Promise<{ needs: StepNeeds; step: PendingStep } | null> {
  for (const needs of ['second_factor', 'enrolment'] as const) {
    const step = await openStep(ticket, { page: true, needs }, accounts)
    if (step !== null) return { needs, step }
  }
  return null
}
