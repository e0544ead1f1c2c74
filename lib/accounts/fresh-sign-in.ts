import { OAuthError } from '../errors.ts'
import type { BrowserSession } from '../ports/session-store.ts'
import type { User } from '../ports/user-store.ts'
import { type AuthenticationContext, MFA_ACR, freshContextOf, provedSince } from '../protocol/authentication.ts'
import { staleSignIn } from '../protocol/bearer.ts'
import type { SignedInPerson } from '../sessions/browser-sessions.ts'
import type { Origin } from '../sessions/sessions.ts'
import { failureOf, verifyOnce } from './authenticate-password.ts'
import type { AccountsDeps } from './deps.ts'

/**
 * The proof that a signed-in user without a second factor gives for each change of the account. `sign_in`: a fresh
 * sign-in. `sign_in_or_password`: a fresh sign-in, or the password, given now. `second_factor`: no further proof,
 * because the change itself asks for the current password. A user with a second factor always needs a fresh sign-in
 * with it.
 */
const PROOFS = {
  password: 'second_factor',
  email: 'sign_in_or_password',
  removal: 'sign_in_or_password',
  link: 'sign_in',
  unlink: 'sign_in_or_password',
  factors: 'sign_in',
  passkeys: 'sign_in',
  apiKeys: 'sign_in',
  device: 'sign_in',
  export: 'sign_in'
} as const

export type AccountChange = keyof typeof PROOFS

/** Maximum age of a sign-in that proves the identity of the user for a change of the account. */
const FRESH_FOR_SECONDS = 300

const isFresh = (since: number, now: number): boolean => now - since <= FRESH_FOR_SECONDS * 1000

interface FreshSignIn {
  user: User
  /** The sign-in that asks. */
  sid: string
  /** The level and time of the sign-in. */
  authentication: AuthenticationContext
  /**
   * The current password, for changes that accept it. Proves the identity of a user without a second factor, however
   * old the sign-in is. The caller must rate-limit it like a sign-in.
   */
  password?: string | undefined
  origin: Origin
}

/**
 * Resolves if the user has proved their identity in the last five minutes, or proves it now, as the change requires.
 * For changes for which a stolen session must not be enough. A user with a second factor must have signed in with it,
 * because a password alone is not enough for them. If the change accepts a password and the user has no second factor,
 * checks a given password even after a fresh sign-in.
 * @throws OAuthError `insufficient_user_authentication` if the sign-in is older or lacks the second factor;
 * `invalid_grant` if the password is wrong; `temporarily_unavailable`
 * @see RFC 9470 §3
 */
export async function requireProof(
  change: AccountChange,
  { user, sid, authentication, password, origin }: FreshSignIn,
  deps: AccountsDeps
): Promise<void> {
  const proof = PROOFS[change]
  const further = await furtherProof(user, deps)
  if (further !== null) {
    if (!isFresh(authentication.authenticatedAt, deps.clock.now()) || !further(authentication))
      throw staleSignIn(FRESH_FOR_SECONDS, MFA_ACR)
    return
  }
  if (proof === 'second_factor') return
  if (password === undefined || proof === 'sign_in') {
    if (!isFresh(authentication.authenticatedAt, deps.clock.now())) throw staleSignIn(FRESH_FOR_SECONDS)
    return
  }
  await provePassword({ userId: user.id, user, sid, password, origin }, deps)
}

/**
 * Returns a function that checks if a sign-in includes the user's second factor. Changes of the account then require
 * the factor. `null`: the user has no second factor.
 */
export async function furtherProof(
  user: User,
  { slots }: Pick<AccountsDeps, 'slots'>
): Promise<((signIn: AuthenticationContext) => boolean) | null> {
  for (const { proof } of slots) {
    const further = (await proof?.(user)) ?? null
    if (further !== null) return further
  }
  return null
}

/**
 * Checks the password of a signed-in user, and emits `login_failed` for a wrong one. The caller must rate-limit it like
 * a sign-in. `user`: `null` if the user was removed.
 * @throws OAuthError `invalid_grant`; `temporarily_unavailable` if the hashing queue is full
 */
export async function provePassword(
  {
    userId,
    user,
    sid,
    password,
    origin
  }: { userId: string; user: User | null; sid: string | null; password: string; origin: Origin },
  deps: AccountsDeps
): Promise<User> {
  // Any signed-in user may do this, email verified or not.
  const reason = failureOf(user, await verifyOnce(user, password, deps), { ...deps, verifyEmail: false })
  if (user !== null && reason === null) return user
  deps.events.emit(
    'login_failed',
    {
      reason: reason ?? 'unknown_user',
      userId,
      sid,
      clientId: null,
      ...(user === null ? {} : { username: user.username })
    },
    origin
  )
  throw reason === 'no_password'
    ? wrongPassword('The account has no password. A password reset sets a first one.')
    : wrongPassword()
}

export function wrongPassword(text = 'The current password is wrong.'): OAuthError {
  return new OAuthError('invalid_grant', text, { field: 'current_password', reason: 'wrong_password' })
}

/** True if the person may make the change without a password. A failed read rejects: an outage is no stale sign-in. */
export async function mayChange(
  change: AccountChange,
  signIn: Omit<FreshSignIn, 'password'>,
  deps: AccountsDeps
): Promise<boolean> {
  try {
    await requireProof(change, signIn, deps)
    return true
  } catch (error) {
    if (error instanceof OAuthError && error.error === 'insufficient_user_authentication') return false
    throw error
  }
}

/** True if the session is recent enough to set up the first second factor. */
export function isRecentEnough(session: BrowserSession, now: number): boolean {
  return isFresh(provedSince(session), now)
}

/**
 * The facts of a browser session for `requireProof`. A sign-in through a connection counts from its arrival here. If
 * the provider could have been asked to authenticate the person again but was not, an earlier time counts
 * (`freshFrom`).
 */
export function freshnessIn({ user, session }: SignedInPerson, origin: Origin): Omit<FreshSignIn, 'password'> {
  return {
    user,
    sid: session.sid,
    authentication: freshContextOf(session),
    origin
  }
}
