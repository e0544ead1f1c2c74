/** Proofs of possession of a key. @see RFC 9449 */
import { MAX_JTI_BYTES } from './bounds.ts'
import { isObject } from './json.ts'
import { hash } from 'node:crypto'
import { OAuthError } from '../errors.ts'
import { thumbprint } from './access-token.ts'
import { invalidToken, type SentToken } from './bearer.ts'
import { hasPrivateMembers, isJwsAlg, isSignedBy, JWS_ALGS, parseJws, type PublicKey, publicKeyOf } from './jws.ts'

/** The signature algorithms that metadata and challenges list for proofs. */
export const DPOP_ALGS: readonly string[] = JWS_ALGS

const MAX_PROOF_LENGTH = 4096
/** The number of recently used keys to keep, so that a proof with a known key needs no key import. */
const KEPT_KEYS = 1000

/** The request that a proof must be made for. */
interface ProvenRequest {
  /** The header `DPoP`. Node.js joins several values into one string. */
  header: string | readonly string[] | undefined
  method: string
  /** The URL from the configuration, never from the header `Host`. */
  url: string
  /** The access token that the request sends. `null` at an endpoint that takes no access token. */
  accessToken: string | null
  /** Milliseconds since the epoch. */
  now: number
}

/**
 * A valid proof. Its use is not recorded yet. The caller must refuse the proof if its `replayKey` was used before, and
 * must remember the `replayKey` until `replayUntil`.
 */
export interface Proof {
  /** The thumbprint of the key. @see RFC 7638 */
  jkt: string
  /** A digest of the key, the method and URL of the request, and the proof's `jti`. */
  replayKey: string
  /** The time from which the proof is refused anyway, in milliseconds since the epoch. */
  replayUntil: number
  /** The nonce for the next proof. `null`: this proof has the newest nonce, or nonces are off. */
  nextNonce: string | null
}

/** Nonces that the server gives out, so that its clock alone decides on the age of a proof. @see RFC 9449 §8 */
export interface Nonces {
  newest(now: number): string
  /**
   * The time at which the nonce ends, in milliseconds since the epoch. `null`: the nonce has ended, or this service did
   * not make it.
   */
  goodUntil(nonce: unknown, now: number): number | null
}

/**
 * Makes a function that reads the proof of a request. The function returns `null` for a request without a proof. For a
 * refused proof, it throws an OAuthError `invalid_dpop_proof` or `use_dpop_nonce`.
 * @param maxAgeSeconds the maximum difference of `iat` from now if nonces are off; also the leeway for `nbf` and `exp`
 * @param nonces every proof must contain one of these. `null`: proofs need no nonce
 */
export function proofReader(
  maxAgeSeconds: number,
  nonces: Nonces | null = null
): (request: ProvenRequest) => Proof | null {
  const keys = new Map<string, PublicKey>()

  /** The key with this thumbprint and algorithm. `name` contains both, because an RSA key can have two algorithms. */
  function keyOf(jwk: Record<string, unknown>, name: string, alg: (typeof JWS_ALGS)[number]): PublicKey | null {
    const known = keys.get(name)
    keys.delete(name)
    const key = known ?? publicKeyOf(jwk, alg)
    if (key === null) return null
    keys.set(name, key)
    for (const oldest of keys.keys()) {
      if (keys.size <= KEPT_KEYS) break
      keys.delete(oldest)
    }
    return key
  }

  return ({ header: sent, method, url, accessToken, now }) => {
    if (sent === undefined) return null
    if (typeof sent !== 'string' || sent.length > MAX_PROOF_LENGTH) throw refused('The proof is malformed.', 'size')
    const jws = parseJws(sent)
    if (jws === null) throw refused('The proof is malformed, or there are two.', 'no JWS')
    const { header, payload } = jws
    const { typ, alg: named, jwk } = header
    // RFC 9864 calls EdDSA on the curve Ed25519 `Ed25519`, and newer libraries send that name.
    const alg = named === 'Ed25519' ? 'EdDSA' : named
    if (typeof typ !== 'string' || typ.toLowerCase() !== 'dpop+jwt') throw refused('The proof has another typ.', 'typ')
    if (!isJwsAlg(alg)) throw refused(`The proof must be signed with ${JWS_ALGS.join(', ')}.`, 'alg')
    if ('crit' in header || typeof jwk !== 'object' || jwk === null) throw refused('The proof lacks its key.', 'jwk')
    checkClaims(payload, { method, url, accessToken })
    checkPeriod(payload, maxAgeSeconds, now)
    const replayUntil = nonces === null ? checkAge(payload, maxAgeSeconds, now) : checkNonce(payload, nonces, now)
    // Refuses private members here, because the thumbprint ignores them: a known key would be found without the check
    // in `publicKeyOf`.
    const members = jwk as Record<string, unknown>
    const jkt = thumbprint(members)
    const key = hasPrivateMembers(members) ? null : keyOf(members, `${alg} ${jkt}`, alg)
    if (key === null) throw refused('The key of the proof can not be used.', 'jwk')
    if (!isSignedBy(jws, key, alg)) throw refused('The signature of the proof is not valid.', 'signature')
    const jti = String(payload['jti'])
    return {
      jkt,
      replayKey: hash('sha256', ['dpop', jkt, method, canonicalUrl(url), jti].join('\0'), 'base64url'),
      replayUntil,
      nextNonce: nonces === null || payload['nonce'] === nonces.newest(now) ? null : nonces.newest(now)
    }
  }
}

