import type { Browser } from '../sessions/browser-sessions.ts'
import { type SessionBegun, type SessionDeps, settleAndCommit, type SignIn } from './commit-session.ts'
import type { StepNeeded } from './factors/second-step.ts'
import { lazily } from './lazily.ts'

export type { SessionBegun } from './commit-session.ts'
export type { StepNeeded } from './factors/second-step.ts'

export const withFactors = lazily(async () => await import('./factors/begin-with-factors.ts'))

/**
 * Begins the browser session of a user who has given a first factor, or has the second one asked for. Every sign-in of
 * a person goes through here, with any factor, so that no kind of sign-in can forget the questions after it. A session
 * that the browser had goes on until this succeeds.
 * @returns `null` if the sign-in does not hold any more
 */
export async function beginSession(
  first: SignIn,
  browser: Browser,
  deps: SessionDeps
): Promise<SessionBegun | StepNeeded | null> {
  const { accounts } = deps
  const { factors } = accounts
  // A passkey that has verified who holds it is both factors.
  if (factors === null || first.methods.some(({ method }) => method === 'passkey'))
    return await settleAndCommit(first, browser, deps)
  const { beginWithFactors } = await withFactors()
  return await beginWithFactors(first, browser, { ...deps, accounts: { ...accounts, factors } })
}
