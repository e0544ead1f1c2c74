import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import type { AccountsDeps } from '../deps.ts'
import { addressOf, type MessageCause } from '../outbox.ts'
import { sendVerificationAgain } from '../verify-email.ts'

/**
 * Whether the account's address still has to be confirmed, and can be. Somebody may have signed up with another person's address: if they could
 * set up a factor there, the owner of the address would reset the password and be asked for a factor that is not theirs. So nothing is
 * set up before the mailbox was proved, and no reset has to take a factor away, which would make the mailbox alone enough.
 */
export function awaitsConfirmation (user: User, { users, outbox }: Pick<AccountsDeps, 'users' | 'outbox'>): boolean {
  return user.emailVerified !== true && outbox !== null && users.setEmailVerified !== undefined && addressOf(user) !== ''
}

/**
 * For all that stores a factor, whoever calls it.
 * @throws OAuthError `access_denied` with the reason
 */
export function refuseUnconfirmed (user: User, deps: Pick<AccountsDeps, 'users' | 'outbox'>): void {
  if (awaitsConfirmation(user, deps)) throw new OAuthError('access_denied', 'Confirm the e-mail address of the account first. A message with a link was sent there.', { reason: 'email_not_verified' })
}

/** Where somebody begins to set one up: sends the message that confirms the address too, where none was sent in the last five minutes. */
export async function requireConfirmedAddress (user: User, cause: MessageCause, deps: AccountsDeps): Promise<void> {
  if (awaitsConfirmation(user, deps)) await sendVerificationAgain(user, cause, deps)
  refuseUnconfirmed(user, deps)
}
