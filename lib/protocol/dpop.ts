/** Proofs of possession of a key. @see RFC 9449 */
import { MAX_JTI_BYTES } from './bounds.ts'
import { isObject } from './json.ts'
import { hash } from 'node:crypto'
import { OAuthError } from '../errors.ts'
import { thumbprint } from './access-token.ts'
import { invalidToken, type SentToken } from './bearer.ts'
import { isJwsAlg, isSignedBy, JWS_ALGS, parseJws, type PublicKey, publicKeyOf } from './jws.ts'

/** The algorithms of proofs, as metadata and challenges name them. */
export const DPOP_ALGS: readonly string[] = JWS_ALGS

const MAX_PROOF_LENGTH = 4096
/** Keys that were read lately, so that the usual proof costs one verification and no import. */
const KEPT_KEYS = 1000

/** The request that a proof must be made for. */
interface ProvenRequest {
  /** All values of the header `DPoP`, as Node.js joins them. */
  header: string | readonly string[] | undefined
  method: string
  /** The URL from the configuration, never from the header `Host`. */
  url: string
  /** The access token that the request sends; `null` at an endpoint that takes none. */
  accessToken: string | null
  /** Milliseconds since the epoch. */
  now: number
}

/** A good proof. Its use is not recorded yet: `replayKey` must be new until `replayUntil`. */
export interface Proof {
  /** The thumbprint of the key. @see RFC 7638 */
  jkt: string
  /** A digest of the key, the request and the proof's id. */
  replayKey: string
  /** Milliseconds since the epoch: the end of the time in which the proof could be used again. */
  replayUntil: number
  /** The nonce for the next proof. `null`: the one of this proof is the newest, or there are none. */
  nextNonce: string | null
}

/** Nonces that the server gives out, so that its clock alone decides on the age of a proof. @see RFC 9449 §8 */
export interface Nonces {
  newest(now: number): string
  /** The end of the nonce in milliseconds since the epoch. `null`: it has ended, or this service did not make it. */
  goodUntil(nonce: unknown, now: number): number | null
}

/**
 * Reads proofs.
 * @param maxAgeSeconds how far `iat` may be from now, in either direction, where there are no nonces
 * @param nonces those that every proof needs one of. `null`: none
 * @returns the proof; `null` if the request has none
 * @throws OAuthError `invalid_dpop_proof`, `use_dpop_nonce`
 */
export function proofReader(
  maxAgeSeconds: number,
  nonces: Nonces | null = null
): (request: ProvenRequest) => Proof | null {
  const keys = new Map<string, PublicKey>()

  /** The key of a thumbprint, which names the algorithm too, because an RSA key can have two. */
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
    // The name of RFC 9864 for the same signature, which newer libraries send.
    const alg = named === 'Ed25519' ? 'EdDSA' : named
    if (typeof typ !== 'string' || typ.toLowerCase() !== 'dpop+jwt') throw refused('The proof has another typ.', 'typ')
    if (!isJwsAlg(alg)) throw refused(`The proof must be signed with ${JWS_ALGS.join(', ')}.`, 'alg')
    if ('crit' in header || typeof jwk !== 'object' || jwk === null) throw refused('The proof lacks its key.', 'jwk')
    checkClaims(payload, { method, url, accessToken })
    checkPeriod(payload, maxAgeSeconds, now)
    const replayUntil = nonces === null ? checkAge(payload, maxAgeSeconds, now) : checkNonce(payload, nonces, now)
    // Private members are refused before the thumbprint is made, which ignores them.
    const members = jwk as Record<string, unknown>
    const jkt = thumbprint(members)
    const key = 'd' in members || 'k' in members ? null : keyOf(members, `${alg} ${jkt}`, alg)
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

/** The thumbprint of the key that a token is bound to; `null` for a token that is bound to none. @see RFC 9449 §6.1 */
export function boundKey(claims: Readonly<Record<string, unknown>>): string | null {
  const { cnf } = claims
  const jkt = isObject(cnf) ? cnf['jkt'] : undefined
  return typeof jkt === 'string' ? jkt : null
}

/**
 * The proof that a request with this token must have, so that the caller records its use. `null` for a token that is
 * bound to no key. Such a token counts only as Bearer, and a bound one only as DPoP, with a proof of its key.
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

/** The refusal of a token that is bound to a key and comes without a proof. */
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

/** @returns until when the proof could be used again, in milliseconds since the epoch */
function checkAge(payload: Readonly<Record<string, unknown>>, maxAgeSeconds: number, now: number): number {
  const iat = Number(payload['iat'])
  if (Math.abs(now / 1000 - iat) > maxAgeSeconds)
    throw refused(`The time iat of the proof must be within ${maxAgeSeconds} seconds of now.`, 'iat')
  // A proof from the future can be used for longer than one that was made now.
  return (iat + maxAgeSeconds + 1) * 1000
}

/** The nonce is the clock: the client's own may be wrong. @returns as `checkAge` @see RFC 9449 §8, §9 */
function checkNonce({ nonce }: Readonly<Record<string, unknown>>, nonces: Nonces, now: number): number {
  const goodUntil = nonces.goodUntil(nonce, now)
  if (goodUntil === null)
    throw new OAuthError('use_dpop_nonce', 'The proof needs the nonce of the header DPoP-Nonce.', {
      headers: { 'dpop-nonce': nonces.newest(now) },
      withoutStack: true
    })
  return goodUntil + 1000
}

/** A URL without query and fragment. `null` for text that is no http URL. @see RFC 9449 §4.3, RFC 3986 §6.2.2 */
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
