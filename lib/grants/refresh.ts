import type { Client } from '../ports/client-store.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import type { User } from '../ports/user-store.ts'
import { invalidToken } from '../protocol/bearer.ts'
import { digest } from '../protocol/digest.ts'
import { formatRefreshToken, openSuccessor, parseRefreshToken, type PresentedRefreshToken, sealSuccessor } from '../protocol/refresh-token.ts'
import type { GrantDeps, Origin } from './deps.ts'
import { signAccessToken } from './issue-tokens.ts'

export interface RefreshResponse {
  access_token: string
  expires_in: number
  /** Only with `rotate: 'always'`. */
  refresh_token?: string
}

/**
 * `POST /auth/refresh`: a new access token for a refresh token. There is no place for client authentication in this request,
 * so tokens of confidential third-party clients are refused; they use the token endpoint.
 * @throws OAuthError `invalid_token`
 * @see RFC 6749 §6, RFC 9700 §4.14
 */
export async function refreshAccessToken (token: string, origin: Origin, deps: GrantDeps): Promise<RefreshResponse> {
  const presented = parseRefreshToken(token)
  if (presented === null) throw refused('malformed')
  return deps.refreshToken.rotate === 'always'
    ? await rotate(presented, origin, deps)
    : await use(presented, origin, deps)
}

async function use (presented: PresentedRefreshToken, origin: Origin, deps: GrantDeps): Promise<RefreshResponse> {
  const result = await deps.tokens.useToken(tokenUse(presented, deps))
  if (result.outcome === 'unknown') throw refused('unknown, expired or revoked')
  if (result.outcome === 'replayed') throw replayed(result.family, origin, deps)
  const access = await accessTokenFor(result.family, origin, deps)
  reportRefresh(result.family, false, origin, deps)
  return access
}

/**
 * Everything that can fail comes first, the compare-and-swap last: a user store that is down or a key that can't sign uses
 * no token up. Whoever loses the race, or comes back within the grace time, gets the winner's successor.
 */
async function rotate (presented: PresentedRefreshToken, origin: Origin, deps: GrantDeps): Promise<RefreshResponse> {
  const { clock, random } = deps.accounts
  const known = await deps.tokens.findFamily(presented.sid, clock.now())
  if (known === null) throw refused('unknown, expired or revoked')
  const access = await accessTokenFor(known, origin, deps)
  const nextSecret = random.secret()
  const result = await deps.tokens.rotateToken(tokenUse(presented, deps), { digest: digest(nextSecret), sealed: sealSuccessor(presented.secret, nextSecret) })
  if (result.outcome === 'unknown') throw refused('unknown, expired or revoked')
  if (result.outcome === 'replayed') throw replayed(result.family, origin, deps)
  reportRefresh(result.family, true, origin, deps)
  const secret = result.outcome === 'rotated' ? nextSecret : openSuccessor(presented.secret, result.sealed)
  return { ...access, refresh_token: formatRefreshToken(presented.familyId, secret) }
}

async function accessTokenFor (family: RefreshTokenFamily, origin: Origin, deps: GrantDeps): Promise<RefreshResponse> {
  const client = family.clientId === null ? null : await deps.clients.findById(family.clientId)
  if (family.clientId !== null && !mayRefreshHere(client)) throw refused('client')
  const user = await activeUser(family, origin, deps)
  // What may be granted can have shrunk since.
  const allowed = client?.scopes ?? deps.scopes
  const scopes = family.scope.split(' ').filter((scope) => allowed.includes(scope))
  return {
    access_token: await signAccessToken({ user, client, scopes, sid: family.sid, authenticatedAt: family.authenticatedAt }, deps),
    expires_in: deps.accessTokens.expiresInSeconds
  }
}

function mayRefreshHere (client: Client | null): boolean {
  return client !== null && (client.clientSecret === undefined || client.firstParty !== false)
}

/** A disabled or deleted user's sessions all end with the first refresh that notices. */
async function activeUser (family: RefreshTokenFamily, origin: Origin, deps: GrantDeps): Promise<User> {
  const user = await deps.accounts.users.findById(family.userId)
  if (user !== null && user.disabled !== true) return user
  await deps.sessions.revokeAll(family.userId, 'disabled', { origin })
  throw refused('user gone or disabled')
}

function tokenUse (presented: PresentedRefreshToken, deps: GrantDeps): Parameters<GrantDeps['tokens']['useToken']>[0] {
  const now = deps.accounts.clock.now()
  return { sid: presented.sid, digest: presented.digest, now, graceMs: deps.refreshToken.graceMs, idleExpiresAt: now + deps.refreshToken.idleTimeoutMs }
}

function reportRefresh (family: RefreshTokenFamily, rotated: boolean, origin: Origin, deps: GrantDeps): void {
  deps.accounts.events.emit('token_refreshed', { ...origin, userId: family.userId, sid: family.sid, clientId: family.clientId, rotated })
}

/** The store has revoked the family by now; this instance's access tokens of it follow. */
function replayed (family: RefreshTokenFamily, origin: Origin, deps: GrantDeps): Error {
  deps.sessions.forget(family.sid)
  deps.accounts.events.emit('refresh_token_reused', { ...origin, userId: family.userId, sid: family.sid, clientId: family.clientId })
  return refused('replayed')
}

function refused (detail: string): Error {
  return invalidToken('The refresh token is invalid, expired or revoked.', detail)
}
