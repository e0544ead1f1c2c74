import { digest } from './digest.ts'

/**
 * Recovery codes: 120 random bits each, so that a plain digest is enough to keep them by. A code stands for the second
 * factor, never for the first.
 * @see NIST SP 800-63B-4 §3.1.2.2, §4.2.1.1
 */

export const RECOVERY_CODES = 10
const CODE_BYTES = 15
const CODE_LENGTH = 24
/** Crockford's alphabet, in which nothing looks like anything else. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** A code of the first 120 bits of what is given, as it is shown: `xxxx-xxxx-xxxx-xxxx-xxxx-xxxx`. */
export function recoveryCode(random: Uint8Array): string {
  if (random.length < CODE_BYTES) throw new RangeError(`A recovery code takes ${CODE_BYTES} random bytes.`)
  const bits = [...random.subarray(0, CODE_BYTES)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{20}/g) ?? [])
    .map((twenty) => (twenty.match(/.{5}/g) ?? []).map((five) => ALPHABET.charAt(parseInt(five, 2))).join(''))
    .join('-')
}

/** What is kept of a code, by which it is found. `null`: what was typed is no recovery code. */
export function recoveryDigest(typed: string): string | null {
  if (typed.length > 128) return null
  const code = typed
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\p{Cf}\p{Pd}]/gu, '')
    .replaceAll('o', '0')
    .replace(/[il]/g, '1')
  const isCode = code.length === CODE_LENGTH && [...code].every((character) => ALPHABET.includes(character))
  return isCode ? digest(`recovery ${code}`) : null
}
