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
 * The proof that each change of the account requires of a signed-in user without a second factor. `sign_in`: a fresh
 * sign-in. `sign_in_or_password`: a fresh sign-in, or the password, given now. `second_factor`: nothing here, because
 * the change itself asks for the current password. A user with a second factor needs a fresh sign-in with that factor
 * for each change.
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
  /** The sign-in that asks for the change. */
  sid: string
  /** The level and time of the sign-in. */
  authentication: AuthenticationContext
  /**
   * The current password, for changes that accept it. It proves the identity of a user without a second factor, even
   * if the sign-in is old. The caller must rate-limit it like a sign-in.
   */
  password?: string | undefined
  origin: Origin
}

/**
 * Checks the proof that the change requires (`PROOFS`), so that a stolen session alone can't make it. A user with a
 * second factor must have signed in with it in the last five minutes, because a password alone is not enough for them.
 * Any other user gives the proof of `PROOFS`: for most changes, a sign-in in the last five minutes, or the password. A
 * given password is checked even after a fresh sign-in, if the change accepts a password.
 * @throws OAuthError `insufficient_user_authentication` if the sign-in is too old or lacks the second factor;
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
 * Returns a function that checks if a sign-in includes the user's second factor. `null`: the user has no second factor.
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
 * Checks the password of a signed-in user. Emits `login_failed` if the password is wrong or can't be used. The caller
 * must rate-limit it like a sign-in. `user`: `null` if the user was removed.
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
  // Does not require a confirmed email, because the user is signed in already.
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

/**
 * True if the person may make the change without giving a password. Rejects if a store fails, because an outage must
 * not look like an old sign-in.
 */
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
 * The facts of a browser session for `requireProof`. A sign-in through a connection counts from its return to this
 * service. It counts from an earlier time (`freshFrom`) if the provider could have been asked to authenticate the
 * person again, but was not.
 */
export function freshnessIn({ user, session }: SignedInPerson, origin: Origin): Omit<FreshSignIn, 'password'> {
  return {
    user,
    sid: session.sid,
    authentication: freshContextOf(session),
    origin
  }
}
