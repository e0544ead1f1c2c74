import type { SessionBegun } from '../accounts/slots.ts'
import type { FactorDeps } from '../accounts/factors/deps.ts'
import { type GivenFactor, proveFactor } from '../accounts/factors/prove-factor.ts'
import { OAuthError } from '../errors.ts'
import type { UserFactors } from '../ports/factor-store.ts'
import { userOf } from '../sessions/active-user.ts'
import type { Browser, SignedInPerson } from '../sessions/browser-sessions.ts'
import type { AuthorizeDeps } from './deps.ts'

interface StepUp {
  person: SignedInPerson
  /** The user's factors when the page was asked for. */
  found: UserFactors
  given: GivenFactor
  clientId: string | null
  locale: string | undefined
  /** True if the user has given a second factor in this browser before. */
  isKnown: boolean
}

/**
 * Adds a second factor to the browser's sign-in, for a user who was signed in without one, by the host's own page or
 * before it was asked for. It is the same user and the same session under a new secret; earlier proofs keep their age.
 * @throws OAuthError `invalid_grant` with the reason; `login_required` if the session has ended meanwhile
 */
export async function stepUp(
  { person: { session, user }, found, given, clientId, locale, isKnown }: StepUp,
  browser: Browser,
  { accounts, browserSessions, sessions }: AuthorizeDeps & { accounts: { factors: FactorDeps } }
): Promise<SessionBegun> {
  const { origin } = browser
  const proof = await proveFactor(given, user, found, { clientId, origin, locale, isKnown }, accounts)
  const methods = [...session.methods.filter(({ method }) => method !== proof.method), proof]
  const renewed = await browserSessions.renew(methods, browser)
  // It has ended meanwhile, or another tab has replaced its secret.
  if (renewed === null) throw signInAgain()
  let now = null
  try {
    const [active, factors] = await Promise.all([
      userOf(renewed.session, { users: accounts.users, sessions }),
      accounts.factors.store.findFactors(user.id)
    ])
    // Other factors: they were reset.
    if (factors.deviceEpoch === found.deviceEpoch) now = active
  } finally {
    if (now === null) await sessions.revokeBrowserSession(user.id, renewed.session.sid, 'undone', { origin })
  }
  if (now === null) throw signInAgain()
  accounts.events.emit(
    'step_up',
    { userId: user.id, sid: session.sid, methods: methods.map(({ method }) => method) },
    origin
  )
  return { ...renewed, user: now }
}

const signInAgain = (): OAuthError => new OAuthError('login_required', 'Sign in again.')
