import { waysIn } from '../accounts/ways-in.ts'
import type { User } from '../ports/user-store.ts'
import { MFA_ACR, PASSKEY_ACR, PASSWORD_ACR } from '../protocol/authentication.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'
import type { Asking, AuthorizeDeps, AuthorizeSlots, StepTowards } from './deps.ts'

type ReachDeps = Pick<AuthorizeDeps, 'accounts' | 'slots'>

async function reaches(acr: string, user: User, asking: Asking, { accounts, slots }: ReachDeps): Promise<boolean> {
  for (const slot of slots) if ((await slot.reaches?.(acr, user, asking)) === true) return true
  return acr === PASSWORD_ACR && (!asking.hostedSignIn || (await waysIn(user, accounts)).password)
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
  for (const value of values) if (await reaches(value, user, asking, deps)) return true
  // The provider may prove more the next time.
  return values.includes(PASSWORD_ACR) && (await waysIn(user, deps.accounts)).links.length > 0
}

const isAbove = (acr: string): boolean => acr === PASSWORD_ACR || acr === MFA_ACR || acr === PASSKEY_ACR

/** See `AuthorizeSlots.towards`. */
export async function stepTowards(
  acr: string,
  person: SignedInPerson,
  asking: Parameters<NonNullable<AuthorizeSlots['towards']>>[2],
  deps: ReachDeps
): Promise<StepTowards | null> {
  if (!isAbove(acr)) return null
  for (const { towards } of deps.slots) if (towards !== undefined) return await towards(acr, person, asking)
  if (!(await reaches(acr, person.user, asking, deps))) return 'never'
  return asking.hostedSignIn ? 'reauthenticate' : null
}
