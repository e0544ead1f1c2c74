import { isObject, objectIn } from './json.ts'
import { constants, createPublicKey, type JsonWebKey, verify } from 'node:crypto'

/** The algorithms of signatures that clients make: DPoP proofs and client assertions. @see RFC 7518 §3.1, RFC 8037 */
export const JWS_ALGS = ['ES256', 'EdDSA', 'PS256', 'RS256'] as const
export type JwsAlg = (typeof JWS_ALGS)[number]

/** A public key that is ready for use. */
export type PublicKey = ReturnType<typeof createPublicKey>

/** A compact JWS whose signature has not been checked. */
export interface UnverifiedJws {
  header: Readonly<Record<string, unknown>>
  payload: Readonly<Record<string, unknown>>
  /** The bytes that the signature covers. */
  signed: string
  signature: Buffer
}

export const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 4096
const MIN_RSA_EXPONENT = 65_537n
/** Members of a JWK that only a private or symmetric key has. @see RFC 7518 §6 */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']
/**
 * The encodings of the points whose order divides 8, with the sign bit cleared. With such a key, anybody can make a
 * signature that fits any message. @see RFC 8032 §5.1.3, RFC 7748 §7
 */
const SMALL_ORDER: readonly string[] = [
  `00${'00'.repeat(31)}`,
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`
]
/** The key type that each algorithm needs. */
export const KEY_TYPES: Readonly<Record<JwsAlg, { kty: string; crv?: string }>> = {
  ES256: { kty: 'EC', crv: 'P-256' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
  RS256: { kty: 'RSA' },
  PS256: { kty: 'RSA' }
}
const BASE64URL = /^[A-Za-z0-9_-]+$/

/**
 * Parses a compact JWS. `null` if the text is not a compact JWS, or if its header or payload is not a JSON object.
 * @see RFC 7515 §3.1
 */
export function parseJws(text: string): UnverifiedJws | null {
  const parts = text.split('.')
  if (parts.length !== 3 || !parts.every((part) => BASE64URL.test(part))) return null
  const [header = '', payload = '', signature = ''] = parts
  const [head, body] = [objectIn(header), objectIn(payload)]
  if (head === null || body === null) return null
  return {
    header: head,
    payload: body,
    signed: `${header}.${payload}`,
    signature: Buffer.from(signature, 'base64url')
  }
}

export function isJwsAlg(alg: unknown): alg is JwsAlg {
  return JWS_ALGS.some((one) => one === alg)
}

/** The supported algorithms of a JWK: its own `alg` if it fits the key type, or without `alg` all of the key type. */
export function algsOf(jwk: Readonly<Record<string, unknown>>): JwsAlg[] {
  return JWS_ALGS.filter((alg) => {
    const { kty, crv } = KEY_TYPES[alg]
    return jwk['kty'] === kty && (crv === undefined || jwk['crv'] === crv) && (jwk['alg'] ?? alg) === alg
  })
}

export const hasPrivateMembers = (jwk: Readonly<Record<string, unknown>>): boolean =>
  PRIVATE_MEMBERS.some((name) => name in jwk)

/**
 * The public key of a JWK for one algorithm. `null` if the JWK is malformed, has private members, is for another
 * algorithm or for encryption, or is too weak for `isStrong`.
 * @see RFC 7517 §4
 */
export function publicKeyOf(jwk: unknown, alg: JwsAlg): PublicKey | null {
  if (!isObject(jwk) || hasPrivateMembers(jwk) || (jwk['use'] ?? 'sig') !== 'sig') return null
  if (!algsOf(jwk).includes(alg)) return null
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
    return isStrong(key) ? key : null
  } catch {
    return null
  }
}

/**
 * False for an RSA key under 2,048 or over 4,096 bits, with an even modulus, or with an exponent that is even or below
 * 65,537. False for an Ed25519 key of small order, for which anybody can sign. OpenSSL reads all these keys without an
 * error.
 */
export function isStrong(key: PublicKey): boolean {
  if (key.asymmetricKeyType === 'ec') return true
  const { modulusLength, publicExponent } = key.asymmetricKeyDetails ?? {}
  const { n = '', x = '' } = key.export({ format: 'jwk' })
  if (modulusLength === undefined || publicExponent === undefined)
    return key.asymmetricKeyType !== 'ed25519' || !isOfSmallOrder(Buffer.from(x, 'base64url'))
  const isOdd = ((Buffer.from(n, 'base64url').at(-1) ?? 0) & 1) === 1 && publicExponent % 2n === 1n
  return isOdd && publicExponent >= MIN_RSA_EXPONENT && modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS
}

function isOfSmallOrder(point: Buffer): boolean {
  const unsigned = Buffer.from(point)
  unsigned[31] = (unsigned[31] ?? 0) & 0x7f
  return SMALL_ORDER.includes(unsigned.toString('hex'))
}

type Verify = (data: Buffer, key: PublicKey, signature: Buffer) => boolean

const VERIFY: Readonly<Record<JwsAlg, Verify>> = {
  ES256: (data, key, signature) => verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature),
  EdDSA: (data, key, signature) => verify(null, data, key, signature),
  PS256: (data, key, signature) =>
    verify('sha256', data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }, signature),
  RS256: (data, key, signature) => verify('sha256', data, key, signature)
}

/** True if the key made the signature of the JWS with this algorithm. */
export function isSignedBy({ signed, signature }: UnverifiedJws, key: PublicKey, alg: JwsAlg): boolean {
  return VERIFY[alg](Buffer.from(signed, 'latin1'), key, signature)
}
