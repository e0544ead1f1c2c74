import { hasFactor } from '../protocol/second-factors.ts'
import type { AccountsDeps } from '../accounts/deps.ts'
import { isRecentEnough } from '../accounts/fresh-sign-in.ts'
import { type WaysIn, waysIn, factorsOf, appsOf } from '../accounts/ways-in.ts'
import type { UserFactors } from '../ports/factor-store.ts'
import type { User } from '../ports/user-store.ts'
import { lacksSecondFactor, MFA_ACR, PASSKEY_ACR, PASSWORD_ACR } from '../protocol/authentication.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'

type ReachDeps = Pick<AccountsDeps, 'users' | 'factors' | 'slots' | 'connections'>

/** True if a page of ours asks for a password. Otherwise the host's own page does, which may ask for anything. */
interface Asking {
  hostedSignIn: boolean
}

/**
 * True if a sign-in of this account can reach the level `acr`, by its present factors. A code in a mailbox has no
 * higher level with a second factor: a user with neither password nor connection reaches `mfa` by a passkey alone.
 */
function reaches(
  acr: string,
  ways: WaysIn,
  found: UserFactors | null,
  { hostedSignIn }: Asking,
  { factors }: ReachDeps
): boolean {
  if (ways.passkeys.length > 0) return true
  const canGivePassword = !hostedSignIn || ways.password
  // A security key is worth as much with a password alone.
  if (acr === PASSKEY_ACR)
    return canGivePassword && found?.passkeys.some(({ rpId }) => rpId === factors?.passkeys?.rpId) === true
  const hasSecond = hasFactor(found)
  if (acr === MFA_ACR && !hasSecond) return false
  if (canGivePassword) return true
  return hasSecond && ways.links.length > 0
}

/**
 * True if a sign-in of this account can reach one of these levels. `email` and `connection` are neither lower nor
 * higher than others, so a request for one is taken literally.
 */
export async function reachesOne(
  values: readonly string[],
  user: User,
  asking: Asking,
  deps: ReachDeps
): Promise<boolean> {
  if (values.some((value) => !isAbove(value))) return true
  const found = await factorsOf(user, deps)
  const ways = await waysIn(user, deps, found)
  if (values.some((value) => reaches(value, ways, found, asking, deps))) return true
  // A provider may vouch for more the next time.
  return values.includes(PASSWORD_ACR) && ways.links.length > 0
}

const isAbove = (acr: string): boolean => acr === PASSWORD_ACR || acr === MFA_ACR || acr === PASSKEY_ACR

/**
 * The target of a page of ours for a user whose sign-in is below the level of a page of the host. `reauthenticate`: the
 * page that asks for a factor that they have and did not show. `passkey`: the page that adds one. `never`: no page
 * would help.
 */
type StepTowards = 'second_factor' | 'enrolment' | 'reauthenticate' | 'passkey' | 'never'

/**
 * The step on a page of ours that brings a session to `acr`; `null`: another proof of the same, or a new sign-in. A
 * user without a fitting factor is led to its set-up, and not through a proof that would change nothing.
 */
export async function stepTowards(
  acr: string,
  { session, user }: SignedInPerson,
  { hostedSignIn, accountPages }: Asking & { accountPages: boolean },
  deps: ReachDeps & Pick<AccountsDeps, 'clock'>
): Promise<StepTowards | null> {
  if (!isAbove(acr)) return null
  const { factors } = deps
  const now = deps.clock.now()
  const found = await factorsOf(user, deps)
  const lacksCode = lacksSecondFactor(session, now)
  const hasSecond = hasFactor(found)
  if (acr === MFA_ACR && hasSecond && lacksCode) return 'second_factor'
  if (reaches(acr, await waysIn(user, deps, found), found, { hostedSignIn }, deps)) {
    if (hostedSignIn) return 'reauthenticate'
    // A sign-in page of the host's own asks for no passkey of ours. Ours asks for it as the second factor.
    return acr === PASSKEY_ACR ? (lacksCode ? 'second_factor' : 'never') : null
  }
  const methods = factors?.policy.methods ?? []
  const takesPasskeys = factors !== null && factors.passkeys !== null && methods.includes('passkey')
  // With a second factor the sign-in would be worth it, or that of the account would.
  const helps = acr === MFA_ACR && !hasSecond && (lacksCode || user.passwordHash !== null)
  if (!helps) return accountPages && takesPasskeys ? 'passkey' : 'never'
  if (!takesPasskeys && !(methods.includes('totp') && appsOf(deps) !== null)) return 'never'
  // The first one is set up after a sign-in of the last minutes.
  return isRecentEnough(session, now) ? 'enrolment' : null
}
