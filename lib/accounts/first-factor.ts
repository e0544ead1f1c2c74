import type { User } from '../ports/user-store.ts'
import { digest, equalSecrets } from '../protocol/digest.ts'
import { failureOf } from './authenticate-password.ts'
import type { AccountsDeps } from './deps.ts'
import { addressOf } from './outbox.ts'
import type { FirstFactor } from './slots.ts'
import { isManagedElsewhere } from './ways-in.ts'

/**
 * A value that changes with the user's password hash, so that a password change ends a first factor. After an emailed
 * code it also changes with the address, because a code in the former mailbox proves nothing about the new one. It is a
 * digest, so that a ticket with this value does not contain the password hash.
 */
export function markOf(user: User, by: FirstFactor['by']): string {
  return digest(`second step ${user.id} ${user.passwordHash ?? ''}${by === 'email' ? ` ${addressOf(user)}` : ''}`)
}

type Deps = Pick<AccountsDeps, 'users' | 'verifyEmail' | 'connections'>

/**
 * Reads the user again. `null` if the first factor is no longer valid, for example because the password was changed,
 * the user was disabled or the identity was unlinked.
 */
export async function firstFactorHolds(
  { user, by, connection, identity, writes }: Pick<FirstFactor, 'user' | 'by' | 'connection' | 'identity' | 'writes'>,
  deps: Deps
): Promise<User | null> {
  return await holderOf({ userId: user.id, by, connection, identity, writes, mark: markOf(user, by) }, deps)
}

/** Like `firstFactorHolds`, for a user id and the result of `markOf` at the time of the first factor. */
export async function holderOf(
  {
    userId,
    by,
    connection,
    identity,
    writes,
    mark
  }: Pick<FirstFactor, 'by' | 'connection' | 'identity' | 'writes'> & { userId: string; mark: string },
  deps: Deps
): Promise<User | null> {
  const { users } = deps
  // If the sign-in does not link the identity itself, the identity must still lead to this user.
  const user =
    identity === undefined || writes?.link !== undefined
      ? await users.findById(userId)
      : ((await users.findByIdentity?.(identity)) ?? null)
  // A take-over does not compare the mark, because a parallel take-over may have ended the password just now.
  const isMarked = writes?.takesOver === true || (user !== null && equalSecrets(markOf(user, by), mark))
  return user?.id === userId && counts(user, { by, connection }, deps) && isMarked ? user : null
}

function counts(
  user: User,
  { by, connection = null }: Pick<FirstFactor, 'by'> & { connection?: string | null | undefined },
  deps: Deps
): boolean {
  if (by === 'password') return failureOf(user, 'match', deps) === null
  return user.disabled !== true && !isManagedElsewhere(user, by === 'connection' ? connection : null, deps)
}
