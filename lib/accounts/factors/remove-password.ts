import { OAuthError } from '../../errors.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { type AuthenticationContext, PASSKEY_ACR } from '../../protocol/authentication.ts'
import { isActive } from '../../sessions/active-user.ts'
import type { AccountsDeps } from '../deps.ts'
import { requireFreshSignIn } from '../fresh-sign-in.ts'
import { endAll, finishNewPassword, isUnfinished, type NewPassword, noteUnfinished } from '../new-password.ts'
import { addressed, addressOf, type MessageCause } from '../outbox.ts'
import { type FactorDeps, passkeysIn } from './deps.ts'

type RemovalDeps = AccountsDeps & { factors: FactorDeps }

interface PasswordRemoval extends MessageCause {
  user: User
  /** The sign-in that asks, which goes on. */
  sid: string
  authentication: AuthenticationContext
}

/**
 * Whether who loses one of their passkeys can still come back without a password: there is another, or the one is kept in several places and
 * there are recovery codes, or a mailbox to which a reset can be sent.
 */
export function hasWaysBack (user: User, found: UserFactors, { factors, outbox }: Pick<RemovalDeps, 'factors' | 'outbox'>): boolean {
  const [passkey, ...others] = passkeysIn(found, factors)
  if (passkey === undefined || others.length > 0) return passkey !== undefined
  const hasMailbox = user.emailVerified === true && outbox !== null && addressOf(user) !== ''
  return passkey.backedUp && (found.recoveryCodesLeft > 0 || hasMailbox)
}

/**
 * Takes the password away from who has just signed in by a passkey, and can come back without it. All that the password opened ends, as when it is
 * changed: the other sign-ins, what they allowed other clients, links and tickets under way, remembered browsers. A reset by mail may set one
 * again. Once it is gone the ways back are looked at again, and whether the sign-in has ended meanwhile (by a reset, say): then the password is put
 * back, so that of this and a removal of the last passkey at the same moment at least one fails. Where a store is down at that look, it is put
 * back behind the reply. Where what comes after fails (503), the same request finishes it.
 *
 * @throws OAuthError `insufficient_user_authentication` where the sign-in is older or was not by a passkey; `last_factor` with the reason
 *   `ways_back`; `login_required`; `temporarily_unavailable`, also where the password was changed in this very moment
 */
export async function removePassword ({ user, sid, authentication, locale, origin }: PasswordRemoval, deps: RemovalDeps): Promise<void> {
  const { events, outbox, factors: { store } } = deps
  await requireFreshSignIn({ user, sid, authentication, acr: PASSKEY_ACR, origin }, deps)
  const { id, passwordHash } = user
  const given: NewPassword = { by: 'removal', exceptSid: sid, locale, origin }
  if (passwordHash === null) {
    if (await isUnfinished(user, deps)) await finishNewPassword(user, given, deps)
    return
  }
  if (!hasWaysBack(user, await store.findFactors(id), deps)) throw noWayBack()
  await endAll(user, given, deps)
  await noteUnfinished(id, null, deps)
  const refused = await takeAway({ id, passwordHash, sid }, deps)
  if (refused !== null) throw refused
  events.emit('password_changed', { userId: id, sid, by: 'removal' }, origin)
  outbox?.post({ kind: 'password_removed', user: { ...addressed(user), passwordHash: null }, locale, origin })
  await finishNewPassword(user, given, deps)
}

/** Takes it away and looks again; puts it back where that must not be, and says why. */
async function takeAway (of: { id: string, passwordHash: string, sid: string }, deps: RemovalDeps): Promise<OAuthError | null> {
  const { users, clock, background } = deps
  const { id, passwordHash } = of
  if (users.setPasswordHash === undefined) throw new OAuthError('server_error', 'Passwords can not be removed here.', { detail: 'the user store has no setPasswordHash' })
  const putBack = async (): Promise<void> => { await users.setPasswordHash?.(id, passwordHash, null) }
  try {
    if (!await users.setPasswordHash(id, null, passwordHash, clock.now())) return new OAuthError('temporarily_unavailable', 'The password was changed meanwhile. Try again.')
    const refused = await refusalOf(of, deps)
    if (refused !== null) await putBack()
    return refused
  } catch (error) {
    background.run(`password ${id}`, 'a password that was removed could not be put back', putBack)
    throw error
  }
}

async function refusalOf ({ id, sid }: { id: string, sid: string }, deps: RemovalDeps): Promise<OAuthError | null> {
  const { users, sessions, factors: { store } } = deps
  const [now, found, isAlive] = await Promise.all([users.findById(id), store.findFactors(id), sessions.isAlive(id, sid)])
  if (!isActive(now) || !isAlive) return new OAuthError('login_required', 'The sign-in has ended meanwhile. Sign in again.', { statusCode: 401 })
  return hasWaysBack(now, found, deps) ? null : noWayBack()
}

const noWayBack = (): OAuthError => new OAuthError('last_factor', 'An account without a password needs two passkeys, or one that is synced and recovery codes or a confirmed e-mail address.', { reason: 'ways_back' })
