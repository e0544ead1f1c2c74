import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { isStrong } from './jws.ts'

/**
 * The offered and accepted algorithms, by their COSE numbers: Ed25519, ES256, RS256. Browsers use the first
 * algorithm that the authenticator supports.
 */
export const PASSKEY_ALGS: readonly number[] = [-8, -7, -257]

const MIN_RSA_BYTES = 256
const MAX_RSA_BYTES = 512

/**
 * Converts a COSE key to SubjectPublicKeyInfo in DER. Refuses a P-256 point that is not on the curve, and a key that
 * `isStrong` refuses.
 * @throws WebauthnError `algorithm`, `public_key`
 * @see RFC 9052 §7, RFC 9053 §2, §7, RFC 8230 §4
 */
export function spkiOf(cose: CborMap): { alg: number; spki: Buffer } {
  const alg = cose.get(3)
  must(
    typeof alg === 'number' && PASSKEY_ALGS.includes(alg),
    'algorithm',
    'the key has an algorithm that was not offered'
  )
  try {
    const key = createPublicKey({ format: 'jwk', key: jwkOf(alg, cose) })
    must(isStrong(key), 'public_key', 'the key is too weak')
    return { alg, spki: key.export({ format: 'der', type: 'spki' }) }
  } catch (error) {
    if (error instanceof WebauthnError) throw error
    throw new WebauthnError('public_key', 'the key can not be read')
  }
}

function jwkOf(alg: number, cose: CborMap): JsonWebKey {
  const parameter = (label: number, min: number, max = min): string => {
    const value = cose.get(label)
    must(
      Buffer.isBuffer(value) && value.length >= min && value.length <= max,
      'public_key',
      `the parameter ${label} of the key does not fit`
    )
    return value.toString('base64url')
  }
  const isOf = (kty: number, crv: number | undefined): void => {
    must(
      cose.get(1) === kty && (crv === undefined || cose.get(-1) === crv),
      'public_key',
      'the key is of another kind than its algorithm'
    )
  }
  if (alg === -257) {
    isOf(3, undefined)
    return { kty: 'RSA', n: parameter(-1, MIN_RSA_BYTES, MAX_RSA_BYTES), e: parameter(-2, 3, 4) }
  }
  if (alg === -8) {
    isOf(1, 6)
    return { kty: 'OKP', crv: 'Ed25519', x: parameter(-2, 32) }
  }
  isOf(2, 1)
  return { kty: 'EC', crv: 'P-256', x: parameter(-2, 32), y: parameter(-3, 32) }
}

/** True if the key of `spkiOf` made this signature. */
export function isSignedByCredential(
  { alg, spki }: { alg: number; spki: Buffer },
  data: Buffer,
  signature: Buffer
): boolean {
  try {
    return verify(
      alg === -8 ? null : 'sha256',
      data,
      createPublicKey({ format: 'der', type: 'spki', key: spki }),
      signature
    )
  } catch {
    return false
  }
}

type Cbor = number | boolean | null | string | Buffer | Cbor[] | CborMap
export type CborMap = Map<number | string, Cbor>

const MAX_DEPTH = 4
const MAX_ENTRIES = 64
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads one CBOR item at `offset`; `end` is the position after it. Accepts only the forms of authenticators: whole
 * numbers to 32 bits, byte and text strings, arrays and maps of definite length, `true`, `false`, `null`. Refuses more
 * than four levels, more than 64 entries in one array or map, and a repeated key.
 * @throws WebauthnError `malformed`
 * @see RFC 8949 §3, CTAP 2.2 §8
 */
