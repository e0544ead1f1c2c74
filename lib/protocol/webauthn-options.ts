import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Options for the browser, in the JSON form of WebAuthn: binary members are base64url. A page converts them, or calls
 * `PublicKeyCredential.parseCreationOptionsFromJSON`.
 * @see W3C WebAuthn Level 3 §5.1.9, §5.1.10
 */

export interface PasskeyDescriptor {
  type: 'public-key'
  id: string
  transports?: string[]
}

export type UserVerification = 'required' | 'preferred' | 'discouraged'

/** For `navigator.credentials.create`. */
export interface PasskeyCreationOptions {
  rp: { id: string; name: string }
  user: { id: string; name: string; displayName: string }
  challenge: string
  pubKeyCredParams: Array<{ type: 'public-key'; alg: number }>
  /** Milliseconds. */
  timeout: number
  attestation: 'none'
  authenticatorSelection: {
    residentKey: 'required' | 'discouraged'
    requireResidentKey: boolean
    userVerification: UserVerification
  }
  /** The user's existing credentials. An authenticator that has one of them makes no new credential. */
  excludeCredentials: PasskeyDescriptor[]
  hints: string[]
  extensions: { credProps: true }
}

/**
 * The display name of a user's passkeys: the user's name, or else the username. Creation options and later signals must
 * agree, because a signal renames the passkeys in browsers.
 */
export function displayNameOf({ username, name }: { username: string; name?: unknown }): string {
  return typeof name === 'string' && name !== '' ? name : username
}

/** For `navigator.credentials.get`. */
export interface PasskeyRequestOptions {
  rpId: string
  challenge: string
  /** Milliseconds. */
  timeout: number
  userVerification: UserVerification
  /** Empty: any passkey for this domain. */
  allowCredentials: PasskeyDescriptor[]
}

/**
 * The timeout that W3C recommends is five to ten minutes. The challenge is valid for ten.
 * @see W3C WebAuthn Level 3 §15.1
 */
const TIMEOUT_MS = 300_000

interface Creation {
  rp: PasskeyCreationOptions['rp']
  /** At most 64 bytes. */
  userHandle: Uint8Array
  name: string
  displayName: string
  challenge: string
  algs: readonly number[]
  exclude: PasskeyDescriptor[]
  /** `false`: a security key, which need not be discoverable or verify its user. */
  isPasskey: boolean
}

export function creationOptions({
  rp,
  userHandle,
  name,
  displayName,
  challenge,
  algs,
  exclude,
  isPasskey
}: Creation): PasskeyCreationOptions {
  return {
    rp,
    user: { id: Buffer.from(userHandle).toString('base64url'), name, displayName },
    challenge,
    pubKeyCredParams: algs.map((alg) => ({ type: 'public-key', alg })),
    timeout: TIMEOUT_MS,
    attestation: 'none',
    authenticatorSelection: isPasskey
      ? { residentKey: 'required', requireResidentKey: true, userVerification: 'required' }
      : { residentKey: 'discouraged', requireResidentKey: false, userVerification: 'discouraged' },
    excludeCredentials: exclude,
    hints: isPasskey ? [] : ['security-key'],
    extensions: { credProps: true }
  }
}

export function requestOptions({
  rpId,
  challenge,
  allow,
  userVerification
}: {
  rpId: string
  challenge: string
  allow: PasskeyDescriptor[]
  userVerification: UserVerification
}): PasskeyRequestOptions {
  return { rpId, challenge, timeout: TIMEOUT_MS, userVerification, allowCredentials: allow }
}

/** The lifetime of a challenge. Browsers get half of it as `timeout`. */
const CHALLENGE_LIFETIME_MS = 10 * 60 * 1000

const RANDOM_BYTES = 16
const STAMPED_BYTES = 24
const CHALLENGE_BYTES = 40
/** The time by which the clock of another instance may be ahead. */
const SKEW_MS = 60 * 1000
/** The time for which an answered challenge must be remembered. After that, the challenge itself is too old. */
export const CLAIM_LIFETIME_MS = CHALLENGE_LIFETIME_MS + SKEW_MS

/**
 * Makes a challenge that need not be stored: 16 random bytes, the time, and 16 bytes of an HMAC over both and
 * `purpose`, so that the challenge is valid only for that purpose. The caller that verifies the answer must make sure
 * that each challenge is used only once.
 * @see W3C WebAuthn Level 3 §13.4.3
 */
export function makeChallenge(
  purpose: string,
  { key, now, random }: { key: Uint8Array; now: number; random: Uint8Array }
): string {
  const stamped = Buffer.alloc(STAMPED_BYTES)
  stamped.set(random.subarray(0, RANDOM_BYTES))
  stamped.writeBigUInt64BE(BigInt(now), RANDOM_BYTES)
  return Buffer.concat([stamped, macOf(stamped, purpose, key)]).toString('base64url')
}

/**
 * True if the challenge was made for this purpose with one of these keys, and is neither too old nor from the future.
 */
export function isChallengeFor(
  purpose: string,
  challenge: string,
  { keys, now }: { keys: readonly Uint8Array[]; now: number }
): boolean {
  const bytes = Buffer.from(challenge, 'base64url')
  if (bytes.length !== CHALLENGE_BYTES || bytes.toString('base64url') !== challenge) return false
  const stamped = bytes.subarray(0, STAMPED_BYTES)
  const mac = bytes.subarray(STAMPED_BYTES)
  if (!keys.some((key) => timingSafeEqual(mac, macOf(stamped, purpose, key)))) return false
  const age = now - Number(stamped.readBigUInt64BE(RANDOM_BYTES))
  return age >= -SKEW_MS && age < CHALLENGE_LIFETIME_MS
}

function macOf(stamped: Buffer, purpose: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(stamped).update(purpose).digest().subarray(0, 16)
}
