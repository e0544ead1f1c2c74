import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import { isActive } from '../../sessions/active-user.ts'
import { endOpenTokens } from '../message-tokens.ts'
import { endAll, type NewPassword, setNewPassword } from '../new-password.ts'
import { addressOf, type MessageCause } from '../outbox.ts'
import type { AccountsDeps } from '../deps.ts'

/**
 * Gives an account whose address nobody had confirmed to whoever has just proved that they read its mail. It may have
 * been made by somebody else, who waits for the owner of the mailbox to fill it: so their password, second factors,
 * links and sign-ins end first, and the address is marked as confirmed last, so that a repeat after a failure does it
 * all again.
 *
 * @throws OAuthError `temporarily_unavailable`, where the account was changed in this very moment
 * @see Sudhodanan and Paverd, Pre-hijacked accounts (USENIX Security 2022)
 */
export async function takeMailbox(user: User, { locale, origin }: MessageCause, deps: AccountsDeps): Promise<User> {
  const { users, hashing, random, factors, sessions, events } = deps
  const given: NewPassword = { by: 'email_sign_in', locale, origin }
  if (user.passwordHash === null) await endAll(user, given, deps)
  else if (!(await setNewPassword(user, await hashing.hash(random.secret()), given, deps))) throw changedMeanwhile()
  if (factors !== null && (await factors.store.removeFactorsOfUser(user.id)) > 0) {
    events.emit('factor_removed', { userId: user.id, factorId: null, kind: null, by: 'email_sign_in' }, origin)
    // Somebody may have signed in with one of these factors after the first look at the sessions.
    await sessions.revokeAll(user.id, 'factors_changed', { origin })
  }
  await endOpenTokens(user.id, deps)
  await users.setEmailVerified?.(user.id, addressOf(user))
  const now = await users.findById(user.id)
  if (!isActive(now) || now.emailVerified !== true || addressOf(now) !== addressOf(user)) throw changedMeanwhile()
  events.emit('email_verified', { userId: user.id }, origin)
  return now
}

function changedMeanwhile(): OAuthError {
  return new OAuthError('temporarily_unavailable', 'The account was changed meanwhile. Try again.')
}