export function readCbor(bytes: Buffer, offset = 0, depth = 1): { value: Cbor; end: number } {
  must(depth <= MAX_DEPTH, 'malformed', 'CBOR is too deep')
  must(offset < bytes.length, 'malformed', 'CBOR ends early')
  const initial = bytes.readUInt8(offset)
  const major = initial >> 5
  const { value: argument, end: start } = readArgument(bytes, offset + 1, initial & 31)
  if (major === 0) return { value: argument, end: start }
  if (major === 1) return { value: -1 - argument, end: start }
  if (major === 2 || major === 3) {
    const end = start + argument
    must(end <= bytes.length, 'malformed', 'a CBOR string ends early')
    const content = bytes.subarray(start, end)
    return { value: major === 2 ? content : textOf(content), end }
  }
  if (major === 4) return readArray(bytes, start, argument, depth)
  if (major === 5) return readMap(bytes, start, argument, depth)
  must(
    major === 7 && (initial & 31) >= 20 && (initial & 31) <= 22,
    'malformed',
    'CBOR has a tag, a float or another simple value'
  )
  return { value: initial === 0xf6 ? null : initial === 0xf5, end: start }
}

/**
 * Reads bytes that consist of exactly one item.
 * @throws WebauthnError `malformed`
 */
export function decodeCbor(bytes: Buffer): Cbor {
  const { value, end } = readCbor(bytes)
  must(end === bytes.length, 'malformed', 'something follows the CBOR')
  return value
}

function readArgument(bytes: Buffer, offset: number, info: number): { value: number; end: number } {
  if (info < 24) return { value: info, end: offset }
  must(info <= 26, 'malformed', 'a CBOR length is indefinite, reserved or of 64 bits')
  const size = 1 << (info - 24)
  must(offset + size <= bytes.length, 'malformed', 'a CBOR length ends early')
  return { value: bytes.readUIntBE(offset, size), end: offset + size }
}

function textOf(content: Buffer): string {
  try {
    return UTF8.decode(content)
  } catch {
    throw new WebauthnError('malformed', 'a CBOR text is no UTF-8')
  }
}

function readArray(bytes: Buffer, start: number, count: number, depth: number): { value: Cbor[]; end: number } {
  must(count <= MAX_ENTRIES, 'malformed', 'a CBOR array is too long')
  const value: Cbor[] = []
  let end = start
  for (let index = 0; index < count; index++) {
    const item = readCbor(bytes, end, depth + 1)
    value.push(item.value)
    end = item.end
  }
  return { value, end }
}

function readMap(bytes: Buffer, start: number, count: number, depth: number): { value: CborMap; end: number } {
  must(count <= MAX_ENTRIES, 'malformed', 'a CBOR map is too long')
  const value: CborMap = new Map()
  let end = start
  for (let index = 0; index < count; index++) {
    const { value: key, end: afterKey } = readCbor(bytes, end, depth + 1)
    must(typeof key === 'number' || typeof key === 'string', 'malformed', 'a CBOR key is no number and no text')
    must(!value.has(key), 'malformed', 'a CBOR key is there twice')
    const item = readCbor(bytes, afterKey, depth + 1)
    value.set(key, item.value)
    end = item.end
  }
  return { value, end }
}

/**
 * The reason for refusing an authenticator's answer, for the log and for tests. The sender never learns it.
 * @see W3C WebAuthn Level 3 §7.1, §7.2
 */
type WebauthnRefusal =
  | 'malformed'
  | 'type'
  | 'challenge'
  | 'origin'
  | 'cross_origin'
  | 'rp_id'
  | 'user_presence'
  | 'user_verification'
  | 'backup_flags'
  | 'no_credential'
  | 'credential_id'
  | 'algorithm'
  | 'public_key'
  | 'signature'
  | 'backup_eligibility'

export class WebauthnError extends Error {
  readonly refusal: WebauthnRefusal

  constructor(refusal: WebauthnRefusal, what: string) {
    super(`${refusal}: ${what}`)
    this.name = 'WebauthnError'
    this.refusal = refusal
  }
}

/** @throws WebauthnError if the condition is false */
export function must(holds: boolean, refusal: WebauthnRefusal, what: string): asserts holds {
  if (!holds) throw new WebauthnError(refusal, what)
}
