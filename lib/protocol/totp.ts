import { createHmac } from 'node:crypto'
import { equalSecrets } from './digest.ts'
import { asciiDigits, typedCode } from './typed-code.ts'

/**
 * Time-based one-time passwords of authenticator apps: HMAC-SHA-1, 6 digits, 30 seconds. These parameters are fixed,
 * because some apps silently ignore other values and then show wrong codes.
 * @see RFC 6238, RFC 4226
 */

/** RFC 4226 §4 R6 recommends 160 bits. */
export const TOTP_SECRET_BYTES = 20
const TOTP_STEP_MS = 30_000
const DIGITS = 6
/**
 * The accepted steps, relative to the current step: the current step and the step before it, to give time for typing.
 * Each step adds a millionth to the chance of a guess.
 * @see RFC 6238 §5.2
 */
const WINDOW = [0, -1]

/** The time step of a moment in milliseconds since the epoch. */
export function totpStep(now: number): number {
  return Math.floor(now / TOTP_STEP_MS)
}

/** The code of a step, which RFC 4226 calls the counter. `secret`: the bytes, never their base32. @see RFC 4226 §5.3 */
export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const binary = mac.readUInt32BE(mac.readUInt8(mac.length - 1) & 0xf) & 0x7fffffff
  return String(binary % 10 ** DIGITS).padStart(DIGITS, '0')
}

/**
 * Finds the step of a code: the current step or the step before. `null`: it is the code of neither step. Always
 * compares both. The store decides whether the step was used before.
 */
export function matchTotp(secret: Uint8Array, code: string, now: number): number | null {
  const steps = WINDOW.map((offset) => totpStep(now) + offset).filter((step) => step >= 0)
  const matches = steps.filter((step) => equalSecrets(totpCode(secret, step), code))
  // Two steps may have the same code. Returns the newer step, so that its use also uses up the older step.
  return matches.length === 0 ? null : Math.max(...matches)
}

/**
 * Reads six digits from typed text, with spaces or hyphens between them, in the digits of any script. `null`: not six
 * digits.
 */
export function readTotpCode(typed: string): string | null {
  const code = asciiDigits(typedCode(typed))
  return /^[0-9]{6}$/.test(code) ? code : null
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Encodes base32 without padding. @see RFC 4648 §6 */
export function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32.charAt(parseInt(five.padEnd(5, '0'), 2))).join('')
}

/**
 * Decodes base32 as other systems write it: either case, with or without padding, white space and hyphens. `null`: not
 * base32. Ignores the spare bits of the last character.
 * @see RFC 4648 §6
 */
export function fromBase32(text: string): Buffer | null {
  const [, characters] = /^([A-Z2-7]+)=*$/.exec(text.replace(/[\s-]/g, '').toUpperCase()) ?? []
  if (characters === undefined || [1, 3, 6].includes(characters.length % 8)) return null
  const bits = [...characters].map((character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => parseInt(eight, 2)))
}

/**
 * The `otpauth:` URI of an enrolment, for a QR code. Every part is percent-encoded, with `%20` for a space. A colon in
 * issuer or account becomes a space, because it separates the two. Default parameters are left out.
 * @see https://github.com/google/google-authenticator/wiki/Key-Uri-Format
 */
export function totpUri({ issuer, account, secret }: { issuer: string; account: string; secret: Uint8Array }): string {
  const part = (text: string): string =>
    encodeURIComponent(
      text
        .replace(/\p{Cs}/gu, '\ufffd')
        .replaceAll(':', ' ')
        .trim()
    ).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
  return `otpauth://totp/${part(issuer)}:${part(account)}?secret=${toBase32(secret)}&issuer=${part(issuer)}`
}

/** An authenticator app of another system: `algorithm`, `digits` and `period` as in an `otpauth:` URI. */
export interface ImportedTotp {
  secret: string | Uint8Array
  name?: string | null | undefined
  algorithm?: string | null | undefined
  digits?: number | null | undefined
  period?: number | null | undefined
}
