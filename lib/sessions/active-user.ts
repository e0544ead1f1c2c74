import type { User } from '../ports/user-store.ts'

/** Whether there is such a user and the account is not disabled. */
export function isActive (user: User | null): user is User {
  return user !== null && !user.disabled
}
