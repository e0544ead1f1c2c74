import { isFirstParty, BY_TOKEN } from '../clients/rights.ts'
import { OAuthError } from '../errors.ts'
import type { Client } from '../ports/client-store.ts'
import type { AccessTokenClaims, ActClaim } from '../protocol/access-token.ts'
import { type Credential, parseCredential } from '../protocol/credential.ts'
import { liveUser, userOf } from '../sessions/active-user.ts'
import { disclosureOf, releasedClaims } from '../tokens/disclosure.ts'
import type { GrantDeps } from './deps.ts'
import { readAuthorizationDetails } from '../protocol/authorization-request.ts'
import { invalidToken } from '../protocol/bearer.ts'
import { boundKey } from '../protocol/dpop.ts'
import { tokenTypeOf } from './issue-tokens.ts'
import { reuseGraceOf } from './refresh-family.ts'
import { isAudience, type Targets } from './target.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import type { Origin, Sessions } from '../sessions/sessions.ts'

export type Introspection = { active: false } | ActiveToken

/** Members that are `undefined` are left out of the answer. @see RFC 7662 §2.2 */
interface ActiveToken {
  active: true
  scope: string | undefined
  client_id: string | undefined
  sub: string
  iss: string
  /** Seconds since the epoch, like the other times. */
  exp: number
  auth_time: number | undefined
  /** The level of the sign-in, as the access token or the family states it. @see RFC 9470 §6.2 */
  acr: string | undefined
  amr: readonly string[] | undefined
  sid: string | undefined
  /** The key that the token is bound to. @see RFC 9449 §6.2 */
  cnf?: { jkt: string } | undefined
  /** The actor of a token that acts in the name of its user. @see RFC 8693 §4.1 */
  act?: ActClaim | undefined
  /**
   * Only access tokens have `aud` and the members below. A refresh token is for this server only, and the store does
   * not know when it was made.
   */
  aud?: string | readonly string[]
  iat?: number
  jti?: string
  /** Only an access token can be used as a Bearer token. */
  token_type?: 'Bearer' | 'DPoP'
}

/**
 * Describes a token for an authenticated client, as the stores have it now. The only claims in the answer are `sub` and
 * those about the sign-in. Introspection does not count as a use. An invalid token and a token that the client may not
 * ask about both get `active: false`.
 * @see RFC 7662 §2.2, §4
 */
export async function introspect(token: string, client: Client, deps: GrantDeps): Promise<Introspection> {
  try {
    const refresh = parseCredential(token)
    return refresh === null ? await ofAccessToken(token, client, deps) : await ofRefreshToken(refresh, client, deps)
  } catch (error) {
    if (error instanceof OAuthError && error.error === 'invalid_token') return { active: false }
    throw error
  }
}

async function ofAccessToken(token: string, client: Client, deps: GrantDeps): Promise<Introspection> {
  const claims = await deps.accessTokens.verify(token, 'any')
  if (!mayKnow(client, claims, deps)) return { active: false }
  // A client's own token belongs to no sign-in. Any other token ends with its sign-in, or with that of its actor.
  if (claims.sid !== undefined || claims.sub !== claims.client_id)
    await liveUser(claims, { sessions: deps.sessions, users: deps.accounts.users })
  const owner =
    claims.client_id === undefined
      ? null
      : claims.client_id === client.clientId
        ? client
        : await deps.clients.findById(claims.client_id, BY_TOKEN)
  if (claims.client_id !== undefined && owner === null) return { active: false }
  const { client_id: clientId, sub, aud, iss, exp, iat, jti, auth_time: authTime, acr, amr, sid, act } = claims
  const jkt = boundKey(claims)
  return {
    active: true,
    scope: claims.scope === undefined ? undefined : scopeNow(claims.scope, owner, deps),
    client_id: clientId,
    sub,
    aud,
    iss,
    exp,
    iat,
    jti,
    token_type: tokenTypeOf(jkt),
    auth_time: authTime,
    acr,
    amr,
    sid,
    act,
    ...(jkt === null ? {} : { cnf: { jkt } })
  }
}

/**
 * True if the client may ask about the token. A client may ask about its own tokens and about those with its id in the
 * audience. Any first-party client may ask about tokens with the issuer in the audience. A client with `introspects`
 * may ask only about tokens for those APIs.
 */
function mayKnow(client: Client, { client_id: owner, aud }: AccessTokenClaims, targets: Targets): boolean {
  const audience = [aud].flat()
  if (client.introspects !== undefined) return isAudience(client.introspects, audience, targets)
  const { issuer } = targets
  return (
    owner === client.clientId ||
    audience.includes(client.clientId) ||
    (isFirstParty(client) && audience.includes(issuer))
  )
}

/** The part of the granted scope that this client may have today. */
function scopeNow(granted: string, client: Client | null, { scopes }: GrantDeps): string {
  return disclosureOf({ client, scopes: granted.split(' ') }, scopes).scopes.join(' ')
}

