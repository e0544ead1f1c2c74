import type { User, UserStore } from '../ports/user-store.ts'
import type { Sessions } from './sessions.ts'
import type { SignedIn } from './since-password-change.ts'

/** True if the user exists and the account is not disabled. */
export function isActive(user: User | null): user is User {
  return user !== null && !user.disabled
}

/** The user of a stored sign-in; `null` if the account is gone or disabled, or the sign-in no longer counts. */
export async function userOf(
  signIn: SignedIn & { userId: string },
  { users, sessions }: { users: Pick<UserStore, 'findById'>; sessions: Pick<Sessions, 'isOver'> }
): Promise<User | null> {
  const user = await users.findById(signIn.userId)
  return isActive(user) && !(await sessions.isOver(user, signIn)) ? user : null
}
