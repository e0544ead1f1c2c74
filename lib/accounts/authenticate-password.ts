import { OAuthError } from '../errors.ts'
import type { LoginFailure } from '../events.ts'
import type { UserFactors } from '../ports/factor-store.ts'
import type { HashMatch } from '../ports/cryptography.ts'
import type { User } from '../ports/user-store.ts'
import type { Origin } from '../sessions/sessions.ts'
import type { AccountsDeps } from './deps.ts'
import { normalizeUsername } from './username.ts'
import { factorsOf, ownerConnection } from './ways-in.ts'

interface PasswordSignIn {
  username: string
  password: string
  /** `null`: a caller without a client. */
  clientId: string | null
  origin: Origin
  /** The user of this name, if the caller has just read them. */
  known?: User | null
}

/** Hashed instead of a password that is too long or not valid Unicode. */
const STAND_IN = 'a password that does not fit'

/**
 * Returns the user whom this username and password authenticate. Every refusal (unknown name, wrong password, disabled
 * account, no password, impossible password) runs one hash and has the same error, so that neither the error nor its
 * time reveals the cause. Only a correct password for an unverified email gets an error with a reason. The caller may
 * commit tokens afterwards, but must call `confirmAuthentic` before it hands them out.
 * @throws OAuthError `invalid_grant`; `temporarily_unavailable` if the hashing queue is full
 */
export async function authenticatePassword(signIn: PasswordSignIn, deps: AccountsDeps): Promise<User> {
  const { user } = await proveByPassword(signIn, { ...deps, slots: [] })
  return user
}

/**
 * Like `authenticatePassword`, but also returns the user's second factors (`null`: the feature is off). Reads them
 * while the hash runs, and for an unknown username too, so that neither the time nor an outage of the store reveals
 * which users exist.
 */
export async function proveByPassword(
  { username, password, clientId, origin, known = null }: PasswordSignIn,
  deps: AccountsDeps
): Promise<{ user: User; factors: UserFactors | null }> {
  const name = normalizeUsername(username)
  const user = name === null ? null : (known ?? (await deps.users.findByUsername(name)))
  const [verdict, factors] = await Promise.all([
    verifyOnce(user, password, deps),
    factorsOf({ id: user?.id ?? deps.random.id() }, deps)
  ])
  const reason = failureOf(user, verdict, deps)
  if (user === null || reason !== null) {
    // The event does not contain an unknown name, because people type their password into the wrong field.
    deps.events.emit(
      'login_failed',
      {
        reason: reason ?? 'unknown_user',
        sid: null,
        clientId,
        ...(user === null ? {} : { userId: user.id, username: user.username })
      },
      origin
    )
    // Reveals an unverified email only to a person who knows the password.
    if (reason === 'email_not_verified')
      throw new OAuthError('invalid_grant', 'The email address is not confirmed yet.', { reason })
    throw new OAuthError('invalid_grant', 'The username or password is wrong.')
  }
  // After `match_of_a_part` the old hash stays: it covers only a part of the typed password. The rest may be a typo.
  if (verdict === 'match') replaceOldHash(user, password, deps)
  return { user, factors }
}

/**
 * Reads the user again and returns them if the sign-in still holds. Call it after the commit of the session or the
 * tokens. If it returns `null` (and emits `login_failed`) or rejects, revoke the session or the tokens and do not hand
 * them out.
 *
 * A password change stores the new hash and then revokes the user's sessions and tokens. Those that were committed
 * before this revocation end with it. For later ones, this function reads the new hash, which the old password does not
 * match. So in either order nothing remains that the old password opened. Disabling an account works in the same order.
 * A changed hash alone is no failure: if a parallel sign-in only replaced a hash of an old format, the new hash still
 * matches the password.
 */
export async function confirmAuthentic(
  user: User,
  password: string,
  deps: AccountsDeps,
  { clientId, origin }: Pick<PasswordSignIn, 'clientId' | 'origin'>
): Promise<User | null> {
  const now = await deps.users.findById(user.id)
  const unchanged = now !== null && (now.passwordHash ?? null) === user.passwordHash
  const verdict = unchanged ? 'match' : await verifyOnce(now, password, deps)
  if (now === null || failureOf(now, verdict, deps) !== null) {
    deps.events.emit(
      'login_failed',
      { reason: 'changed_meanwhile', userId: user.id, username: user.username, sid: null, clientId },
      origin
    )
    return null
  }
  return now
}

type Verdict = HashMatch | 'unusable'

/** Runs exactly one hash for any user: a decoy if the user has no usable hash or the password can't be hashed. */
export async function verifyOnce(
  user: User | null,
  password: string,
  { hashing, policy }: Pick<AccountsDeps, 'hashing' | 'policy'>
): Promise<Verdict> {
  if (policy.fits(password)) return await hashing.verify(user?.passwordHash ?? null, password)
  await hashing.verify(null, STAND_IN)
  return 'no_match'
}

/**
 * Returns the reason why this user can't sign in after this verdict on their password. A verdict of `null` stands for a
 * sign-in without a password. `null`: the user can sign in.
 */
export function failureOf(
  user: User | null,
  verdict: Verdict | null,
  { verifyEmail, connections }: Pick<AccountsDeps, 'verifyEmail' | 'connections'>
): LoginFailure | null {
  if (user === null) return 'unknown_user'
  if (user.disabled) return 'disabled'
  if (ownerConnection(user, { connections }) !== null) return 'connection_only'
  if (verdict !== null && (user.passwordHash ?? null) === null) return 'no_password'
  if (verdict === 'unusable') return 'unusable_hash'
  if (verdict === 'no_match') return 'wrong_password'
  return verifyEmail && user.emailVerified !== true ? 'email_not_verified' : null
}

const rehashOf = (userId: string): string => `rehash ${userId}`

/**
 * Returns the user with their final password hash. If a sign-in is replacing a hash of an old format at the moment,
 * waits for that and reads the user again, because the caller binds a value to the hash.
 */
export async function onceRehashed(
  user: User | null,
  { users, hashing, background }: Pick<AccountsDeps, 'users' | 'hashing' | 'background'>
): Promise<User | null> {
  const { passwordHash = null } = user ?? {}
  if (
    user === null ||
    passwordHash === null ||
    users.setPasswordHash === undefined ||
    !hashing.needsRehash(passwordHash)
  )
    return user
  await background.done(rehashOf(user.id))
  return await users.findById(user.id)
}

/**
 * Replaces a hash of an old format, cost or pepper in the background, so that the sign-in does not wait for it. The
 * store compares the old hash before the write: a sign-in from before a password change must not restore the old
 * password.
 */
function replaceOldHash(user: User, password: string, deps: AccountsDeps): void {
  const { users, hashing } = deps
  const { id, passwordHash } = user
  if (passwordHash === null || users.setPasswordHash === undefined || !hashing.needsRehash(passwordHash)) return
  deps.background.run(rehashOf(id), 'a password hash could not be replaced', async () => {
    try {
      const next = await hashing.hash(password)
      // If the store returns `false`, another request has replaced the hash. Its hash is newer, and stays.
      await users.setPasswordHash?.(id, next, passwordHash)
    } catch (error) {
      // A full hashing queue is left to the users who wait for a reply. The next sign-in tries again.
      if (!(error instanceof OAuthError && error.error === 'temporarily_unavailable')) throw error
    }
  })
}
