import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { isActive } from '../sessions/active-user.ts'
import { isProved, markProved } from './address-proof.ts'
import type { AccountsDeps } from './deps.ts'
import { endOpenTokens } from './message-tokens.ts'
import { endPassword } from './new-password.ts'
import { addressOf, type MessageCause } from './outbox.ts'

/**
 * Gives an account with an unproved address to the person who has just proved that they read its mail. Another person
 * may have made it, and waits for the owner of the mailbox to fill it: so the password, the sign-ins and all
 * provisional factors end first, and the address is marked as proved last, so that a repeat after a failure does it all
 * again.
 * @throws OAuthError `temporarily_unavailable`, if the account was changed in this very moment
 * @see Sudhodanan and Paverd, Pre-hijacked accounts (USENIX Security 2022)
 */
export async function takeMailbox(user: User, { locale, origin }: MessageCause, deps: AccountsDeps): Promise<User> {
  const since = deps.clock.now()
  await endPassword(user, { by: 'email_sign_in', locale, origin }, deps)
  await endOpenTokens(user.id, deps)
  await markProved(user, since, deps)
  const now = await deps.users.findById(user.id)
  if (!isActive(now) || !isProved(now) || addressOf(now) !== addressOf(user))
    throw new OAuthError('temporarily_unavailable', 'The account was changed meanwhile. Try again.')
  deps.events.emit('email_verified', { userId: user.id }, origin)
  return now
}
