import { isContent, isPublic, unknownOf, BY_TOKEN } from '../clients/rights.ts'
import { isActive } from '../sessions/active-user.ts'
import type { Client } from '../ports/client-store.ts'
import type { RefreshTokenFamily, TokenUse } from '../ports/token-store.ts'
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
 * The common part of both ways of refreshing: `POST /auth/refresh` and the grant `refresh_token`. Each has its own
 * rules for callers and its own refusals.
 */
export interface RefreshAttempt {
  presented: Credential
  /** The key that the caller proved. A family that is bound to a key is found with that key alone. `null`: none. */
  jkt: string | null
  origin: Origin
  /** The refusal of that endpoint; `detail` is for the log. */
  refused: (detail: string) => Error
  /** The client, where it is known before the family. */
  client?: Client | null
}

/**
 * For clients that nobody registered: their processes share a refresh token without a lock, and replay it for up to
 * 76 s.
 */
const UNKNOWN_CLIENT_GRACE_MS = 120_000

/** The time for which a replaced token of this client still counts. */
export function reuseGraceOf(client: Client | null, { refreshToken }: Pick<GrantDeps, 'refreshToken'>): number {
  const { reuseGraceMs } = refreshToken
  return unknownOf(client) === null ? reuseGraceMs : Math.max(reuseGraceMs, UNKNOWN_CLIENT_GRACE_MS)
}

/** The granted scope of the family that is still allowed. */
export function stillGrantable(family: RefreshTokenFamily, client: Client | null, deps: GrantDeps): string[] {
  const allowed = askableScopes(client, deps)
  return family.scope.split(' ').filter((scope) => allowed.includes(scope))
}

/** A new access token of the family, and its user, who must still be active. */
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
  // The client required less when the family began. The family works again once the client requires no more than
  // before.
  if (!isContent(client, family.acr)) throw attempt.refused('acr')
  const user = await activeUser(family, attempt, deps)
  const { answer } = await accessAnswer(
    { user, client, jkt: attempt.jkt, scopes, sid: family.sid, authentication: family, target },
    deps
  )
  return { user, access: answer }
}

/**
 * Uses the token without replacing it. `clientId`: the client whose family it must be; absent, any client's. The use is
 * committed first, in one trip to the store. A failure after it costs nothing, because the token stays the same.
 */
export async function commitUse(
  attempt: RefreshAttempt,
  clientId: string | null | undefined,
  deps: GrantDeps
): Promise<RefreshTokenFamily> {
  const result = await deps.tokens.useToken(tokenUse(attempt, clientId, deps))
  if (result.outcome === 'unknown') throw attempt.refused('unknown, expired, revoked, or bound to another key')
  if (result.outcome === 'replayed') throw replayed(result.family, attempt, deps)
  return result.family
}

/**
 * Replaces the token by its successor, runs `work` with the family, and resolves to both results. The compare-and-swap
 * is the first step, so it takes one trip to the store. The loser of a race, or a client that comes back within the
 * grace time, gets the winner's successor. If `work` fails (an outage of the user store, a claim that can't be made),
 * the successor is given back, and once every call that got it has done so the swap is undone. So a failure uses no
 * token up.
 */
export async function withRotation<Result>(
  attempt: RefreshAttempt,
  clientId: string | null | undefined,
  work: (family: RefreshTokenFamily) => Promise<Result>,
  deps: GrantDeps
): Promise<{ result: Result; refreshToken: string }> {
  const { presented } = attempt
  const nextSecret = deps.accounts.random.secret()
  const rotation = await deps.tokens.rotateToken(tokenUse(attempt, clientId, deps), {
    digest: digest(nextSecret),
    sealed: sealSuccessor(presented.secret, nextSecret)
  })
  if (rotation.outcome === 'unknown') throw attempt.refused('unknown, expired, revoked, or bound to another key')
  if (rotation.outcome === 'replayed') throw replayed(rotation.family, attempt, deps)
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
 * The active user of a family. All sessions of a disabled or deleted user end at the first refresh that sees it. A
 * family from before the present password ends alone.
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

/** The store has revoked the family already. This ends its access tokens in this instance. */
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
  // The request can contain no DPoP proof.
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
