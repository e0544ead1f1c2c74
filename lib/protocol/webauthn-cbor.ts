import { must, WebauthnError } from './webauthn-refusal.ts'

type Cbor = number | boolean | null | string | Buffer | Cbor[] | CborMap
export type CborMap = Map<number | string, Cbor>

const MAX_DEPTH = 4
const MAX_ENTRIES = 64
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads the one item of CBOR that begins at `offset`: `end` is where the next one would. It takes what authenticators
 * write: whole numbers to 32 bits, byte and text strings, arrays and maps of definite length, `true`, `false`, `null`.
 * Anything deeper than four, longer than 64 entries, or with a key twice is refused.
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

/** Reads bytes that are one item, and nothing behind it. @throws WebauthnError `malformed` */
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
