import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import type { Origin } from '../tokens/sessions.ts'
import { failureOf, verifyOnce } from './authenticate-password.ts'
import type { AccountsDeps } from './deps.ts'
import { addressed } from './messages.ts'
import { requireGoodPassword } from './password-policy.ts'

export interface PasswordChange {
  userId: string
  /** The session that asks: it is the one that stays. */
  sid?: string | undefined
  currentPassword: string
  newPassword: string
  origin: Origin
}

/**
 * Gives a signed-in user a new password for the current one, ends all their other sessions and the reset links under way.
 * Of parallel changes with one current password, one succeeds.
 *
 * @throws OAuthError `invalid_grant` (current password wrong, or changed meanwhile); `invalid_password` with the reason;
 *   `temporarily_unavailable`
 */
export async function changePassword ({ userId, sid, currentPassword, newPassword, origin }: PasswordChange, deps: AccountsDeps): Promise<void> {
  const user = await verifyCurrent(userId, currentPassword, origin, deps)
  await requireGoodPassword(deps.policy, newPassword, { username: user.username, email: user.email })
  const next = await deps.hashing.hash(newPassword)
  if (!await replaceHash(user, next, deps)) {
    // Either a login brought an old hash up to date, and the current password matches the new one, or it is no longer current.
    const again = await verifyCurrent(userId, currentPassword, origin, deps)
    if (!await replaceHash(again, next, deps)) throw wrongPassword()
  }
  await concludePasswordChange(user, 'change', { exceptSid: sid, origin }, deps)
}

/**
 * What follows every new password, once it is stored. Each step is tried whatever became of the others: that the links could
 * not be discarded is no reason to leave a thief signed in. Rejects with the first failure.
 */
export async function concludePasswordChange (user: User, by: 'change' | 'reset', { exceptSid, origin }: { exceptSid: string | undefined, origin: Origin }, deps: AccountsDeps): Promise<void> {
  deps.events.emit('password_changed', { userId: user.id, by, ...origin })
  deps.outbox?.post({ kind: 'password_changed', user: addressed(user) })
  const steps = await Promise.allSettled([
    deps.sessions.revokeAll(user.id, 'password_changed', { exceptSid, origin }),
    deps.oneTimeTokens.discard('password_reset', user.id)
  ])
  for (const step of steps) if (step.status === 'rejected') throw step.reason
}

async function verifyCurrent (userId: string, password: string, origin: Origin, deps: AccountsDeps): Promise<User> {
  const user = await deps.users.findById(userId)
  // Whoever is signed in may change the password, e-mail verified or not.
  const reason = failureOf(user, await verifyOnce(user, password, deps), { verifyEmail: false })
  if (user !== null && reason === null) return user
  deps.events.emit('login_failed', { reason: reason ?? 'unknown_user', userId, clientId: null, ...(user === null ? {} : { username: user.username }), ...origin })
  throw wrongPassword()
}

async function replaceHash (user: User, next: string, { users }: AccountsDeps): Promise<boolean> {
  if (users.setPasswordHash === undefined) throw new OAuthError('server_error', 'Passwords can not be changed here.', { detail: 'the user store has no setPasswordHash' })
  return await users.setPasswordHash(user.id, next, user.passwordHash)
}

function wrongPassword (): OAuthError {
  return new OAuthError('invalid_grant', 'The current password is wrong.')
}
