import { isObject, objectIn } from './json.ts'
import { hash } from 'node:crypto'
import { invalidToken } from './bearer.ts'

/**
 * The actor of a token that acts in the name of its user. `sub`: the id of an administrator or, with `type`, a name
 * that the host's code or the command line gave.
 * @see RFC 8693 §4.1
 */
export interface ActClaim {
  readonly sub: string
  readonly type?: 'host' | 'cli'
}

/** The claims of an access token. @see RFC 9068 §2.2 */
export interface AccessTokenClaims {
  readonly iss: string
  readonly sub: string
  readonly aud: string | readonly string[]
  /** Seconds since the epoch. */
  readonly exp: number
  /** Seconds since the epoch. */
  readonly iat: number
  readonly jti: string
  /** Absent if the token was issued without a client. */
  readonly client_id?: string
  readonly scope?: string
  /** The refresh token family that the token belongs to. With `act`: that of the actor. */
  readonly sid?: string
  /** Seconds since the epoch. */
  readonly auth_time?: number
  /**
   * The level of the sign-in, such as `password`. Absent without a sign-in, or if no level is known.
   * @see RFC 9068 §2.2.1
   */
  readonly acr?: string
  /**
   * How the user was authenticated, such as `pwd`. Absent without a sign-in, or if no method is known. @see RFC 8176 §2
   */
  readonly amr?: readonly string[]
  /** Present if the token acts in the name of its user. */
  readonly act?: ActClaim
  readonly [claim: string]: unknown
}

export interface AccessTokenPolicy {
  issuer: string
  audience: string | readonly string[]
  /** The time by which another machine's clock may be ahead, for `iat` and `nbf`. */
  clockSkewSeconds: number
  /** The time by which another machine's clock may be behind, for `exp`. Default: 0. */
  expirySkewSeconds?: number
}

/** The fields of the JOSE header that select the key and the algorithm of the signature. */
interface TokenHeader {
  alg: string
  kid: string | undefined
}

/**
 * Claims with a fixed meaning in access tokens and ID tokens, which a host must not set by accident. Among them are
 * claims for key binding and delegation, and `at_hash`, which marks a token as an ID token.
 */
export const TOKEN_CLAIMS = [
  'sub',
  'iss',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'auth_time',
  'acr',
  'amr',
  'sid',
  'cnf',
  'sub_jwk',
  'act',
  'may_act',
  'at_hash',
  's_hash'
] as const

/** The claims of access tokens that only this service sets. */
export const ACCESS_TOKEN_CLAIMS: ReadonlySet<string> = new Set([...TOKEN_CLAIMS, 'client_id', 'scope'])

const MAX_HEADER_LENGTH = 1024
const REGISTERED_STRINGS = ['iss', 'sub', 'jti'] as const

/** The kinds of token that are read here: the allowed `typ` (RFC 7515 §4.1.9) and the name in a refusal. */
const KINDS = {
  'at+jwt': { types: ['at+jwt', 'application/at+jwt'], name: 'an access token' },
  JWT: { types: ['jwt', 'application/jwt'], name: 'an ID token' },
  /**
   * For services that give their access tokens the `typ` of ID tokens. Accepts both, because tokens from before that
   * setting may still be valid.
   */
  'at+jwt or JWT': { types: ['at+jwt', 'application/at+jwt', 'jwt', 'application/jwt'], name: 'an access token' }
} as const

/**
 * Splits a token and reads its header, before its signature is checked. The `typ` keeps one kind from passing for
 * another. If access tokens have the `typ` of ID tokens, the claims tell them apart: every access token has `jti` and
 * no ID token does, while `at_hash` is only in ID tokens.
 * @throws OAuthError `invalid_token`: not three parts, a header that is malformed or too long, another `typ`, or a
 * header that names a key or an extension
 * @see RFC 9068 §4, RFC 7515 §4.1.11, RFC 8725 §3.10 to §3.12
 */
export function parseTokenHeader(token: string, kind: keyof typeof KINDS = 'at+jwt'): TokenHeader {
  return readTokenHeader(headerPart(token), kind)
}

/** `parseTokenHeader` with a cache, because the tokens of one key have the same header. */
export function tokenHeaderReader(kind: keyof typeof KINDS = 'at+jwt'): (token: string) => TokenHeader {
  let last: { part: string; header: TokenHeader } | null = null
  return (token) => {
    const part = headerPart(token)
    // Remembers valid headers only.
    if (last?.part !== part) last = { part, header: readTokenHeader(part, kind) }
    return last.header
  }
}

