import { OAuthError } from '../errors.ts'
import { NO_REQUEST } from '../events.ts'
import type { User } from '../ports/user-store.ts'
import { isActive } from '../sessions/active-user.ts'
import type { Origin, StayingSignIn } from '../sessions/sessions.ts'
import { failureOf, verifyOnce } from './authenticate-password.ts'
import type { AccountsDeps } from './deps.ts'
import { finishNewPassword, isUnfinished, type NewPassword, setNewPassword } from './new-password.ts'
import { requireGoodPassword } from './password-policy.ts'

interface PasswordChange {
  userId: string
  /** The sign-in that asks. */
  stays?: StayingSignIn | undefined
  currentPassword: string
  newPassword: string
  locale?: string | undefined
  origin: Origin
}

/**
 * Replaces the password of a signed-in user, who gives the current one. Ends all their other sessions, their consents,
 * and open reset links. One of parallel changes with one current password succeeds. If it fails half-way (503), the
 * same request finishes it, because the stored hash may be the new one already.
 * @throws OAuthError `invalid_grant` (current password wrong, or changed meanwhile, or there is none: a reset sets the
 * first); `invalid_password` with the reason; `temporarily_unavailable`
 */
export async function changePassword(change: PasswordChange, deps: AccountsDeps): Promise<void> {
  const { userId, stays, newPassword, locale, origin } = change
  const given: NewPassword = { by: 'change', stays, locale, origin }
  const user = await deps.users.findById(userId)
  if (user !== null && (await wasBegunBefore(user, newPassword, deps))) {
    await finishNewPassword(user, given, deps)
    return
  }
  const verified = await verifyCurrent(user, change, deps)
  await requireGoodPassword(deps.policy, newPassword, { username: verified.username, email: verified.email })
  const next = await deps.hashing.hash(newPassword)
  if (await setNewPassword(verified, next, given, deps)) return
  // The stored hash changed since it was read. If a login rehashed the same password, the current password still
  // matches; if the password itself changed, `verifyCurrent` throws.
  const again = await verifyCurrent(await deps.users.findById(userId), change, deps)
  if (!(await setNewPassword(again, next, given, deps))) throw wrongPassword()
}

/**
 * Sets a new password on behalf of the host: no current one is asked for, and all sessions end. The rules for new
 * passwords hold.
 * @throws OAuthError `invalid_grant` where there is no such user; `invalid_password` with the reason;
 * `temporarily_unavailable`
 */
export async function replacePassword(userId: string, newPassword: string, deps: AccountsDeps): Promise<void> {
  const find = async (): Promise<User> => {
    const user = await deps.users.findById(userId)
    if (user === null) throw new OAuthError('invalid_grant', 'There is no such user.')
    return user
  }
  const user = await find()
  await requireGoodPassword(deps.policy, newPassword, { username: user.username, email: user.email })
  const next = await deps.hashing.hash(newPassword)
  const given: NewPassword = { by: 'change', origin: NO_REQUEST }
  // The first call fails if the hash changed since it was read: a login rehashed it, or another request set a password.
  // Either way the second call replaces the present hash.
  if ((await setNewPassword(user, next, given, deps)) || (await setNewPassword(await find(), next, given, deps))) return
  throw new OAuthError('invalid_grant', 'Another request has changed the password meanwhile.')
}

/**
 * True if this change stored its hash before and failed after that. Then the new password is the current one, and
 * proves as much as the former did. It is accepted only while the note of a failed change names the stored hash, so it
 * helps no guesses.
 */
async function wasBegunBefore(user: User, newPassword: string, deps: AccountsDeps): Promise<boolean> {
  return isActive(user) && (await isUnfinished(user, deps)) && (await verifyOnce(user, newPassword, deps)) === 'match'
}

async function verifyCurrent(
  user: User | null,
  { userId, stays, currentPassword, origin }: PasswordChange,
  deps: AccountsDeps
): Promise<User> {
  // Any signed-in user may change the password, email verified or not.
  const reason = failureOf(user, await verifyOnce(user, currentPassword, deps), { ...deps, verifyEmail: false })
  if (user !== null && reason === null) return user
  deps.events.emit(
    'login_failed',
    {
      reason: reason ?? 'unknown_user',
      userId,
      sid: stays?.sid ?? null,
      clientId: null,
      ...(user === null ? {} : { username: user.username })
    },
    origin
  )
  if (reason === 'no_password')
    throw new OAuthError('invalid_grant', 'The account has no password. A password reset sets a first one.')
  throw wrongPassword()
}

export function wrongPassword(): OAuthError {
  return new OAuthError('invalid_grant', 'The current password is wrong.', {
    field: 'current_password',
    reason: 'wrong_password'
  })
}
