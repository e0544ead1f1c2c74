import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import type { Test } from 'tap'
import { decodeJwt } from '../../support/jwt.ts'

export type Claims = Readonly<Record<string, unknown>>
export type PublicKey = JsonWebKey & { kid?: string; alg?: string; use?: string }

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
const MINUTE = 60
const YEAR = 31_536_000

/**
 * The claims that an ID token may have without a request. @see OpenID Connect Core 1.0 §2, Back-Channel Logout 1.0 §2.1
 */
const ID_TOKEN_CLAIMS = new Set([
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'auth_time',
  'nonce',
  'acr',
  'amr',
  'azp',
  'at_hash',
  'sid'
])

const STRING_CLAIMS = [
  'sub',
  'name',
  'given_name',
  'family_name',
  'middle_name',
  'nickname',
  'preferred_username',
  'profile',
  'picture',
  'website',
  'email',
  'gender',
  'birthdate',
  'zoneinfo',
  'locale',
  'phone_number',
  'acr',
  'azp',
  'nonce',
  'at_hash',
  'sid'
]

/** Reads a key set as the suite does. */
export function readKeys(jwks: Readonly<Record<string, unknown>>): PublicKey[] {
  const keys = jwks['keys']
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('a key set without keys')
  return keys as PublicKey[]
}

/** Checks that every key is public and usable and has a unique name. */
export function checkKeys(t: Test, keys: readonly PublicKey[]): void {
  t.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length, 'each key has a kid of its own')
  for (const key of keys) {
    t.type(key.kid, 'string')
    t.strictSame(
      PRIVATE_MEMBERS.filter((member) => member in key),
      [],
      'nothing private'
    )
    t.not(key.kty, 'oct', 'no shared secret')
    t.equal(key.use, 'sig')
    t.equal(createPublicKey({ key, format: 'jwk' }).type, 'public', 'a key that works')
  }
}

/** The claims of an RS256 token whose signature a published key verifies. */
export function verifiedClaims(t: Test, token: string, keys: readonly PublicKey[], typ: string): Claims {
  const { header, claims } = decodeJwt(token)
  t.equal(header['alg'], 'RS256')
  t.equal(header['typ'], typ)
  const found = keys.filter(({ kid }) => kid === header['kid'])
  t.equal(found.length, 1, 'the kid names one key')
  const [head = '', payload = '', signature = ''] = token.split('.')
  const key = createPublicKey({ key: found[0] ?? {}, format: 'jwk' })
  t.ok(
    verify('RSA-SHA256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url')),
    "the signature is the key's"
  )
  return claims
}

export interface IdTokenExpectation {
  issuer: string
  clientId: string
  nonce: string | undefined
  now: number
  accessToken: string
}

/** Checks for every ID token. @see OpenID Connect Core 1.0 §2, §3.1.3.6, §3.1.3.7 */
export function checkIdToken(
  t: Test,
  claims: Claims,
  { issuer, clientId, nonce, now, accessToken }: IdTokenExpectation
): void {
  const seconds = Math.floor(now / 1000)
  const { iss, aud, exp, iat, auth_time: authTime, sub, at_hash: atHash } = claims
  t.equal(iss, issuer)
  t.strictSame([aud].flat(), [clientId])
  t.ok(
    Number.isInteger(exp) && Number(exp) > seconds && Number(exp) < seconds + 50 * YEAR,
    'exp is in the future, and less than 50 years away'
  )
  t.ok(Number.isInteger(iat) && Math.abs(Number(iat) - seconds) <= 5 * MINUTE, 'iat is now')
  t.ok(
    Number.isInteger(authTime) && Number(authTime) > seconds - YEAR && Number(authTime) <= seconds,
    'auth_time is a moment of the last year'
  )
  t.equal(claims['nonce'], nonce)
  t.match(sub, /^[\x20-\x7e]{1,255}$/)
  t.equal(atHash, createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url'))
  t.strictSame(
    Object.keys(claims).filter((name) => !ID_TOKEN_CLAIMS.has(name)),
    [],
    'nothing that was not asked for'
  )
  checkClaimTypes(t, claims)
}

/** @see OpenID Connect Core 1.0 §5.1 */
export function checkClaimTypes(t: Test, claims: Claims): void {
  for (const [name, value] of Object.entries(claims)) {
    if (STRING_CLAIMS.includes(name)) t.ok(typeof value === 'string' && value !== '', `${name} is a string`)
    if (name.endsWith('_verified')) t.type(value, 'boolean', name)
    if (name === 'updated_at')
      t.ok(Number.isInteger(value) && Number(value) < 1e11, 'updated_at is a number of seconds')
    if (name === 'address')
      t.ok(
        typeof value === 'object' && value !== null && Object.values(value).every((part) => typeof part === 'string'),
        'address is an object of strings'
      )
    if (name === 'amr')
      t.ok(Array.isArray(value) && value.every((one) => typeof one === 'string'), 'amr is a list of strings')
  }
}

/** Shannon entropy of the characters, as the suite measures it. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>()
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1)
  const perCharacter = [...counts.values()].reduce(
    (sum, count) => sum - (count / text.length) * Math.log2(count / text.length),
    0
  )
  return perCharacter * text.length
}
