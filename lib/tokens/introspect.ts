import { OAuthError } from '../errors.ts'
import type { Client } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { TokenStore } from '../ports/token-store.ts'
import type { UserStore } from '../ports/user-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { parseRefreshToken, type PresentedRefreshToken } from '../protocol/refresh-token.ts'
import type { AccessTokens } from './access-tokens.ts'
import { isActive } from './active-user.ts'
import { liveSession } from './live-session.ts'
import type { Sessions } from './sessions.ts'

export interface IntrospectDeps {
  issuer: string
  accessTokens: Pick<AccessTokens, 'verify'>
  sessions: Pick<Sessions, 'find'>
  tokens: Pick<TokenStore, 'peekToken'>
  users: UserStore
  clock: Clock
  /** How long a replaced refresh token still counts. */
  graceMs: number
}

export type Introspection = { active: false } | ActiveToken

/** What is `undefined` is not in the answer. @see RFC 7662 §2.2 */
export interface ActiveToken {
  active: true
  scope: string | undefined
  client_id: string | undefined
  sub: string
  iss: string
  /** Seconds since the epoch, like the other times. */
  exp: number
  auth_time: number | undefined
  sid: string | undefined
  /** The rest is of access tokens only: a refresh token has no audience but us, and its family does not know when it was made. */
  aud?: string | readonly string[]
  iat?: number
  jti?: string
  /** Nothing else can be used as one. */
  token_type?: 'Bearer'
}

/**
 * What a token is worth now, by the stores, for a client that has proved who it is. No claim about the person is in it, and nothing
 * counts as a use. Whatever is wrong with a token, one that this client has no business with too, is the same `active: false`.
 * @see RFC 7662 §2.2, §4
 */
export async function introspect (token: string, client: Client, deps: IntrospectDeps): Promise<Introspection> {
  try {
    const refresh = parseRefreshToken(token)
    return refresh === null ? await ofAccessToken(token, client, deps) : await ofRefreshToken(refresh, client, deps)
  } catch (error) {
    if (error instanceof OAuthError && error.error === 'invalid_token') return { active: false }
    throw error
  }
}

async function ofAccessToken (token: string, client: Client, deps: IntrospectDeps): Promise<Introspection> {
  const claims = await deps.accessTokens.verify(token)
  if (!mayKnow(client, claims, deps.issuer)) return { active: false }
  // A client's own token belongs to no session; every other is worth what its session is.
  if (claims.sid !== undefined || claims.sub !== claims.client_id) await liveSession(claims, deps)
  const { scope, client_id: clientId, sub, aud, iss, exp, iat, jti, auth_time: authTime, sid } = claims
  return { active: true, scope, client_id: clientId, sub, aud, iss, exp, iat, jti, token_type: 'Bearer', auth_time: authTime, sid }
}

/**
 * A token is its client's and its audience's business. The issuer as audience stands for the host's own API, so for clients that
 * are the host's own.
 */
function mayKnow ({ clientId, firstParty = true }: Client, { client_id: owner, aud }: AccessTokenClaims, issuer: string): boolean {
  const audience = [aud].flat()
  return owner === clientId || audience.includes(clientId) || (firstParty && audience.includes(issuer))
}

async function ofRefreshToken ({ sid, digest }: PresentedRefreshToken, client: Client, deps: IntrospectDeps): Promise<Introspection> {
  const family = await deps.tokens.peekToken({ sid, digest, now: deps.clock.now(), graceMs: deps.graceMs })
  if (family === null || family.clientId !== client.clientId || !isActive(await deps.users.findById(family.userId))) return { active: false }
  return {
    active: true,
    scope: family.scope,
    client_id: client.clientId,
    sub: family.userId,
    iss: deps.issuer,
    exp: Math.floor(Math.min(family.expiresAt, family.idleExpiresAt) / 1000),
    auth_time: Math.floor(family.authenticatedAt / 1000),
    sid: family.sid
  }
}
