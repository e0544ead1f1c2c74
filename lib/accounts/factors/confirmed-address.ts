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
 * For all that sets up a factor. Sends the message that confirms the address, where none was sent in the last five minutes.
 * @throws OAuthError `access_denied` with the reason
 */
export async function requireConfirmedAddress (user: User, cause: MessageCause, deps: AccountsDeps): Promise<void> {
  if (!awaitsConfirmation(user, deps)) return
  await sendVerificationAgain(user, cause, deps)
  throw new OAuthError('access_denied', 'Confirm the e-mail address of the account first. A message with a link is on its way.', { reason: 'email_not_verified' })
}