/** The thumbprint of the key that a token is bound to. `null` for a token without such a key. @see RFC 9449 §6.1 */
export function boundKey(claims: Readonly<Record<string, unknown>>): string | null {
  const { cnf } = claims
  const jkt = isObject(cnf) ? cnf['jkt'] : undefined
  return typeof jkt === 'string' ? jkt : null
}

/**
 * Checks that a request proves the key of its token. Returns the proof, so that the caller can record its use. A token
 * that is bound to no key is accepted only as Bearer, and the result is `null`. A bound token is accepted only as DPoP,
 * with a proof by its key.
 * @throws OAuthError
 * @see RFC 9449 §7
 */
export function proofFor(
  claims: Readonly<Record<string, unknown>>,
  { scheme }: Pick<SentToken, 'scheme'>,
  read: () => Proof | null
): Proof | null {
  const jkt = boundKey(claims)
  if (scheme === 'Bearer') {
    if (jkt !== null) throw boundToken()
    return null
  }
  if (jkt === null) throw invalidToken('The token is bound to no key. Send it as Bearer.', 'cnf')
  const proof = read()
  if (proof === null) throw missingProof()
  if (proof.jkt !== jkt) throw refused('The proof is of another key than that of the token.', 'jkt')
  return proof
}

/** The refusal of a token that is bound to a key and was not sent as `DPoP` with a proof. */
export const boundToken = (): OAuthError =>
  invalidToken('The token is bound to a key. Send it as DPoP, with a proof.', 'cnf')

export const missingProof = (): OAuthError => refused('The header DPoP is missing.', 'no proof')

export const usedProof = (): OAuthError => refused('The proof was used before.', 'jti')

/** The URL that a proof must name: an origin of the configuration, and the path as it was sent. */
export const provenUrl = (origin: string, { originalUrl }: { originalUrl: string }): string =>
  origin + (originalUrl.split('?', 1)[0] ?? '')

/** @see RFC 9449 §4.3 */
function checkClaims(
  { jti, htm, htu, ath }: Readonly<Record<string, unknown>>,
  { method, url, accessToken }: Pick<ProvenRequest, 'method' | 'url' | 'accessToken'>
): void {
  if (typeof jti !== 'string' || jti === '' || Buffer.byteLength(jti) > MAX_JTI_BYTES)
    throw refused(`The proof needs a jti of at most ${MAX_JTI_BYTES} bytes.`, 'jti')
  if (htm !== method) throw refused('The proof is for another method.', 'htm')
  const wanted = canonicalUrl(url)
  if (typeof htu !== 'string' || wanted === null || canonicalUrl(htu) !== wanted)
    throw refused('The proof is for another URL.', 'htu')
  if (accessToken !== null && ath !== hash('sha256', accessToken, 'base64url'))
    throw refused('The proof is for another access token.', 'ath')
}

function checkPeriod({ iat, nbf, exp }: Readonly<Record<string, unknown>>, maxAgeSeconds: number, now: number): void {
  const seconds = now / 1000
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw refused('The proof needs a time iat.', 'iat')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= seconds + maxAgeSeconds))
    throw refused('The proof is not valid yet.', 'nbf')
  if (exp !== undefined && !(typeof exp === 'number' && seconds < exp + maxAgeSeconds))
    throw refused('The proof has expired.', 'exp')
}

/** @returns the time from which the proof is refused anyway, in milliseconds since the epoch */
function checkAge(payload: Readonly<Record<string, unknown>>, maxAgeSeconds: number, now: number): number {
  const iat = Number(payload['iat'])
  if (Math.abs(now / 1000 - iat) > maxAgeSeconds)
    throw refused(`The time iat of the proof must be within ${maxAgeSeconds} seconds of now.`, 'iat')
  // A proof with an `iat` in the future stays valid for longer than a proof that was made now.
  return (iat + maxAgeSeconds + 1) * 1000
}

/**
 * Checks the nonce instead of `iat`, because the client's clock may be wrong.
 * @returns the time from which the proof is refused anyway, in milliseconds since the epoch
 * @see RFC 9449 §8, §9
 */
function checkNonce({ nonce }: Readonly<Record<string, unknown>>, nonces: Nonces, now: number): number {
  const goodUntil = nonces.goodUntil(nonce, now)
  if (goodUntil === null)
    throw new OAuthError('use_dpop_nonce', 'The proof needs the nonce of the header DPoP-Nonce.', {
      headers: { 'dpop-nonce': nonces.newest(now) },
      withoutStack: true
    })
  return goodUntil + 1000
}

/**
 * Normalizes a URL and removes query and fragment. `null` for a text that is not an http or https URL, or that has a
 * user name or password.
 * @see RFC 9449 §4.3, RFC 3986 §6.2.2
 */
function canonicalUrl(text: string): string | null {
  try {
    const { protocol, origin, pathname, username, password } = new URL(text)
    return /^https?:$/.test(protocol) && username === '' && password === '' ? origin + pathname : null
  } catch {
    return null
  }
}

const refused = (description: string, detail: string): OAuthError =>
  new OAuthError('invalid_dpop_proof', description, { withoutStack: true, detail })
