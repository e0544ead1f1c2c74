import { totpCode as codeOf, totpStep } from '../protocol/totp.ts'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
const TAKES = 'totpCode takes a key in base32, an otpauth: URI that has one, or the bytes of a key.'

/**
 * The code that an authenticator app shows.
 * @param secret the key in base32, as `POST /auth/factors/totp` answers it, the `otpauth:` URI, or the bytes of the
 * key, as `importTotp` takes them
 * @param now milliseconds since the epoch, such as `clock.now()` of a stepped clock. Default: the machine's clock
 * @throws TypeError where there is no key in it, or `now` is no such number
 * @example await app.inject({ method: 'POST', url: '/auth/factors/totp/confirm', headers, payload: { enrolment, code:
 * totpCode(secret, clock.now()) } })
 */
export function totpCode(secret: string | Uint8Array, now: number = Date.now()): string {
  if (!Number.isFinite(now) || now < 0) throw new TypeError('totpCode takes the time in milliseconds since the epoch.')
  return codeOf(typeof secret === 'string' ? keyIn(secret) : bytesOf(secret), totpStep(now))
}

function bytesOf(secret: unknown): Buffer {
  if (!(secret instanceof Uint8Array) || secret.length === 0) throw new TypeError(TAKES)
  return Buffer.from(secret)
}

function keyIn(secretOrUri: string): Buffer {
  const secret = (
    secretOrUri.startsWith('otpauth:') ? (new URL(secretOrUri).searchParams.get('secret') ?? '') : secretOrUri
  )
    .replace(/[\s=-]/g, '')
    .toUpperCase()
  if (!/^[A-Z2-7]{2,}$/.test(secret)) throw new TypeError(TAKES)
  const bits = [...secret].map((character) => ALPHABET.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)))
}