async function ofRefreshToken({ sid, digest }: Credential, client: Client, deps: GrantDeps): Promise<Introspection> {
  const {
    accounts: { clock, issuer, users },
    sessions
  } = deps
  const family = await deps.tokens.peekToken({ sid, digest, now: clock.now(), graceMs: reuseGraceOf(client, deps) })
  if (family === null || family.clientId !== client.clientId || client.introspects !== undefined)
    return { active: false }
  if ((await userOf(family, { users, sessions })) === null) return { active: false }
  return {
    active: true,
    scope: scopeNow(family.scope, client, deps),
    client_id: client.clientId,
    sub: family.userId,
    iss: issuer,
    exp: Math.floor(Math.min(family.expiresAt, family.idleExpiresAt) / 1000),
    auth_time: Math.floor(family.authenticatedAt / 1000),
    acr: family.acr ?? undefined,
    amr: family.amr.length === 0 ? undefined : family.amr,
    sid: family.sid
  }
}

/**
 * The claims about the user of a verified access token: `sub`, and the claims that its scopes and the `claims`
 * parameter of its authorization request ask for. Reads the session and the user from the stores, so that a revocation
 * on any instance takes effect at once. The caller must have checked that the token has the scope `openid`, which a
 * client's own token never has.
 * @throws OAuthError `invalid_token`
 * @see OpenID Connect Core 1.0 §5.3
 */
export async function userInfo(
  claims: AccessTokenClaims,
  { accounts: { users }, sessions, clients, claims: hostClaims, scopes: knownScopes }: GrantDeps
): Promise<Record<string, unknown>> {
  const scopes = claims.scope?.split(' ') ?? []
  const { user, family } = await liveUser(claims, { sessions, users })
  const clientId = family === null ? (claims.client_id ?? null) : family.clientId
  const client = clientId === null ? null : await clients.findById(clientId, BY_TOKEN)
  // The registration of the client decides which claims the token releases.
  if (clientId !== null && client === null) throw invalidToken('The token was revoked.', 'its client is gone')
  const details = family?.authorization ?? null
  const requested = details === null ? undefined : readAuthorizationDetails(details).claims
  return {
    ...(await releasedClaims(
      { user, client, scopes, use: 'userinfo', claims: requested },
      { claims: hostClaims, scopes: knownScopes }
    )),
    sub: user.id
  }
}

/**
 * Ends the family of a refresh or access token, with all its refresh and access tokens. Accepts any refresh token of
 * the family, also a replaced one. Only a holder of such a token knows the id of the family, and the store keeps no
 * digest with which it could tell an older token from a forged secret. An attacker who knows only the id could end the
 * family at the refresh endpoint as well, where the same request counts as a replay.
 * @throws OAuthError `invalid_token` if the token is unknown, malformed, expired or revoked; the endpoint answers 200
 * then
 * @throws OAuthError `unauthorized_client` if the token belongs to another client; the token stays valid
 * @throws OAuthError `invalid_request` for an access token without a session of its own. Nothing ends a client's own
 * token before it expires. A token that acts in the name of a user ends with the sign-in or account of its actor.
 * @see RFC 7009 §2.1, §2.2
 */
export async function revokeToken(
  token: string,
  client: Client | null,
  origin: Origin,
  { sessions, accessTokens }: { sessions: Sessions; accessTokens: AccessTokens }
): Promise<void> {
  const refresh = parseCredential(token)
  const claims = refresh === null ? await accessTokens.verify(token, 'any') : null
  if (claims !== null && (claims.sid === undefined || claims.act !== undefined)) {
    checkOwner(claims.client_id ?? null, client)
    // The token stays valid, so a 200 would be wrong. The error unsupported_token_type (RFC 7009 §2.2.1) is about a
    // whole kind of tokens.
    throw new OAuthError(
      'invalid_request',
      'This access token belongs to no session of its user and can not be revoked; it ends when it expires.'
    )
  }
  const family = await sessions.find(refresh?.sid ?? claims?.sid ?? '')
  if (family === null || (claims !== null && claims.sub !== family.userId)) throw invalidToken('The token is unknown.')
  checkOwner(family.clientId, client)
  await sessions.revoke(family.userId, family.sid, 'user', origin)
}

/**
 * Throws if the token belongs to another client. A caller without a client owns the tokens that were issued without
 * one. RFC 7009 §2.1 asks for an error and names none. `unauthorized_client` fits, because token and credentials are
 * good and this client may not do this. `invalid_grant` would say that the token is bad, and a client library would
 * take that for a successful sign-out.
 */
function checkOwner(owner: string | null, client: Client | null): void {
  if (owner !== (client?.clientId ?? null))
    throw new OAuthError('unauthorized_client', 'The token was not issued to this client.')
}
