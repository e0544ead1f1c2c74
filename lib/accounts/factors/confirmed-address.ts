import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import type { AccountsDeps } from '../deps.ts'
import type { MessageCause } from '../outbox.ts'
import { awaitsConfirmation, sendVerificationAgain } from '../verify-email.ts'

/**
 * For every caller that stores a factor.
 * @throws OAuthError `access_denied` with the reason
 */
export function refuseUnconfirmed(user: User, deps: Pick<AccountsDeps, 'users' | 'outbox'>): void {
  if (awaitsConfirmation(user, deps))
    throw new OAuthError(
      'access_denied',
      'Confirm the email address of the account first. A message with a link was sent there.',
      { reason: 'email_not_verified' }
    )
}

/**
 * For the start of an enrolment: sends the message that confirms the address too, if none was sent in the last five
 * minutes.
 */
export async function requireConfirmedAddress(user: User, cause: MessageCause, deps: AccountsDeps): Promise<void> {
  if (awaitsConfirmation(user, deps)) await sendVerificationAgain(user, cause, deps)
  refuseUnconfirmed(user, deps)
}
