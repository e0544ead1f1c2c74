import { totpCode as codeOf, totpStep } from '../protocol/totp.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/**
 * The code that an authenticator app shows.
 * @param secretOrUri the key in base32, as `POST /auth/factors/totp` answers it, or the `otpauth:` URI
 * @param now milliseconds since the epoch, such as `clock.now()` of a stepped clock. Default: the machine's clock
 * @throws TypeError where there is no key in it, or `now` is no such number
 * @example await app.inject({ method: 'POST', url: '/auth/factors/totp/confirm', headers, payload: { enrolment, code: totpCode(secret, clock.now()) } })
 */
export function totpCode (secretOrUri: string, now: number = Date.now()): string {
  const secret = (secretOrUri.startsWith('otpauth:') ? new URL(secretOrUri).searchParams.get('secret') ?? '' : secretOrUri).replace(/[\s=-]/g, '').toUpperCase()
  if (!/^[A-Z2-7]{2,}$/.test(secret)) throw new TypeError('totpCode takes a key in base32, or an otpauth: URI that has one.')
  if (!Number.isFinite(now) || now < 0) throw new TypeError('totpCode takes the time in milliseconds since the epoch.')
  const bits = [...secret].map((character) => ALPHABET.indexOf(character).toString(2).padStart(5, '0')).join('')
  return codeOf(Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2))), totpStep(now))
}
