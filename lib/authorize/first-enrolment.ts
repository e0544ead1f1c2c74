import { commitSession } from '../accounts/begin-session.ts'
import type { SessionBegun } from '../accounts/slots.ts'
import type { FactorDeps } from '../accounts/factors/deps.ts'
import type { PasskeyAdded } from '../accounts/factors/passkeys.ts'
import type { PendingStep } from '../accounts/factors/second-step.ts'
import { settled } from '../accounts/sign-in-writes.ts'
import { firstFactorHolds } from '../accounts/first-factor.ts'
import type { Browser } from '../sessions/browser-sessions.ts'
import type { AuthorizeDeps } from './deps.ts'

/**
 * Signs a user in by the factor that they had to add before: an app or a passkey, which is stored according to `added`.
 * `null`: the factor is stored but there is no session, because the account changed meanwhile, or the state is out of
 * reach. The recovery codes have to be shown all the same.
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
    accounts.onError(error, 'somebody who has just set up a second factor could not be signed in')
    return null
  })
}
