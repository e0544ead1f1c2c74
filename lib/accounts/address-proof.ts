import type { LinkedIdentity, User } from '../ports/user-store.ts'
import { passwordChangedAt } from '../sessions/active-user.ts'
import type { AccountsDeps } from './deps.ts'
import { addressOf } from './outbox.ts'

/*
 * A used link or code of a message proves an address, and so does a connection that is authoritative for the mailbox.
 * Any other "verified" flag is only the claim of a provider. Before the proof, the account may belong to a person who
 * entered another person's address. So each link, passkey and authenticator app that is added before the proof is
 * provisional, unless the host invited the user. `endProvisional` ends them when the owner of the mailbox takes the
 * account, for example by a password reset. The mere confirmation of an address ends none.
 */

const provedAtOf = ({ emailProvedAt }: User): number | null =>
  emailProvedAt === undefined || emailProvedAt === null ? null : Number(emailProvedAt)

/**
 * True if the address is proved. `emailProvedAt: 0` means verified by a claim only. If the user store does not keep
 * `emailProvedAt`, `emailVerified` alone decides.
 */
export const isProved = (user: User): boolean => user.emailVerified === true && provedAtOf(user) !== 0

/** True if a new factor or link of the user is provisional: the account has an address, and nobody has proved it. */
export const makesProvisional = (user: User): boolean => !isProved(user) && addressOf(user) !== ''

/** True if the link is marked as provisional, or is older than the proof of the account's address. */
export const isProvisional = (
  { provisional, linkedAt }: Pick<LinkedIdentity, 'provisional' | 'linkedAt'>,
  user: User
): boolean => provisional === true || linkedAt < (provedAtOf(user) ?? 0)

/**
 * True if the user has a password that is older than the proof of the address. A password of unknown age counts as
 * older.
 */
export function isPasswordOlder(user: User): boolean {
  const provedAt = provedAtOf(user)
  return user.passwordHash !== null && provedAt !== null && (passwordChangedAt(user) ?? 0) < provedAt
}

/**
 * True if the user has a second factor that is not provisional. The mailbox alone then does not open the account.
 */
export async function keepsFactor(user: User, { slots }: Pick<AccountsDeps, 'slots'>): Promise<boolean> {
  for (const { keepsAgainstMailbox } of slots) if ((await keepsAgainstMailbox?.(user)) === true) return true
  return false
}

/**
 * Marks the user's address as proved. `since`: the time at which the proof began, in milliseconds since the epoch. A
 * password that was set after `since` belongs to the owner of the address.
 * @returns `false` without a write: there is no address, it is proved already, or the store can't save the proof
 */
export async function markProved(user: User, since: number, { users }: Pick<AccountsDeps, 'users'>): Promise<boolean> {
  if (users.setEmailVerified === undefined || isProved(user) || addressOf(user) === '') return false
  // Passes the address, so that the store writes nothing if the address has changed since the user was read.
  await users.setEmailVerified(user.id, addressOf(user), since)
  return true
}
