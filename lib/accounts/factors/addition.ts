import { OAuthError } from '../../errors.ts'
import { isActive } from '../../sessions/active-user.ts'
import type { Origin } from '../../sessions/sessions.ts'
import type { Enroller, PasskeyDeps } from './passkeys.ts'

/**
 * Stores a factor. The first one of a user ends all their other sign-ins, before it is stored and after: whoever got in by the password alone
 * is out.
 */
export async function endingOthers<Stored> ({ isFirst, userId, sid, origin }: { isFirst: boolean, userId: string, sid: string | null, origin: Origin }, store: () => Promise<Stored>, deps: Pick<PasskeyDeps, 'sessions' | 'background' | 'onError'>): Promise<Stored> {
  if (!isFirst) return await store()
  const endOthers = async (): Promise<void> => { await deps.sessions.revokeAll(userId, 'factors_changed', { exceptSid: sid ?? undefined, origin }) }
  await endOthers()
  const stored = await store()
  // Once more, for a sign-in by the password alone that began in between. Where it fails it is done again behind the reply, which must go out:
  // the recovery codes are shown in it and never again.
  const what = 'the other sign-ins of somebody who added a second factor could not be ended'
  await endOthers().catch((error: unknown) => {
    deps.onError(error, what)
    deps.background.run(`factors ${userId}`, what, endOthers)
  })
  return stored
}

/**
 * Removes the factor again unless it is the user's only one. Of several that were stored at once as the first, at most one stays: somebody who
 * knows the password alone must not add a factor beside the owner's.
 * @throws OAuthError `invalid_token` where it was removed
 */
export async function withdrawUnlessFirst (userId: string, factorId: string, { factors: { store } }: Pick<PasskeyDeps, 'factors'>): Promise<void> {
  const { totp, passkeys } = await store.findFactors(userId)
  const [first, ...others] = [totp[0], passkeys[0]].filter((factor) => factor !== undefined)
  if (first?.id === factorId && others.length === 0) return
  await store.removeFactor({ userId, factorId, keepOne: false })
  throw new OAuthError('invalid_token', 'Another factor was added meanwhile. Begin again.', { statusCode: 400 })
}

/**
 * Takes a factor back whose owner is not signed in any more, or has another password than the first factor was: what ended that in the moment
 * between the look at it and the commit (a reset, say) could not end this factor, by which a thief might come back.
 * @throws OAuthError `login_required`; then it is gone again
 */
export async function withdrawUnlessSignedIn ({ user, sid }: Enroller, factorId: string, { users, sessions, factors: { store } }: Pick<PasskeyDeps, 'users' | 'sessions' | 'factors'>): Promise<void> {
  const now = await users.findById(user.id)
  if (isActive(now) && (sid === null ? now.passwordHash === user.passwordHash : await sessions.isAlive(user.id, sid))) return
  await store.removeFactor({ userId: user.id, factorId, keepOne: false })
  throw new OAuthError('login_required', 'The sign-in has ended meanwhile. Sign in again.', { statusCode: 401 })
}