function headerPart(token: string): string {
  const first = token.indexOf('.')
  const second = token.indexOf('.', first + 1)
  if (first < 1 || first > MAX_HEADER_LENGTH || second < 0 || token.indexOf('.', second + 1) >= 0)
    throw invalidToken('The token is malformed.')
  return token.slice(0, first)
}

function readTokenHeader(part: string, kind: keyof typeof KINDS): TokenHeader {
  const header = objectIn(part)
  if (header === null) throw invalidToken('The token is malformed.')
  const { alg, kid, typ } = header
  const { types, name: expected } = KINDS[kind]
  if (typeof typ !== 'string' || !types.some((type) => type === typ.toLowerCase()))
    throw invalidToken(`The token is not ${expected}.`, 'typ')
  if (typeof alg !== 'string' || (kid !== undefined && typeof kid !== 'string'))
    throw invalidToken('The token is malformed.')
  // A key or an extension that the token itself names is never trusted. Nothing is fetched.
  for (const name of ['crit', 'jwk', 'jku', 'x5u', 'x5c', 'b64', 'zip', 'enc']) {
    if (name in header) throw invalidToken('The token is malformed.', `header ${name}`)
  }
  return { alg, kid }
}

/**
 * Checks the claims that decide whether a token with a valid signature is accepted at `now` (milliseconds), and freezes
 * all claims.
 * @throws OAuthError `invalid_token`
 * @see RFC 9068 §4, RFC 8725 §3.8, §3.9
 */
export function checkAccessTokenClaims(payload: unknown, policy: AccessTokenPolicy, now: number): AccessTokenClaims {
  if (!isObject(payload)) throw invalidToken('The token is malformed.')
  for (const name of REGISTERED_STRINGS) {
    if (typeof payload[name] !== 'string' || payload[name] === '') throw invalidToken('The token lacks a claim.', name)
  }
  for (const name of ['client_id', 'scope', 'sid'] as const) {
    if (payload[name] !== undefined && typeof payload[name] !== 'string')
      throw invalidToken('The token has a malformed claim.', name)
  }
  if (payload.at_hash !== undefined) throw invalidToken('The token is not an access token.', 'at_hash')
  const { iss, aud, exp, iat, nbf } = payload
  if (iss !== policy.issuer) throw invalidToken('The token is from another issuer.', 'iss')
  if (!audienceMatches(aud, policy.audience)) throw invalidToken('The token is for another audience.', 'aud')
  if (!isTime(exp) || !isTime(iat) || (nbf !== undefined && !isTime(nbf)))
    throw invalidToken('The token has a malformed claim.', 'exp, iat or nbf')
  const seconds = now / 1000
  if (seconds >= exp + (policy.expirySkewSeconds ?? 0)) throw invalidToken('The token has expired.', 'exp')
  if (iat > seconds + policy.clockSkewSeconds || (nbf !== undefined && nbf > seconds + policy.clockSkewSeconds))
    throw invalidToken('The token is not valid yet.', 'iat or nbf')
  return deepFreeze(payload) as unknown as AccessTokenClaims
}

/** The RFC 7638 thumbprint of a public JWK. A key without a `kid` gets its thumbprint as `kid`. */
export function thumbprint(jwk: Record<string, unknown>): string {
  const members =
    jwk.kty === 'EC' ? ['crv', 'kty', 'x', 'y'] : jwk.kty === 'OKP' ? ['crv', 'kty', 'x'] : ['e', 'kty', 'n']
  return hash('sha256', JSON.stringify(Object.fromEntries(members.map((name) => [name, jwk[name]]))), 'base64url')
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const member of Object.values(value)) deepFreeze(member)
  }
  return value
}

function audienceMatches(aud: unknown, accepted: string | readonly string[]): boolean {
  const wanted = typeof accepted === 'string' ? [accepted] : accepted
  if (typeof aud === 'string') return wanted.includes(aud)
  return (
    Array.isArray(aud) &&
    aud.length > 0 &&
    aud.every((one) => typeof one === 'string') &&
    aud.some((one: string) => wanted.includes(one))
  )
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
