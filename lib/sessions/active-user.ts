import type { User, UserStore } from '../ports/user-store.ts'
import type { Client } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { OneTimeTokenStore } from '../ports/state.ts'
import type { AuthenticationProof } from '../protocol/authentication.ts'
import { digest, partitionOf } from '../protocol/digest.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { invalidToken } from '../protocol/bearer.ts'

/** True if the user exists and the account is not disabled. */
export function isActive(user: User | null): user is User {
  return user !== null && !user.disabled
}

/** The stores that decide if a sign-in is still valid. */
interface Stores<More = unknown> {
  users: Pick<UserStore, 'findById'>
  sessions: More & { isOver(user: User, signIn: SignedIn): Promise<boolean> }
}

/** The user of a stored sign-in; `null` if the account is gone or disabled, or the sign-in is no longer valid. */
export async function userOf(signIn: SignedIn & { userId: string }, { users, sessions }: Stores): Promise<User | null> {
  const user = await users.findById(signIn.userId)
  return isActive(user) && !(await sessions.isOver(user, signIn)) ? user : null
}

/** The facts about a sign-in: a browser session, or a token family. */
export interface SignedIn {
  sid: string
  /** The browser session that a family began in. */
  sessionSid?: string | null
  authenticatedAt: number
  /** The proofs of a browser session. */
  methods?: readonly AuthenticationProof[]
}

/** How long the note of a kept sign-in is stored: longer than any sign-in lives. */
const KEPT_FOR_MS = 400 * 24 * 60 * 60 * 1000

/** Milliseconds since the epoch. `null` if the user store does not know the time of the last password change. */
export function passwordChangedAt({ passwordChangedAt: given }: User): number | null {
  if (given === undefined || given === null) return null
  return given instanceof Date ? given.getTime() : given
}

interface Deps {
  oneTimeTokens: OneTimeTokenStore
  clock: Clock
}

/**
 * Notes the sign-in that stays when the password changes, and replaces the note of an earlier change; `null`: none
 * stays.
 */
export async function keepSignIn(
  userId: string,
  signIn: Pick<SignedIn, 'sid' | 'sessionSid'> | null,
  { oneTimeTokens, clock }: Deps
): Promise<void> {
  if (signIn === null) await oneTimeTokens.discard('kept_session', userId)
  else
    await oneTimeTokens.put({
      purpose: 'kept_session',
      digest: nameOf(userId, signIn),
      userId,
      expiresAt: clock.now() + KEPT_FOR_MS
    })
}

/**
 * True if a sign-in is older than the user's present password and did not stay at the password change. The change
 * should have ended such a sign-in. This check refuses it if that failed. Asks the store only about a sign-in that is
 * older than the password.
 */
export async function isFromFormerPassword(
  user: User,
  signIn: SignedIn,
  { oneTimeTokens, clock }: Deps
): Promise<boolean> {
  const changedAt = passwordChangedAt(user)
  if (changedAt === null || signIn.authenticatedAt >= changedAt) return false
  const kept = await oneTimeTokens.find('kept_session', nameOf(user.id, signIn), clock.now())
  return kept === null || kept.userId !== user.id
}

function nameOf(userId: string, { sid, sessionSid }: Pick<SignedIn, 'sid' | 'sessionSid'>): string {
  return partitionOf(userId) + digest(`kept ${sessionSid ?? sid}`)
}

/**
 * The user and the family of an access token, read from the stores, so that a revocation or a disabled account on any
 * instance is seen at once.
 * @throws OAuthError `invalid_token`
 */
export async function liveSession(
  claims: AccessTokenClaims | null,
  { sessions, users }: Stores<{ find(sid: string): Promise<RefreshTokenFamily | null> }>
): Promise<{ user: User; family: RefreshTokenFamily }> {
  const sid = claims?.sid
  if (claims === null || sid === undefined) throw invalidToken('The token belongs to no session.')
  const family = await sessions.find(sid)
  if (family === null || family.userId !== claims.sub) throw invalidToken('The token was revoked.')
  const user = await userOf(family, { users, sessions })
  if (user === null) throw invalidToken('The token was revoked.')
  return { user, family }
}

/**
 * The user of an access token, like `liveSession`. A token that acts in the name of a user (`act`) ends with the
 * sign-in of its actor. A token that the host made has no sign-in. It ends with the account of its actor if the actor
 * is a user. `family`: `null` for a token with `act`.
 * @throws OAuthError `invalid_token`
 */
export async function liveUser(
  claims: AccessTokenClaims,
  stores: Stores<{ find(sid: string): Promise<RefreshTokenFamily | null> }>
): Promise<{ user: User; family: RefreshTokenFamily | null }> {
  const { act, sid, sub } = claims
  if (act === undefined) return await liveSession(claims, stores)
  if (sid !== undefined) await liveSession({ ...claims, sub: act.sub }, stores)
  else if (act.type === undefined && !isActive(await stores.users.findById(act.sub)))
    throw invalidToken('The token was revoked.')
  const user = await stores.users.findById(sub)
  if (!isActive(user)) throw invalidToken('The token was revoked.')
  return { user, family: null }
}

/** The sign-in of an administrator. A token with which they act in the name of a user ends with this sign-in. */
export interface ActorSignIn {
  sid: string
  client: Client | null
  /** The key that their own token is bound to. `null`: none. */
  jkt: string | null
}
