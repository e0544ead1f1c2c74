import { isContent, isPublic, unknownOf, BY_TOKEN } from '../clients/rights.ts'
import { isActive } from '../sessions/active-user.ts'
import type { Client } from '../ports/client-store.ts'
import type { RefreshTokenFamily, RotateOutcome, TokenUse, UseOutcome } from '../ports/token-store.ts'
import type { User } from '../ports/user-store.ts'
import { readAuthorizationDetails } from '../protocol/authorization-request.ts'
import { digest } from '../protocol/digest.ts'
import {
  type Credential,
  formatCredential,
  openSuccessor,
  parseCredential,
  sealSuccessor
} from '../protocol/credential.ts'
import type { GrantContext, GrantDeps, Origin } from './deps.ts'
import { type AccessAnswer, accessAnswer } from './issue-tokens.ts'
import { type Asked, askableScopes, targetOf } from './target.ts'
import { invalidToken } from '../protocol/bearer.ts'

/**
 * A request to refresh, by `POST /auth/refresh` or the grant `refresh_token`. Each of the two has its own rules for
 * callers and its own errors.
 */
export interface RefreshAttempt {
  presented: Credential
  /** The key that the caller proved. `null`: none. A family that is bound to a key is found only with that key. */
  jkt: string | null
  origin: Origin
  /** Makes the error of the endpoint. `detail` is for the log. */
  refused: (detail: string) => Error
  /** The client, if the request authenticates it. Otherwise the family names the client. */
  client?: Client | null
}

/**
 * The minimum grace period for clients that nobody registered. The processes of such a client may share a refresh token
 * without a lock, and then replay it for up to 76 s. `POST /auth/refresh` keeps the usual period, because it learns the
 * client only from the family of an accepted token.
 */
const UNKNOWN_CLIENT_GRACE_MS = 120_000

/** The time, in milliseconds, for which a replaced refresh token of this client still works. */
export function reuseGraceOf(client: Client | null, { refreshToken }: Pick<GrantDeps, 'refreshToken'>): number {
  const { reuseGraceMs } = refreshToken
  return unknownOf(client) === null ? reuseGraceMs : Math.max(reuseGraceMs, UNKNOWN_CLIENT_GRACE_MS)
}

/** The scopes of the family that the client may still be granted. */
export function stillGrantable(family: RefreshTokenFamily, client: Client | null, deps: GrantDeps): string[] {
  const allowed = askableScopes(client, deps)
  return family.scope.split(' ').filter((scope) => allowed.includes(scope))
}

/** Makes a new access token for the family, and returns its user, who must still be active. */
export async function signForFamily(
  {
    family,
    client,
    scopes,
    asked
  }: { family: RefreshTokenFamily; client: Client | null; scopes: string[]; asked: Asked },
  attempt: RefreshAttempt,
  deps: GrantDeps
): Promise<{ user: User; access: AccessAnswer }> {
  const { resources = [] } = readAuthorizationDetails(family.authorization)
  const target = targetOf(asked, { resources }, client, deps)
  // The client's `acr` was raised after the family began. The family stays, and works again once the `acr` is lowered.
  if (!isContent(client, family.acr)) throw attempt.refused('acr')
  const user = await activeUser(family, attempt, deps)
  const { answer } = await accessAnswer(
    { user, client, jkt: attempt.jkt, scopes, sid: family.sid, authentication: family, target },
    deps
  )
  return { user, access: answer }
}

/**
 * Counts a use of the refresh token without replacing it. `clientId`: the client of the family (`null`: no client;
 * `undefined`: any). Commits the use first, in one trip to the store. A later failure costs nothing, because the token
 * stays the same.
 */
export async function commitUse(
  attempt: RefreshAttempt,
  clientId: string | null | undefined,
  deps: GrantDeps
): Promise<RefreshTokenFamily> {
  return accepted(await deps.tokens.useToken(tokenUse(attempt, clientId, deps)), attempt, deps).family
}

/** Returns the outcome of an accepted token. @throws OAuthError for an unknown or replayed one */
function accepted<Outcome extends UseOutcome | RotateOutcome>(
  outcome: Outcome,
  attempt: RefreshAttempt,
  deps: GrantDeps
): Exclude<Outcome, { outcome: 'unknown' | 'replayed' }> {
  if (outcome.outcome === 'unknown') throw attempt.refused('unknown, expired, revoked, or bound to another key')
  if (outcome.outcome === 'replayed') throw replayed(outcome.family, attempt, deps)
  return outcome as Exclude<Outcome, { outcome: 'unknown' | 'replayed' }>
}

/**
 * Replaces the refresh token by its successor, runs `work` with the family, and resolves to the new token and the
 * result of `work`. The compare-and-swap is the first step, so it takes one trip to the store. The loser of a race, or
 * a client that repeats its request within the grace period, gets the winner's successor. If `work` fails (an outage of
 * the user store, a claim that can't be made), this call gives its successor back. Once every call that got the
 * successor has given it back, the store undoes the swap. So a failure uses no token up.
 */
