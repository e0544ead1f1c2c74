import { createHmac, timingSafeEqual } from 'node:crypto'

/** How long an answer may take. Browsers are told half of it (`timeout`). */
const CHALLENGE_LIFETIME_MS = 10 * 60 * 1000

const RANDOM_BYTES = 16
const STAMPED_BYTES = 24
const CHALLENGE_BYTES = 40
/** A clock of another instance may be ahead. */
const SKEW_MS = 60 * 1000
/** How long a challenge that was answered has to be remembered. After that it is refused for its age. */
export const CLAIM_LIFETIME_MS = CHALLENGE_LIFETIME_MS + SKEW_MS

/**
 * A challenge that need not be stored: 16 random bytes, the time, and 16 bytes of an HMAC over both and `purpose`, so
 * that it is good for that purpose alone. The verifier of an answer must make sure that it counts once.
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

/** True if the challenge was made for this purpose with one of these keys, and is not too old at `now`. */
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
