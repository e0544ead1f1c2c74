import { isFirstParty } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { TokenStore } from '../ports/token-store.ts'
import type { UserStore } from '../ports/user-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { type Credential, parseCredential } from '../protocol/credential.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import { userOf } from '../sessions/active-user.ts'
import { disclosureOf } from '../tokens/disclosure.ts'
import { liveSession } from '../sessions/live-session.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface IntrospectDeps {
  issuer: string
  accessTokens: Pick<AccessTokens, 'verify'>
  sessions: Pick<Sessions, 'find' | 'isOver'>
  tokens: Pick<TokenStore, 'peekToken'>
  users: UserStore
  clients: ClientStore
  /** The option `scopes`. */
  scopes: readonly string[]
  clock: Clock
  /** How long a replaced refresh token still counts. */
  graceMs: number
}

export type Introspection = { active: false } | ActiveToken

/** What is `undefined` is not in the answer. @see RFC 7662 §2.2 */
interface ActiveToken {
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
    const refresh = parseCredential(token)
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
  const owner = claims.client_id === undefined ? null : claims.client_id === client.clientId ? client : await deps.clients.findById(claims.client_id)
  if (claims.client_id !== undefined && owner === null) return { active: false }
  const { client_id: clientId, sub, aud, iss, exp, iat, jti, auth_time: authTime, sid } = claims
  return { active: true, scope: claims.scope === undefined ? undefined : scopeNow(claims.scope, owner, deps), client_id: clientId, sub, aud, iss, exp, iat, jti, token_type: 'Bearer', auth_time: authTime, sid }
}

/**
 * A token is its client's and its audience's business. The issuer as audience stands for the host's own API, so for clients that
 * are the host's own.
 */
function mayKnow (client: Client, { client_id: owner, aud }: AccessTokenClaims, issuer: string): boolean {
  const audience = [aud].flat()
  return owner === client.clientId || audience.includes(client.clientId) || (isFirstParty(client) && audience.includes(issuer))
}

/** The part of the granted scope that this client may have today. */
function scopeNow (granted: string, client: Client | null, { scopes }: IntrospectDeps): string {
  return disclosureOf({ client, scopes: granted.split(' ') }, scopes).scopes.join(' ')
}

async function ofRefreshToken ({ sid, digest }: Credential, client: Client, deps: IntrospectDeps): Promise<Introspection> {
  const family = await deps.tokens.peekToken({ sid, digest, now: deps.clock.now(), graceMs: deps.graceMs })
  if (family === null || family.clientId !== client.clientId) return { active: false }
  if (await userOf(family, deps) === null) return { active: false }
  return {
    active: true,
    scope: scopeNow(family.scope, client, deps),
    client_id: client.clientId,
    sub: family.userId,
    iss: deps.issuer,
    exp: Math.floor(Math.min(family.expiresAt, family.idleExpiresAt) / 1000),
    auth_time: Math.floor(family.authenticatedAt / 1000),
    sid: family.sid
  }
}
