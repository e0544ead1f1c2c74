import type { AccountsDeps } from '../accounts/deps.ts'
import { factorsOf, hasFactor } from '../accounts/factors/deps.ts'
import { isRecentEnough } from '../accounts/fresh-sign-in.ts'
import { type WaysIn, waysIn } from '../accounts/ways-in.ts'
import type { UserFactors } from '../ports/factor-store.ts'
import type { User } from '../ports/user-store.ts'
import { lacksSecondFactor, MFA_ACR, PASSKEY_ACR, PASSWORD_ACR } from '../protocol/authentication.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'

type ReachDeps = Pick<AccountsDeps, 'users' | 'factors' | 'slots' | 'connections'>

/** Whether a page of ours asks for a password; else the host's own does, which may ask for anything. */
interface Asking {
  hostedSignIn: boolean
}

/**
 * Whether a sign-in of this account can be worth `acr`, by what it has now. A code in a mailbox is worth no more with a
 * second factor: who has neither password nor connection reaches `mfa` by a passkey alone.
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
 * Whether a sign-in of this account can be worth one of these. `email` and `connection` are not less or more than
 * others, so whoever asks for one is taken at their word.
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
 * Where a page of ours leads somebody whose sign-in is not worth what a page of the host asks for. `reauthenticate`: to
 * where they prove it with what they have and did not show. `passkey`: to the page that adds one. `never`: to nothing
 * that would help.
 */
type StepTowards = 'second_factor' | 'enrolment' | 'reauthenticate' | 'passkey' | 'never'

/**
 * What brings a session to `acr`, which it does not show, on a page of ours; `null`: another proof of the same, or a
 * new sign-in. Who has nothing that could show it is led to where it is set up, and not through a proof that would
 * change nothing.
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
  if (!takesPasskeys && !methods.includes('totp')) return 'never'
  // The first one is set up after a sign-in of the last minutes.
  return isRecentEnough(session, now) ? 'enrolment' : null
}
