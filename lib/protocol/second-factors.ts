import { createHmac } from 'node:crypto'
import { typedCode } from './typed-code.ts'

/** The factors that users can set up besides a password, by their names in options and answers. */
export const FACTOR_METHODS = ['totp', 'passkey', 'recovery_code'] as const
export type FactorMethod = (typeof FACTOR_METHODS)[number]

/** The reason why an account is asked for a second factor. `null`: the account is not asked. */
type TwoStepBecause = 'app' | 'required' | 'chosen' | null

/** The fields of a user's factors that decide on the second step. */
interface TwoStepFactors {
  totp: readonly unknown[]
  twoStepChosen: boolean
}

interface HeldFactors {
  totp: readonly unknown[]
  passkeys: readonly unknown[]
}

/**
 * True if the user has any factor. `null` means that second factors are off, and gives `false`. (`twoStepOf` decides if
 * sign-ins ask for a second step.)
 */
export function hasFactor(found: HeldFactors): boolean
export function hasFactor<Found extends HeldFactors>(found: Found | null): found is Found
export function hasFactor(found: HeldFactors | null): boolean {
  return found !== null && (found.totp.length > 0 || found.passkeys.length > 0)
}

/**
 * Decides whether sign-ins of an account take a second step, and why. A passkey does not turn the second step on,
 * because it is a complete sign-in by itself. A disabled app counts, because otherwise wrong guesses could turn the
 * second step off. `isRequired`: the answer of `mfa.required` for the user.
 */
export function twoStepOf(
  { totp, twoStepChosen }: TwoStepFactors,
  isRequired: boolean
): { on: boolean; because: TwoStepBecause } {
  const because = totp.length > 0 ? 'app' : isRequired ? 'required' : twoStepChosen ? 'chosen' : null
  return { on: because !== null, because }
}

/**
 * True if adding an app ends the user's other sign-ins: the user has no app yet and has not turned two-step sign-in on.
 * The option `mfa.required` makes no difference.
 */
export const appEndsOthers = (found: TwoStepFactors): boolean => !twoStepOf(found, false).on

/**
 * Recovery codes have 80 random bits each. The store keeps a MAC of each under a key of the user, so that a copy of the
 * store alone does not help to guess a code. A code replaces the second factor, never the first.
 * @see NIST SP 800-63B-4 §3.1.2.2, §4.2.1.1; OWASP ASVS 5.0 6.5.2 asks for a password hash below 112 bits
 */

export const RECOVERY_CODES = 10
const CODE_BYTES = 10
const CODE_LENGTH = 16
/** Crockford's alphabet, which has no characters that look alike. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** Formats the first 80 bits as a code of the form `xxxx-xxxx-xxxx-xxxx`. */
export function recoveryCode(random: Uint8Array): string {
  if (random.length < CODE_BYTES) throw new RangeError(`A recovery code takes ${CODE_BYTES} random bytes.`)
  const bits = [...random.subarray(0, CODE_BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{20}/g) ?? [])
    .map((twenty) => (twenty.match(/.{5}/g) ?? []).map((five) => ALPHABET.charAt(parseInt(five, 2))).join(''))
    .join('-')
}

/** Normalizes a typed code for its digest. `null`: not a recovery code. */
export function readRecoveryCode(typed: string): string | null {
  const code = typedCode(typed, 128).toLowerCase().replaceAll('o', '0').replace(/[il]/g, '1')
  const isCode = code.length === CODE_LENGTH && [...code].every((character) => ALPHABET.includes(character))
  return isCode ? code : null
}

/** The digests by which a code is found: a MAC under a key of the user, once for each configured key. */
export function recoveryDigests(code: string, userId: string, keys: readonly Uint8Array[]): string[] {
  return keys.map((key) => {
    const ofUser = createHmac('sha256', key).update(userId).digest()
    return createHmac('sha256', ofUser).update(code).digest('base64url')
  })
}
