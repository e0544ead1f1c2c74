/** Proofs of possession of a key. @see RFC 9449 */
import { isObject } from './json.ts'
import { hash } from 'node:crypto'
import { OAuthError } from '../errors.ts'
import { thumbprint } from './access-token.ts'
import { isJwsAlg, isSignedBy, JWS_ALGS, parseJws, type PublicKey, publicKeyOf } from './jws.ts'

/** The algorithms of proofs, as metadata and challenges name them. */
export const DPOP_ALGS: readonly string[] = JWS_ALGS

const MAX_PROOF_LENGTH = 4096
const MAX_JTI_BYTES = 256
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

interface ProofPolicy {
  /** How far `iat` may be from now, in either direction. */
  maxAgeSeconds: number
  /** The server's nonces. With a good one, `iat` is not checked. `null`: there are none. */
  nonces: {
    required: boolean
    /** Until when a nonce is good, in milliseconds since the epoch; `null` for one that is not. */
    goodUntil(nonce: string, now: number): number | null
  } | null
}

/** A good proof. Its use is not recorded yet: `replayKey` must be new until `replayUntil`. */
export interface Proof {
  /** The thumbprint of the key. @see RFC 7638 */
  jkt: string
  /** A digest of the key, the request and the proof's id. */
  replayKey: string
  /** Milliseconds since the epoch: the end of the time in which the proof could be used again. */
  replayUntil: number
}

/**
 * Reads proofs.
 * @returns the proof; `null` if the request has none
 * @throws OAuthError `invalid_dpop_proof`, or `use_dpop_nonce` if only the server's nonce is missing or too old
 */
export function proofReader(policy: ProofPolicy): (request: ProvenRequest) => Proof | null {
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
    const { typ, alg, jwk } = header
    if (typeof typ !== 'string' || typ.toLowerCase() !== 'dpop+jwt') throw refused('The proof has another typ.', 'typ')
    if (!isJwsAlg(alg)) throw refused(`The proof must be signed with ${JWS_ALGS.join(', ')}.`, 'alg')
    if ('crit' in header || typeof jwk !== 'object' || jwk === null) throw refused('The proof lacks its key.', 'jwk')
    checkClaims(payload, { method, url, accessToken })
    const time = checkTime(payload, policy, now)
    // Private members are refused before the thumbprint is made, which ignores them.
    const members = jwk as Record<string, unknown>
    const jkt = thumbprint(members)
    const key = 'd' in members || 'k' in members ? null : keyOf(members, `${alg} ${jkt}`, alg)
    if (key === null) throw refused('The key of the proof can not be used.', 'jwk')
    if (!isSignedBy(jws, key, alg)) throw refused('The signature of the proof is not valid.', 'signature')
    if (time === 'needs nonce')
      throw new OAuthError('use_dpop_nonce', 'The proof must contain the nonce of the header DPoP-Nonce.', {
        withoutStack: true
      })
    const jti = String(payload['jti'])
    return {
      jkt,
      replayKey: `dpop:${hash('sha256', [jkt, method, canonicalUrl(url), jti].join('\0'), 'base64url')}`,
      replayUntil: time
    }
  }
}

/** The thumbprint of the key that a token is bound to; `null` for a token that is bound to none. @see RFC 9449 §6.1 */
export function boundKey(claims: Readonly<Record<string, unknown>>): string | null {
  const { cnf } = claims
  const jkt = isObject(cnf) ? cnf['jkt'] : undefined
  return typeof jkt === 'string' ? jkt : null
}

/** @see RFC 9449 §4.3 */
function checkClaims(
  { jti, htm, htu, ath }: Readonly<Record<string, unknown>>,
  { method, url, accessToken }: Pick<ProvenRequest, 'method' | 'url' | 'accessToken'>
): void {
  if (typeof jti !== 'string' || jti === '' || Buffer.byteLength(jti) > MAX_JTI_BYTES)
    throw refused(`The proof needs a jti of at most ${MAX_JTI_BYTES} bytes.`, 'jti')
  if (htm !== method) throw refused('The proof is for another method.', 'htm')
  if (typeof htu !== 'string' || canonicalUrl(htu) !== canonicalUrl(url))
    throw refused('The proof is for another URL.', 'htu')
  if (accessToken !== null && ath !== hash('sha256', accessToken, 'base64url'))
    throw refused('The proof is for another access token.', 'ath')
}

/** @returns until when the proof could be used again, or that only a good nonce is missing */
function checkTime(
  { iat, nbf, exp, nonce }: Readonly<Record<string, unknown>>,
  { maxAgeSeconds, nonces }: ProofPolicy,
  now: number
): number | 'needs nonce' {
  const seconds = now / 1000
  if (typeof iat !== 'number' || !Number.isFinite(iat)) throw refused('The proof needs a time iat.', 'iat')
  if (nonce !== undefined && typeof nonce !== 'string') throw refused('The proof has a malformed nonce.', 'nonce')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= seconds + maxAgeSeconds))
    throw refused('The proof is not valid yet.', 'nbf')
  if (exp !== undefined && !(typeof exp === 'number' && seconds < exp + maxAgeSeconds))
    throw refused('The proof has expired.', 'exp')
  const until = nonce === undefined ? null : (nonces?.goodUntil(nonce, now) ?? null)
  if (until !== null) return until
  if (nonces?.required === true) return 'needs nonce'
  if (Math.abs(seconds - iat) > maxAgeSeconds)
    throw refused(`The time iat of the proof must be within ${maxAgeSeconds} seconds of now.`, 'iat')
  // A proof from the future can be used for longer than one that was made now.
  return (iat + maxAgeSeconds + 1) * 1000
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
