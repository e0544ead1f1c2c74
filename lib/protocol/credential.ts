import { hash } from 'node:crypto'
import { digest, PARTITION_LENGTH, partitionIn, partitionOf } from './digest.ts'
import { typedCode } from './typed-code.ts'
import { crc32 } from 'node:zlib'

/**
 * `<id>.<secret>`: the form of refresh tokens, authorization codes and session cookies. The id (128 bits after the
 * user's partition) finds the record, and the secret (256 bits) proves the right to it. The server stores a digest of
 * each, and neither the id nor the secret.
 *
 * All refresh tokens of one family, and the authorization code that began it, contain the same id. No other text
 * contains it. So a caller who presents a known id with a wrong secret holds, or held, one of these credentials.
 * Therefore the store can tell a replay from a guess without the digests of all former tokens.
 */
export interface Credential {
  id: string
  secret: string
  /** The public name of the record, which does not reveal the id. */
  sid: string
  /** The digest of the secret. */
  digest: string
}

/** An id has the 16 characters of a partition and 128 bits in 22 more. */
const FORMAT = /^([A-Za-z0-9_-]{37}[AQgw])\.([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$/

/** `null` if this service can't have made the value: wrong length or characters, or not canonical base64url. */
export function parseCredential(value: string): Credential | null {
  const match = FORMAT.exec(value)
  if (match === null) return null
  const id = match[1] as string
  const secret = match[2] as string
  return { id, secret, sid: sidOf(id), digest: digest(secret) }
}

export function formatCredential(id: string, secret: string): string {
  return `${id}.${secret}`
}

/** Makes an id for a record of this user. `unguessable` has 128 bits, as `Random.id()` returns them. */
export function newCredentialId(userId: string, unguessable: string): string {
  return partitionOf(userId) + unguessable
}

/** The public name of the record with this id: the partition of the id, then 22 characters of a digest of the id. */
export function sidOf(id: string): string {
  return partitionIn(id) + hash('sha256', `sid:${id}`, 'base64url').slice(0, 22)
}

/**
 * A new one-time token and the digest under which it is stored. The token consists of the user's partition, 256 random
 * bits, a MAC of each bound value, and the carried text. The digest begins with the same partition. A token with any
 * part changed is unknown.
 */
interface MintedOneTimeToken {
  token: string
  digest: string
}

/** The length of a partition plus a value of `Random.secret` (32 bytes in base64url). */
const SECRET_LENGTH = PARTITION_LENGTH + 43
const BINDING_LENGTH = 16
/**
 * A token with up to three bindings, or with two bindings and a carried text. The longest carried text is an email
 * address of 254 characters with a session id, in base64url.
 */
const ONE_TIME_FORMAT = /^[A-Za-z0-9_-]{59}(?:[A-Za-z0-9_-]{16}){0,3}$|^[A-Za-z0-9_-]{91}[A-Za-z0-9_-]{2,512}$/
const CARRIED_FROM = SECRET_LENGTH + 2 * BINDING_LENGTH

/**
 * Makes a token. `secret` is from `Random.secret`, and for one token only. `boundTo`: values that must be the same at
 * the use of the token. `carried`: a text that the holder of the token can read but not change, allowed only with two
 * bindings.
 */
export function oneTimeToken(
  userId: string,
  secret: string,
  boundTo: readonly string[] = [],
  carried = ''
): MintedOneTimeToken {
  const head = partitionOf(userId) + secret
  const token =
    head + boundTo.map((value) => bindingOf(head, value)).join('') + Buffer.from(carried).toString('base64url')
  return { token, digest: partitionIn(token) + digest(token) }
}

/** The digest under which a token is stored. `null` for a malformed token. */
export function digestOfOneTimeToken(token: string): string | null {
  return ONE_TIME_FORMAT.test(token) ? partitionIn(token) + digest(token) : null
}

/** True if a token that was found by its digest was made with this value at that index of `boundTo`. */
export function isBoundTo(token: string, index: number, value: string): boolean {
  const from = SECRET_LENGTH + index * BINDING_LENGTH
  return token.slice(from, from + BINDING_LENGTH) === bindingOf(token.slice(0, SECRET_LENGTH), value)
}

/** The carried text of a token with two bindings that was found by its digest. `null`: none. */
export function carriedIn(token: string): string | null {
  return token.length <= CARRIED_FROM ? null : Buffer.from(token.slice(CARRIED_FROM), 'base64url').toString()
}

/** A MAC of a bound value. `head`, the beginning of the token with its secret, is the key. */
function bindingOf(head: string, value: string): string {
  return digest(`${head}\0${value}`).slice(0, BINDING_LENGTH)
}

/**
 * The successor of a refresh token is stored sealed under the token that it replaces. A client that lost the response
 * presents the old token and gets the same successor again. A copy of the store does not reveal the successor.
 */

/** Seals a successor's secret with a one-time pad: a hash of the secret that it replaces. Only that secret opens it. */
export function sealSuccessor(presentedSecret: string, nextSecret: string): string {
  return xor(pad(presentedSecret), Buffer.from(nextSecret, 'base64url')).toString('base64url')
}

export function openSuccessor(presentedSecret: string, sealed: string): string {
  return xor(pad(presentedSecret), Buffer.from(sealed, 'base64url')).toString('base64url')
}

function pad(secret: string): Buffer {
  return hash('sha256', `successor:${secret}`, 'buffer')
}

/** Writes the result into `left`. */
function xor(left: Buffer, right: Buffer): Buffer {
  for (let at = 0; at < left.length; at++) left[at] = (left[at] as number) ^ (right[at] ?? 0)
  return left
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** The number of base62 digits for 256 bits: 62^43 > 2^256. */
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
const KEY = /^([a-z][a-z0-9]{1,15})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** The accepted form of the option `apiKeys.prefix`. */
export const API_KEY_PREFIX = /^[a-z][a-z0-9]{1,15}$/

/**
 * Formats 32 random bytes as an API key: the prefix, the bytes in base62, and a checksum. With the checksum, a secret
 * scanner can tell a key from a random match without asking this service.
 */
export function apiKeyOf(prefix: string, random: Uint8Array): string {
  const text = base62(BigInt(`0x${Buffer.from(random).toString('hex')}`), RANDOM_LENGTH)
  return `${prefix}_${text}${checksumOf(text)}`
}

/** True if the text has the form of a key of this prefix, with the right checksum. */
export function isApiKey(prefix: string, text: string): boolean {
  const [, given, random = '', checksum] = KEY.exec(text) ?? []
  return given === prefix && checksum === checksumOf(random)
}

/** The form in which a store keeps a key. 256 random bits need no salt and no slow hash. */
export const apiKeyDigest = (key: string): string => digest(key)

const checksumOf = (random: string): string => base62(BigInt(crc32(random)), CHECKSUM_LENGTH)

function base62(number: bigint, length: number): string {
  let [rest, text] = [number, '']
  for (; rest > 0n; rest /= 62n) text = (DIGITS[Number(rest % 62n)] ?? '') + text
  return text.padStart(length, '0')
}

/** Only consonants, so that no code is a word. @see RFC 8628 §6.1 */
const ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
const LENGTH = 8
const FORM = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`)

/** Makes a user code from 256 random bits: eight letters, each as likely as any other. */
export function userCodeFrom(secret: string): string {
  let rest = BigInt(`0x${Buffer.from(secret, 'base64url').toString('hex')}`)
  const letters = Array.from({ length: LENGTH }, () => {
    const letter = ALPHABET.charAt(Number(rest % BigInt(ALPHABET.length)))
    rest /= BigInt(ALPHABET.length)
    return letter
  })
  return letters.join('')
}

/** Formats a user code for people: `WDJB-MJHT`. */
export const shownUserCode = (code: string): string => `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`

/**
 * Reads a typed user code, in any case. `null`: not a user code.
 */
export function readUserCode(typed: string): string | null {
  const code = typedCode(typed).toUpperCase()
  return FORM.test(code) ? code : null
}

/** The id of the device request with this user code. */
export const deviceIdOf = (userCode: string): string => partitionIn(digest(`user code ${userCode}`))

/**
 * `<id><secret>`: the id of a device code finds its request, and the secret (256 random bits) proves the right to it.
 */
const DEVICE_CODE = /^([A-Za-z0-9_-]{16})([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$/

export const formatDeviceCode = (id: string, secret: string): string => id + secret

/** `null`: the value can't be a device code. */
export function parseDeviceCode(value: string): { id: string; secret: string } | null {
  const [, id, secret] = DEVICE_CODE.exec(value) ?? []
  return id === undefined || secret === undefined ? null : { id, secret }
}
