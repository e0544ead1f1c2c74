import type { User } from '../ports/user-store.ts'
import { isActive } from '../sessions/active-user.ts'
import type { AccountsDeps } from './deps.ts'
import { isEnforced } from './enforced.ts'
import { addressOf } from './outbox.ts'
import { emailOf, normalizeUsername } from './username.ts'

/** Whether a code for the sign-in may be sent to the stored address of the user. */
export function getsCodes(user: User, { enforcedDomains }: Pick<AccountsDeps, 'enforcedDomains'>): boolean {
  const address = normalizeUsername(addressOf(user))
  return isActive(user) && !isEnforced(user, enforcedDomains) && address !== null && emailOf(address) !== null
}

/** Whether the user can rely on being let in by such a code: an address that nobody has confirmed may be mistyped. */
export function signsInByMail(user: User, deps: Pick<AccountsDeps, 'emailSignIn' | 'enforcedDomains'>): boolean {
  return deps.emailSignIn !== null && user.emailVerified === true && getsCodes(user, deps)
}
