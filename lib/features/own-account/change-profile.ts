import type { AccountsDeps } from '../../accounts/deps.ts'
import { addressOf } from '../../accounts/outbox.ts'
import { ownProfileFields, refuseUnstorable } from '../../accounts/register.ts'
import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import { invalidToken } from '../../protocol/bearer.ts'
import type { Origin } from '../../sessions/sessions.ts'

/** Describes an account for its user: the id, username, email address, and the profile fields with these names. */
export function profileOf(user: User, fields: readonly string[]): Record<string, unknown> {
  const address = addressOf(user)
  const shown = fields.flatMap((name) => (user[name] === undefined || user[name] === null ? [] : [[name, user[name]]]))
  return {
    ...(Object.fromEntries(shown) as Record<string, unknown>),
    sub: user.id,
    username: user.username,
    ...(address === '' ? {} : { email: address, email_verified: user.emailVerified === true })
  }
}

interface ProfileChange {
  user: User
  /** The id of the session or token family that makes the request. */
  sid: string
  /** Profile fields that were checked against the host's schema. `null` removes a field. */
  changes: Record<string, unknown>
  origin: Origin
}

/**
 * Changes only these fields. Of parallel changes of a field, the last one wins.
 * @throws OAuthError `invalid_request` with the name of the field; `invalid_token` if the user was removed;
 * `server_error` if the user store has no `update`
 */
export async function changeProfile(
  { user, sid, changes, origin }: ProfileChange,
  { users, events }: AccountsDeps
): Promise<User> {
  if (users.update === undefined)
    throw new OAuthError('server_error', 'Profiles can not be changed here.', {
      detail: 'the user store has no update'
    })
  refuseUnstorable(changes)
  const fields = ownProfileFields(Object.keys(changes))
  if (fields.length === 0) return user
  const changed = await users.update(user.id, Object.fromEntries(fields.map((name) => [name, changes[name]])))
  if (changed === null) throw invalidToken('The token was revoked.')
  events.emit('profile_changed', { userId: user.id, sid, fields }, origin)
  return changed
}
