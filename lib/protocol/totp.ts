import { createHmac } from 'node:crypto'
import { equalSecrets } from './digest.ts'

/**
 * Time-based one-time passwords as authenticator apps make them: HMAC-SHA-1, 6 digits, 30 seconds. Apps ignore other
 * parameters of an enrolment without a word and give wrong codes for ever, so there are no others.
 * @see RFC 6238, RFC 4226
 */

/** RFC 4226 §4 R6 recommends 160 bits. */
export const TOTP_SECRET_BYTES = 20
const TOTP_STEP_MS = 30_000
const DIGITS = 6
/**
 * The steps whose codes are accepted: the present one, and the one before it, for the time that typing takes. Each adds
 * a millionth to the chance of a guess. @see RFC 6238 §5.2
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
 * The step of this code: the present one or the one before. `null`: neither. Both are always compared. The store
 * decides whether the step was used before.
 */
export function matchTotp(secret: Uint8Array, code: string, now: number): number | null {
  const steps = WINDOW.map((offset) => totpStep(now) + offset).filter((step) => step >= 0)
  const matches = steps.filter((step) => equalSecrets(totpCode(secret, step), code))
  // Two steps may have one code. The newer one is used up, and the older with it.
  return matches.length === 0 ? null : Math.max(...matches)
}

/**
 * The six digits of a typed code, with spaces or hyphens between them, in the digits of any keyboard. `null`: not six
 * digits.
 */
export function readTotpCode(typed: string): string | null {
  if (typed.length > 64) return null
  const code = typed
    .normalize('NFKC')
    .replace(/[\s\p{Cf}\p{Pd}]/gu, '')
    .replace(/\p{Nd}/gu, (digit) => String(valueOf(digit)))
  return /^[0-9]{6}$/.test(code) ? code : null
}

/** The ten decimal digits of a script follow one another in Unicode, from its zero on. */
function valueOf(digit: string): number {
  let zero = digit.codePointAt(0) ?? 0
  const code = zero
  while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero--
  return code - zero
}

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** RFC 4648 §6 without padding. */
export function toBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32.charAt(parseInt(five.padEnd(5, '0'), 2))).join('')
}

/**
 * The bytes of base32 in the forms of other systems: in either case, with or without padding, white space and hyphens.
 * `null`: no base32. The bits of the last character beyond whole bytes are ignored, as in every app.
 * @see RFC 4648 §6
 */
export function fromBase32(text: string): Buffer | null {
  const [, characters] = /^([A-Z2-7]+)=*$/.exec(text.replace(/[\s-]/g, '').toUpperCase()) ?? []
  if (characters === undefined || [1, 3, 6].includes(characters.length % 8)) return null
  const bits = [...characters].map((character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => parseInt(eight, 2)))
}

/**
 * The label and parameters of an enrolment, as apps read it from a QR code. Every part is percent-encoded, a space as
 * `%20`; no colon is left in issuer or account, for it parts the two; what is the default is not said.
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
