import { commitSession } from '../../accounts/begin-session.ts'
import type { SessionBegun } from '../../accounts/slots.ts'
import { type GivenFactor, proveFactor } from './prove-factor.ts'
import type { FactorDeps } from './deps.ts'
import type { PendingStep } from './second-step.ts'
import { settled } from '../../accounts/sign-in-writes.ts'
import { firstFactorHolds } from '../../accounts/first-factor.ts'
import { OAuthError } from '../../errors.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { Browser, SignedInPerson } from '../../sessions/browser-sessions.ts'
import type { AuthorizeDeps } from '../../authorize/deps.ts'
import { userOf } from '../../sessions/active-user.ts'
import type { PasskeyAdded } from '../../accounts/factor-kinds.ts'

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
  // The session has ended meanwhile, or another tab has replaced its secret.
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

/**
 * Signs a user in by the factor that they had to add first: an app or a passkey, which is stored according to `added`.
 * `null`: the factor is stored but there is no session, because the account changed meanwhile, or the state can't be
 * reached. The recovery codes must be shown in that case too.
 */
export async function signInEnrolled(
  step: PendingStep,
  { factorId, proof }: PasskeyAdded,
  browser: Browser,
  deps: AuthorizeDeps & { accounts: { factors: FactorDeps } }
): Promise<SessionBegun | null> {
  const { accounts } = deps
  const begin = async (): Promise<SessionBegun | null> => {
    const done = await settled(step, { keeps: factorId, locale: undefined, origin: browser.origin }, accounts)
    if (done === null) return null
    const { user, by, connection, methods, clientId } = done
    return await commitSession(
      {
        user,
        by,
        connection,
        methods: [...methods, proof],
        clientId,
        async confirm() {
          const [now, { totp, passkeys }] = await Promise.all([
            firstFactorHolds(done, accounts),
            accounts.factors.store.findFactors(user.id)
          ])
          // The factors were reset at this moment, or the password has changed.
          return [...totp, ...passkeys].some(({ id }) => id === factorId) ? now : null
        }
      },
      browser,
      deps
    )
  }
  return await begin().catch((error: unknown) => {
    accounts.onError(error, 'a user who has just set up a second factor could not be signed in')
    return null
  })
}
