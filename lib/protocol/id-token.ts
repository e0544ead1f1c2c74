import { hash } from 'node:crypto'
import { OAuthError } from '../errors.ts'
import { TOKEN_CLAIMS } from './access-token.ts'
import type { AuthenticationContext } from './authentication.ts'

/** The facts from which an ID token is made. Times are milliseconds since the epoch. */
export interface IdTokenFacts extends AuthenticationContext {
  issuer: string
  userId: string
  clientId: string
  now: number
  expiresInSeconds: number
  nonce: string | undefined
  sid: string | null
  /** For `at_hash`. */
  accessToken: string
  /** The algorithm of the ID token's signature, which also decides the hash of `at_hash`. */
  alg: string
}

/** Claims that only this service sets. Claims of the user or of the host with these names are left out. */
const REGISTERED: ReadonlySet<string> = new Set([...TOKEN_CLAIMS, 'nonce', 'azp', 'c_hash', 'events'])

/** The registered claims that our ID tokens can contain. */
export const ID_TOKEN_CLAIMS = [
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'acr',
  'amr',
  'at_hash',
  'sid'
] as const

const MAX_SUB_LENGTH = 255
const LOGOUT_TOKEN_SECONDS = 120
const BACKCHANNEL_LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/**
 * Makes the claims of an ID token. `claims` are the user's; none of them replaces a registered claim.
 * @throws OAuthError `server_error` for a user whose id is too long for a subject
 * @see OpenID Connect Core 1.0 §2, §3.1.3.6
 */
export function idTokenClaims(facts: IdTokenFacts, claims: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (facts.userId.length > MAX_SUB_LENGTH)
    throw new OAuthError('server_error', 'The user has no usable subject.', {
      detail: `a user id of more than ${MAX_SUB_LENGTH} characters`
    })
  const iat = Math.floor(facts.now / 1000)
  return {
    ...Object.fromEntries(Object.entries(claims).filter(([name]) => !REGISTERED.has(name))),
    iss: facts.issuer,
    sub: facts.userId,
    aud: facts.clientId,
    exp: iat + facts.expiresInSeconds,
    iat,
    auth_time: Math.floor(facts.authenticatedAt / 1000),
    ...(facts.nonce === undefined ? {} : { nonce: facts.nonce }),
    ...(facts.acr === null ? {} : { acr: facts.acr }),
    ...(facts.amr.length === 0 ? {} : { amr: facts.amr }),
    at_hash: accessTokenHash(facts.accessToken, facts.alg),
    ...(facts.sid === null ? {} : { sid: facts.sid })
  }
}

/**
 * `at_hash`: the left half of the hash that the signature algorithm uses. That is SHA-512 for Ed25519, and SHA-256 for
 * every other algorithm of this service.
 * @see OpenID Connect Core 1.0 §3.1.3.6, RFC 8032 §5.1
 */
export function accessTokenHash(accessToken: string, alg: string): string {
  const whole = hash(alg === 'EdDSA' ? 'sha512' : 'sha256', accessToken, 'buffer')
  return whole.subarray(0, whole.length / 2).toString('base64url')
}

/**
 * Reads the claims of an ID token that a client sent as a hint. The caller has checked its signature and its `typ`. The
 * token may have expired. `null`: the token is not an ID token of this issuer.
 * @see OpenID Connect Core 1.0 §3.1.2.1, OpenID Connect RP-Initiated Logout 1.0 §2
 */
export function checkIdTokenHint(
  payload: unknown,
  issuer: string
): { sub: string; aud: string; sid: string | undefined } | null {
  if (typeof payload !== 'object' || payload === null) return null
  const { iss, sub, aud, sid, jti } = payload as Record<string, unknown>
  // Refuses a token with `jti`: no ID token has one, but an access token may have the same `typ`.
  if (jti !== undefined) return null
  if (iss !== issuer || typeof sub !== 'string' || sub === '' || typeof aud !== 'string' || aud === '') return null
  if (sid !== undefined && typeof sid !== 'string') return null
  return { sub, aud, sid }
}

/**
 * The claims of a logout token. A logout token has no `nonce`, so that it can't pass for an ID token.
 * @see OpenID Connect Back-Channel Logout 1.0 §2.4
 */
export function logoutTokenClaims({
  issuer,
  clientId,
  userId,
  sid,
  now,
  jti
}: {
  issuer: string
  clientId: string
  userId: string
  sid: string
  now: number
  jti: string
}): Record<string, unknown> {
  const iat = Math.floor(now / 1000)
  return {
    iss: issuer,
    sub: userId,
    aud: clientId,
    iat,
    exp: iat + LOGOUT_TOKEN_SECONDS,
    jti,
    events: { [BACKCHANNEL_LOGOUT_EVENT]: {} },
    sid
  }
}
