import type { LinkedIdentity, User } from '../ports/user-store.ts'
import type { AccountsDeps } from './deps.ts'
import { addressOf } from './outbox.ts'

/*
 * Proof of a mailbox. A message of this service proves an address, and so does a connection that decides on the
 * mailbox. Any other "verified" is the claim of a provider. Until there is a proof, the person who named the address
 * need not be its owner. So each link, passkey and app that is set up before is provisional, and a proof of the mailbox
 * ends these, and no others.
 */

const provedAtOf = ({ emailProvedAt }: User): number | null =>
  emailProvedAt === undefined || emailProvedAt === null ? null : Number(emailProvedAt)

/** True if the address was proved. An account whose store keeps no time counts as the host says. */
export const isProved = (user: User): boolean => user.emailVerified === true && provedAtOf(user) !== 0

/** True if a new factor of the user is provisional. Without an address no message could reach another person. */
export const makesProvisional = (user: User): boolean => !isProved(user) && addressOf(user) !== ''

/** True if the link is provisional, or older than the present address of the account. */
export const isProvisional = (
  { provisional, linkedAt }: Pick<LinkedIdentity, 'provisional' | 'linkedAt'>,
  user: User
): boolean => provisional === true || linkedAt < (provedAtOf(user) ?? 0)

/** True if the password is known to be older than the proof of the address. */
export function isPasswordOlder(user: User): boolean {
  const provedAt = provedAtOf(user)
  return user.passwordHash !== null && provedAt !== null && Number(user.passwordChangedAt ?? 0) < provedAt
}

/** True if a factor of the user also counts against a reader of the mail, so that a mailbox alone is not enough. */
export async function keepsFactor(user: User, { slots }: Pick<AccountsDeps, 'slots'>): Promise<boolean> {
  for (const { keepsAgainstMailbox } of slots) if ((await keepsAgainstMailbox?.(user)) === true) return true
  return false
}

/**
 * Marks the address as proved, unless it was before. `since`: when the proof began; a password that was set after it
 * belongs to the owner of the address. `false`: nothing was written.
 */
export async function markProved(user: User, since: number, { users }: Pick<AccountsDeps, 'users'>): Promise<boolean> {
  if (users.setEmailVerified === undefined || isProved(user) || addressOf(user) === '') return false
  // The address may have changed meanwhile.
  await users.setEmailVerified(user.id, addressOf(user), since)
  return true
}
