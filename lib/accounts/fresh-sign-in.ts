import type { User } from '../ports/user-store.ts'
import { staleSignIn } from '../protocol/bearer.ts'
import type { Origin } from '../sessions/sessions.ts'
import { failureOf, verifyOnce } from './authenticate-password.ts'
import { wrongPassword } from './change-password.ts'
import type { AccountsDeps } from './deps.ts'

/** How long ago somebody may have signed in for what can't be taken back. */
const FRESH_FOR_SECONDS = 300

interface FreshSignIn {
  user: User
  /** The sign-in that asks. */
  sid: string
  /** When they signed in, in milliseconds since the epoch. */
  authenticatedAt: number
  /** Proves it here and now, however long ago that was. Counts as a sign-in does, and is to be limited like one. */
  password?: string | undefined
  origin: Origin
}

/**
 * Resolves where the person has proved who they are in the last five minutes, or does so now: for what a stolen session must not be
 * enough for. A password that is given is looked at in any case.
 *
 * @throws OAuthError `insufficient_user_authentication` where the sign-in is older; `invalid_grant` where the password is wrong;
 *   `temporarily_unavailable`
 * @see RFC 9470 §3
 */
export async function requireFreshSignIn ({ user, sid, authenticatedAt, password, origin }: FreshSignIn, deps: AccountsDeps): Promise<void> {
  if (password === undefined) {
    if (deps.clock.now() - authenticatedAt > FRESH_FOR_SECONDS * 1000) throw staleSignIn(FRESH_FOR_SECONDS)
    return
  }
  // Whoever is signed in may do this, e-mail verified or not.
  const reason = failureOf(user, await verifyOnce(user, password, deps), { ...deps, verifyEmail: false })
  if (reason === null) return
  deps.events.emit('login_failed', { reason, userId: user.id, username: user.username, sid, clientId: null }, origin)
  throw wrongPassword()
}
