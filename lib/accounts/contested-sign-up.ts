import type { User } from '../ports/user-store.ts'
import { digest, partitionOf } from '../protocol/digest.ts'
import type { AccountsDeps } from './deps.ts'

/** Later than this, a person who gets a confirming link no longer takes it for the answer to their own sign-up. */
const REMEMBERED_FOR_MS = 30 * 24 * 60 * 60 * 1000

type Deps = Pick<AccountsDeps, 'oneTimeTokens' | 'users' | 'clock'>

/**
 * For an unconfirmed account whose address another person wants to sign up with. A stranger may have been the first,
 * with a password of their own. If the owner of the mailbox confirmed the address now, that password would open a
 * verified account. So the links that confirm it end, and until the password changes only a reset link is sent, which
 * takes the account from the stranger.
 */
export async function contestSignUp(user: User, { oneTimeTokens, clock }: Deps): Promise<void> {
  // First, so that a link that is asked for from here on is a reset link.
  await oneTimeTokens.put({
    purpose: 'contested_sign_up',
    digest: nameOf(user),
    userId: user.id,
    expiresAt: clock.now() + REMEMBERED_FOR_MS
  })
  await oneTimeTokens.discard('verify_email', user.id)
}

/** True if another person has wanted the address since the user's present password was set. */
export async function isContested(user: User, { oneTimeTokens, users, clock }: Deps): Promise<boolean> {
  return (
    users.setPasswordHash !== undefined &&
    (await oneTimeTokens.find('contested_sign_up', nameOf(user), clock.now()))?.userId === user.id
  )
}

function nameOf({ id, passwordHash }: User): string {
  return partitionOf(id) + digest(`contested ${passwordHash ?? ''}`)
}
