import { hasFactor } from '../../protocol/second-factors.ts'
import { tellOfEnrolment, asksSecondFactor, markedExempt, mustEnrol } from '../../accounts/factors/policy.ts'
import { isInvited } from '../../accounts/factors/enrolment-link.ts'
import type { ProvingDeps } from '../../accounts/factors/prove-factor.ts'
import { isRememberedIn } from '../../accounts/factors/remembered-devices.ts'
import { openStep, type PendingStep, sealStep } from '../../accounts/factors/second-step.ts'
import type { Commit, SessionBegun, SignIn, StepNeeded, StepNeeds } from '../../accounts/slots.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { Browser } from '../../sessions/browser-sessions.ts'

/**
 * Begins the session, or has the second factor asked for, or one set up. @returns `null` where the sign-in does not
 * hold any more
 */
export async function beginWithFactors(
  first: SignIn,
  browser: Browser,
  commit: Commit,
  accounts: ProvingDeps
): Promise<SessionBegun | StepNeeded | null> {
  // A passkey that has verified who holds it is both factors.
  if (first.methods.some(({ method }) => method === 'passkey')) return await commit(first)
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
  const begun = await commit({
    ...first,
    methods: await markedExempt(first, { isRemembered: isRemembered(found) }, factors, accounts),
    async confirm() {
      // Turning two-step sign-in on has ended all sessions of that moment. This one came after that, or is seen by
      // it. A browser that was forgotten meanwhile does not count either.
      const [confirmed, now] = await Promise.all([first.confirm(), factors.store.findFactors(user.id)])
      seen.second = await owes(now)
      return seen.second ? null : confirmed
    }
  })
  return seen.second ? await ask('second_factor') : begun
}

/** Opens a ticket of `beginWithFactors`, whatever it needs. @returns `null` if the ticket is not good */
export async function openPageStep(
  ticket: string,
  accounts: ProvingDeps
): Promise<({ needs: StepNeeds } & PendingStep) | null> {
  for (const needs of ['second_factor', 'enrolment'] as const) {
    const step = await openStep(ticket, { page: true, needs }, accounts)
    if (step !== null) return { ...step, needs }
  }
  return null
}