export async function withRotation<Result>(
  attempt: RefreshAttempt,
  clientId: string | null | undefined,
  work: (family: RefreshTokenFamily) => Promise<Result>,
  deps: GrantDeps
): Promise<{ result: Result; refreshToken: string }> {
  const { presented } = attempt
  const nextSecret = deps.accounts.random.secret()
  const next = { digest: digest(nextSecret), sealed: sealSuccessor(presented.secret, nextSecret) }
  const rotation = accepted(await deps.tokens.rotateToken(tokenUse(attempt, clientId, deps), next), attempt, deps)
  let result: Result
  try {
    result = await work(rotation.family)
  } catch (error) {
    await deps.tokens.undoRotation(rotation.undo).catch((failure: unknown) => {
      deps.accounts.onError(failure, 'a rotation whose answer could not be made was not taken back')
    })
    throw error
  }
  reportRefresh(rotation.family, true, attempt, deps)
  const secret = rotation.outcome === 'rotated' ? nextSecret : openSuccessor(presented.secret, rotation.sealed)
  return { result, refreshToken: formatCredential(presented.id, secret) }
}

export function reportRefresh(
  family: RefreshTokenFamily,
  rotated: boolean,
  { origin }: RefreshAttempt,
  deps: GrantDeps
): void {
  deps.accounts.events.emit(
    'token_refreshed',
    { userId: family.userId, sid: family.sid, clientId: family.clientId, rotated },
    origin
  )
}

/**
 * Returns the active user of a family. Ends all sign-ins of a disabled or deleted user. Ends only this family if it
 * began before the last password change.
 */
async function activeUser(
  family: RefreshTokenFamily,
  { origin, refused }: RefreshAttempt,
  deps: GrantDeps
): Promise<User> {
  const user = await deps.accounts.users.findById(family.userId)
  if (isActive(user)) {
    if (!(await deps.sessions.isOver(user, family))) return user
    await deps.sessions.revoke(user.id, family.sid, 'password_changed', origin)
    throw refused('signed in before the password was changed')
  }
  await deps.sessions.revokeAll(family.userId, 'disabled', { origin })
  throw refused('user gone or disabled')
}

function tokenUse(
  { presented, jkt, client = null }: RefreshAttempt,
  clientId: string | null | undefined,
  deps: GrantDeps
): TokenUse {
  const now = deps.accounts.clock.now()
  return {
    sid: presented.sid,
    digest: presented.digest,
    jkt,
    now,
    graceMs: reuseGraceOf(client, deps),
    idleExpiresAt: now + deps.refreshToken.idleTimeoutMs,
    ...(clientId === undefined ? {} : { clientId })
  }
}

/** Reports a replay. The store has revoked the family already. `forget` ends its access tokens in this instance. */
function replayed(family: RefreshTokenFamily, { origin, refused }: RefreshAttempt, deps: GrantDeps): Error {
  deps.sessions.forget(family.sid)
  deps.accounts.events.emit(
    'refresh_token_reused',
    { userId: family.userId, sid: family.sid, clientId: family.clientId },
    origin
  )
  return refused('replayed')
}

interface RefreshResponse {
  access_token: string
  expires_in: number
  /** Only with `rotate: 'always'`. */
  refresh_token?: string
}

/**
 * `POST /auth/refresh`: a new access token for a refresh token. This request has no place for client authentication, so
 * tokens of confidential clients are refused: the token endpoint asks for their secret.
 * @throws OAuthError `invalid_token`
 * @see RFC 6749 §6, RFC 9700 §4.14
 */
export async function refreshAccessToken(
  token: string,
  { origin }: Pick<GrantContext, 'origin'>,
  deps: GrantDeps
): Promise<RefreshResponse> {
  const presented = parseCredential(token)
  if (presented === null) throw refused('malformed')
  // This endpoint reads no DPoP proof, so it finds no family that is bound to a key.
  const attempt: RefreshAttempt = { presented, jkt: null, origin, refused }
  // Waits for the signing keys before the token is replaced, so that a failure here costs no token.
  await deps.accessTokens.ready()
  return deps.refreshToken.rotate === 'always' ? await rotate(attempt, deps) : await use(attempt, deps)
}

async function use(attempt: RefreshAttempt, deps: GrantDeps): Promise<RefreshResponse> {
  const family = await commitUse(attempt, undefined, deps)
  const access = await accessTokenFor(family, attempt, deps)
  reportRefresh(family, false, attempt, deps)
  return access
}

async function rotate(attempt: RefreshAttempt, deps: GrantDeps): Promise<RefreshResponse> {
  const { result, refreshToken } = await withRotation(
    attempt,
    undefined,
    (family) => accessTokenFor(family, attempt, deps),
    deps
  )
  return { ...result, refresh_token: refreshToken }
}

async function accessTokenFor(
  family: RefreshTokenFamily,
  attempt: RefreshAttempt,
  deps: GrantDeps
): Promise<RefreshResponse> {
  const client = family.clientId === null ? null : await deps.clients.findById(family.clientId, BY_TOKEN)
  if (family.clientId !== null && !mayRefreshHere(client)) throw refused('client')
  const {
    access: { access_token, expires_in }
  } = await signForFamily({ family, client, scopes: stillGrantable(family, client, deps), asked: {} }, attempt, deps)
  return { access_token, expires_in }
}

function mayRefreshHere(client: Client | null): boolean {
  return client !== null && isPublic(client)
}

function refused(detail: string): Error {
  return invalidToken('The refresh token is invalid, expired or revoked.', detail)
}
