import { crc32 } from 'node:zlib'
import { digest } from './digest.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/** 62^43 > 2^256. */
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
const KEY = /^([a-z][a-z0-9]{1,15})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** The accepted form of the option `apiKeys.prefix`. */
export const API_KEY_PREFIX = /^[a-z][a-z0-9]{1,15}$/

/**
 * Formats 32 random bytes as an API key: the prefix, the bytes in base62, and a checksum, by which a scanner tells a
 * key from a chance match without asking anyone.
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

/** The only trace of a key in a store. 256 random bits need no salt and no slow hash. */
export const apiKeyDigest = (key: string): string => digest(key)

const checksumOf = (random: string): string => base62(BigInt(crc32(random)), CHECKSUM_LENGTH)

function base62(number: bigint, length: number): string {
  let [rest, text] = [number, '']
  for (; rest > 0n; rest /= 62n) text = (DIGITS[Number(rest % 62n)] ?? '') + text
  return text.padStart(length, '0')
}
