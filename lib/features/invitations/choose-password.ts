import { verifyOnce } from '../../accounts/authenticate-password.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import { finishNewPassword, type NewPassword, setNewPassword } from '../../accounts/new-password.ts'
import type { MessageCause } from '../../accounts/outbox.ts'
import { requireGoodPassword } from '../../accounts/password-policy.ts'
import type { Invitations } from '../../accounts/slots.ts'
import { ownerConnection } from '../../accounts/ways-in.ts'
import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import { alreadyAccepted } from './invitations.ts'

/**
 * Accepts an invitation by a password, and signs nobody in. A refused password leaves the invitation as it is. The
 * password is hashed before the token is used up, so that a full queue costs no invitation.
 * @throws OAuthError `invalid_token` with status 400; `conflict`; `invalid_password` with the reason; `access_denied`
 * for an address that a connection manages
 */
export async function choosePassword(
  { token, password, locale, origin }: MessageCause & { token: string; password: string },
  invitations: Invitations,
  deps: AccountsDeps
): Promise<User> {
  const user = await invitations.find(token)
  if (ownerConnection(user, deps) !== null)
    throw new OAuthError('access_denied', 'People of this domain sign in through a connection.', {
      reason: 'connection_only'
    })
  await requireGoodPassword(deps.policy, password, { username: user.username, email: user.email })
  const given: NewPassword = { by: 'invitation', locale, origin }
  if (user.passwordHash !== null) {
    // An earlier try set this password, and something failed after that.
    if ((await verifyOnce(user, password, deps)) !== 'match') throw alreadyAccepted()
    return await invitations.accept({ token, connection: null, origin }, async (now) => {
      await finishNewPassword(now, given, deps)
    })
  }
  const passwordHash = await deps.hashing.hash(password)
  return await invitations.accept({ token, connection: null, origin }, async (now) => {
    if (now.passwordHash !== null || !(await setNewPassword(now, passwordHash, given, deps))) throw alreadyAccepted()
  })
}
