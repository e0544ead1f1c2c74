import { commitSession } from '../accounts/begin-session.ts'
import type { SessionBegun } from '../accounts/slots.ts'
import { type GivenFactor, proveFactor } from '../accounts/factors/prove-factor.ts'
import type { FactorDeps } from '../accounts/factors/deps.ts'
import type { PendingStep } from '../accounts/factors/second-step.ts'
import { settled } from '../accounts/sign-in-writes.ts'
import { firstFactorHolds } from '../accounts/first-factor.ts'
import { OAuthError } from '../errors.ts'
import type { UserFactors } from '../ports/factor-store.ts'
import type { Browser } from '../sessions/browser-sessions.ts'
import type { AuthorizeDeps } from './deps.ts'

interface SecondFactor {
  /** Of an opened ticket. */
  step: PendingStep
  /** The user's factors when the ticket was opened. */
  found: UserFactors
  given: GivenFactor
  locale: string | undefined
  /** True if the user has given a second factor in this browser before. */
  isKnown: boolean
}

/**
 * Signs in a user who has given their first factor before and gives the second now. The code is used up first, and then
 * the session begins.
 * @throws OAuthError `invalid_grant` with the reason; `login_required` if the first factor does not hold any more
 */
export async function finishSignIn(
  { step, found, given, locale, isKnown }: SecondFactor,
  browser: Browser,
  deps: AuthorizeDeps & { accounts: { factors: FactorDeps } }
): Promise<SessionBegun> {
  const { accounts } = deps
  const { by, connection, clientId } = step
  const { origin } = browser
  const proof = await proveFactor(given, step.user, found, { clientId, origin, locale, isKnown }, accounts)
  const done = await settled(step, { locale, origin }, accounts)
  if (done === null) throw new OAuthError('login_required', 'Sign in again.')
  const { user } = done
  const { deviceEpoch } = step.writes === undefined ? found : await accounts.factors.store.findFactors(user.id)
  const begun = await commitSession(
    {
      user,
      by,
      connection,
      methods: [...step.methods, proof],
      clientId,
      async confirm() {
        const [now, factors] = await Promise.all([
          firstFactorHolds(done, accounts),
          accounts.factors.store.findFactors(user.id)
        ])
        // The factors have changed: they were reset, or the addition of one has ended all other sign-ins.
        if (now !== null && factors.deviceEpoch === deviceEpoch) return now
        accounts.events.emit(
          'login_failed',
          { reason: 'changed_meanwhile', userId: user.id, username: user.username, sid: null, clientId },
          browser.origin
        )
        return null
      }
    },
    browser,
    deps
  )
  if (begun === null) throw new OAuthError('login_required', 'Sign in again.')
  return begun
}
