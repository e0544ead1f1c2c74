import { commitSession, type SessionBegun } from '../accounts/begin-session.ts'
import { confirmEnrolment } from '../accounts/factors/enrol-totp.ts'
import type { FactorDeps } from '../accounts/factors/deps.ts'
import { type PendingStep, stepHolds } from '../accounts/factors/second-step.ts'
import type { Browser } from '../sessions/browser-sessions.ts'
import type { AuthorizeDeps } from './deps.ts'

interface FirstEnrolment {
  /** Of an opened ticket, and the ticket: the enrolment was begun for it. */
  step: PendingStep
  ticket: string
  enrolment: string
  code: string
  name: string
  locale: string | undefined
}

/**
 * Sets up the factor that somebody must have before they are signed in, and signs them in by it. `begun` is `null` where the factor is there and
 * the session is not: the account changed meanwhile, or the state is out of reach. The recovery codes have to be shown all the same.
 * @throws OAuthError of `confirmEnrolment`; then nothing was stored
 */
export async function enrolAndSignIn ({ step, ticket, enrolment, code, name, locale }: FirstEnrolment, browser: Browser, deps: AuthorizeDeps & { accounts: { factors: FactorDeps } }): Promise<{ recoveryCodes: string[] | null, begun: SessionBegun | null }> {
  const { accounts } = deps
  const { user, by, connection, methods, clientId } = step
  const { origin } = browser
  const { factorId, recoveryCodes, proof } = await confirmEnrolment({ user, sid: null, ticket, enrolment, code, name, locale, origin }, accounts)
  const begun = commitSession({
    user,
    by,
    connection,
    methods: [...methods, proof],
    clientId,
    async confirm () {
      const [now, { totp }] = await Promise.all([stepHolds(step, accounts), accounts.factors.store.findFactors(user.id)])
      // It was reset in this very moment, or the password is another one.
      return totp.some(({ id }) => id === factorId) ? now : null
    }
  }, browser, deps)
  return {
    recoveryCodes,
    begun: await begun.catch((error: unknown) => {
      accounts.onError(error, 'somebody who has just set up a second factor could not be signed in')
      return null
    })
  }
}
