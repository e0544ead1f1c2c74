/** Good and bad proofs, for each guard and each endpoint. The rows follow the FAPI 2.0 suite. */
import { forgeableKeys } from '../../support/forgeable-keys.ts'
import { proofOf, type SigningKey, signingKey } from '../resource/world.ts'
import type { SteppedClock } from '../../../lib/testing/index.ts'

interface Wanted {
  clock: SteppedClock
  /** An https URL without a port and a query. */
  url: string
  method?: string
  /** Absent: the endpoint takes no token. */
  token?: string
}

/** Proofs that a guard accepts. */
export function goodProofs(key: SigningKey, wanted: Wanted): Record<string, string> {
  const now = Math.floor(wanted.clock.now() / 1000)
  const { origin, pathname, host } = new URL(wanted.url)
  const at = (url: string) => proofOf(key, { ...wanted, url })
  return {
    usual: proofOf(key, wanted),
    'ten seconds ago': proofOf(key, wanted, { payload: { iat: now - 10 } }),
    'in ten seconds': proofOf(key, wanted, { payload: { iat: now + 10 } }),
    'the oldest iat': proofOf(key, wanted, { payload: { iat: now - 60 } }),
    'the latest iat': proofOf(key, wanted, { payload: { iat: now + 60 } }),
    'nbf and exp': proofOf(key, wanted, { payload: { nbf: now, exp: now + 60 } }),
    'unknown members': proofOf(key, wanted, { payload: { more: true }, header: { more: 1 } }),
    'a typ in capitals': proofOf(key, wanted, { header: { typ: 'DPOP+JWT' } }),
    'a host in capitals': at(`${origin.replace(host, host.toUpperCase())}${pathname}`),
    ...(/:\d+$/.test(origin) ? {} : { 'the default port': at(`${origin}:443${pathname}`) }),
    'query and fragment': at(`${origin}${pathname}?a=1#b`)
  }
}

/** Proofs that no guard and no endpoint accepts. */
export function badProofs(key: SigningKey, wanted: Wanted): Record<string, string> {
  const now = Math.floor(wanted.clock.now() / 1000)
  const { method = 'GET', token } = wanted
  const other = signingKey()
  const header = (changes: Record<string, unknown>, by = key) => proofOf(by, wanted, { header: changes })
  const payload = (changes: Record<string, unknown>) => proofOf(key, wanted, { payload: changes })
  return {
    'two proofs': `${proofOf(key, wanted)}, ${proofOf(key, wanted)}`,
    'no JWS': 'proof',
    empty: '',
    'no typ': header({ typ: undefined }),
    'another typ': header({ typ: 'JWT' }),
    'the typ of an access token': header({ typ: 'at+jwt' }),
    'alg none': header({ alg: 'none' }),
    'a symmetric alg': header({ alg: 'HS256' }),
    'another alg': header({ alg: 'RS256' }),
    'a private key': header({ jwk: key.privateKey.export({ format: 'jwk' }) }),
    'a symmetric key': header({ jwk: { kty: 'oct', k: 'c2VjcmV0' } }),
    ...Object.fromEntries(
      ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'].map((name) => [
        `a known key with the private member ${name}`,
        header({ jwk: { ...key.jwk, [name]: 'AQAB' } })
      ])
    ),
    ...Object.fromEntries(
      forgeableKeys().map(({ name, alg, jwk, signature }) => {
        const proof = proofOf(key, wanted, { header: { alg, jwk } })
        const signed = proof.slice(0, proof.lastIndexOf('.'))
        return [name, `${signed}.${signature(signed).toString('base64url')}`]
      })
    ),
    'a key that did not sign': header({ jwk: key.jwk }, other),
    'no key': header({ jwk: undefined }),
    'a critical header': header({ crit: ['b64'], b64: true }),
    'a changed signature': `${proofOf(key, wanted).slice(0, -8)}AAAAAAAA`,
    'another method': payload({ htm: method === 'PUT' ? 'POST' : 'PUT' }),
    'a method in small letters': payload({ htm: method.toLowerCase() }),
    'another path': payload({ htu: `${wanted.url}/more` }),
    'another host': payload({ htu: wanted.url.replace('//', '//evil.') }),
    'another scheme': payload({ htu: wanted.url.replace(/^http/, 'ftp') }),
    'a URL with a user': payload({ htu: wanted.url.replace('//', '//a:b@') }),
    'an hour ago': payload({ iat: now - 3600 }),
    'in an hour': payload({ iat: now + 3600 }),
    'a second too old': payload({ iat: now - 61 }),
    'a second too far ahead': payload({ iat: now + 62 }),
    'an iat of text': payload({ iat: String(now) }),
    'an expired proof': payload({ exp: now - 120 }),
    'an nbf ahead': payload({ nbf: now + 120 }),
    'a jti of 300 bytes': payload({ jti: 'x'.repeat(300) }),
    'an empty jti': payload({ jti: '' }),
    'a jti of a number': payload({ jti: 5 }),
    'a proof of 5,000 bytes': payload({ more: 'x'.repeat(5000) }),
    ...(token === undefined
      ? {}
      : {
          'no ath': payload({ ath: undefined }),
          'another ath': payload({ ath: 'x'.repeat(43) }),
          'the key of another token': header({}, other)
        }),
    ...Object.fromEntries(['jti', 'htm', 'htu', 'iat'].map((name) => [`no ${name}`, payload({ [name]: undefined })]))
  }
}
