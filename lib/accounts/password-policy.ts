/**
 * The rules for a new password. A password is never changed on its way to the hash: no trimming, no normalization, no
 * truncation. @see NIST SP 800-63B-4 §3.1.1.2
 */
import { isMisfit, OAuthError, type PasswordRefusalReason } from '../errors.ts'
import type { Clock } from '../ports/clock.ts'

export interface PasswordPolicyOptions {
  /** Code points. */
  minLength: number
  /** Bytes of UTF-8. */
  maxBytes: number
  /**
   * Words that an attacker would try here first: the service's name, the issuer's host. Words below 4 characters are
   * ignored.
   */
  contextWords: readonly string[]
  /** The host's check in a set of breached passwords. `null`: none. */
  isBreached: ((password: string) => boolean | Promise<boolean>) | null
}

interface PasswordPolicyDeps {
  clock: Pick<Clock, 'after'>
  /** Called if `isBreached` threw, rejected or took more than 2 seconds. That check is then skipped. */
  onHookFailure(error: unknown): void
}

/** The reason why a new password is refused. */
export interface PasswordRefusal {
  reason: PasswordRefusalReason
  /** A sentence for the response. */
  message: string
}

interface PasswordOwner {
  username: string
  email?: string | undefined
}

export interface PasswordPolicy {
  /**
   * Resolves to the reason why a new password is refused, or to `null`. `of`: the future owner of the password. `null`:
   * the owner is not known, and `isBreached` is not called.
   * @throws MisfitError if `isBreached` does not return a boolean
   */
  check(password: string, of: PasswordOwner | null): Promise<PasswordRefusal | null>
  /**
   * For sign-in: true if the password may be hashed at all. Does not apply the policy, so that older passwords still
   * work.
   */
  fits(password: string): boolean
}

const HOOK_TIMEOUT_MS = 2000
/** Shorter context words are not looked for, because too many good passwords contain them by chance. */
const MIN_WORD = 4
const MIN_REST = 4

function countCodePoints(text: string): number {
  return [...text].length
}

function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

function asCompared(text: string): string {
  return text.normalize('NFC').toLowerCase()
}

/**
 * Returns the texts, and the parts into which all characters but letters, marks and digits split them. Leaves out words
 * below 4 characters: `ada.lovelace@x` gives itself and `lovelace`.
 */
function wordsOf(texts: readonly string[]): string[] {
  const words = new Set<string>()
  for (const text of texts.map(asCompared)) {
    for (const word of [text, ...text.split(/[^\p{L}\p{M}\p{N}]+/u)]) {
      if (countCodePoints(word) >= MIN_WORD) words.add(word)
    }
  }
  // Sorts the longest first, so that a short word is not removed from the middle of a longer one.
  return [...words].sort((a, b) => b.length - a.length)
}

/**
 * True if the password contains one of the words, and fewer than `MIN_REST` letters besides them. Digits and
 * punctuation do not count.
 */
function isMadeOf(words: readonly string[], password: string): boolean {
  const compared = asCompared(password)
  let rest = compared
  // Replaces each word with a space, so that the letters to its left and right do not join.
  for (const word of words) rest = rest.replaceAll(word, ' ')
  return rest !== compared && countCodePoints(rest.replace(/[^\p{L}\p{M}]/gu, '')) < MIN_REST
}

/** @throws OAuthError `invalid_password` with the reason, if the policy refuses the password */
export async function requireGoodPassword(
  policy: PasswordPolicy,
  password: string,
  of: PasswordOwner | null
): Promise<void> {
  const refusal = await policy.check(password, of)
  if (refusal !== null) throw new OAuthError('invalid_password', refusal.message, { reason: refusal.reason })
}

/** The module with the list of common passwords. Loaded once, when a new password is first compared with the list. */
let common: Promise<{ isCommonPassword(password: string): boolean }> | undefined

export function createPasswordPolicy(options: PasswordPolicyOptions, deps: PasswordPolicyDeps): PasswordPolicy {
  const { minLength, maxBytes, contextWords, isBreached } = options

  async function isKnownAsBreached(password: string): Promise<boolean> {
    if (isBreached === null) return false
    let cancel = (): void => {}
    const late = new Promise<never>((_resolve, reject) => {
      cancel = deps.clock.after(HOOK_TIMEOUT_MS, () => {
        reject(new Error(`password.isBreached took more than ${HOOK_TIMEOUT_MS} ms`))
      })
    })
    try {
      return await Promise.race([isBreached(password), late])
    } catch (error) {
      // Rethrows a wrong return type. Otherwise a hook that returns a count would let every breached password through.
      if (isMisfit(error)) throw error
      // Goes on with the other checks: an outage of the host's check must not stop registration and password reset.
      deps.onHookFailure(error)
      return false
    } finally {
      cancel()
    }
  }

  function fits(password: string): boolean {
    return Buffer.byteLength(password) <= maxBytes && isWellFormed(password)
  }

  return {
    fits,
    async check(password, of) {
      const { username, email } = of ?? { username: '' }
      if (Buffer.byteLength(password) > maxBytes)
        return { reason: 'too_long', message: `The password must have at most ${maxBytes} bytes.` }
      if (!isWellFormed(password)) return { reason: 'not_unicode', message: 'The password is not valid Unicode.' }
      if (countCodePoints(password) < minLength)
        return { reason: 'too_short', message: `The password must have at least ${minLength} characters.` }
      const { isCommonPassword } = await (common ??= import('./common-passwords.ts'))
      if (isCommonPassword(password))
        return { reason: 'too_common', message: 'The password is one of the most common ones.' }
      const [local = ''] = (email ?? '').split('@')
      const [localOfUsername = ''] = username.split('@')
      if (isMadeOf(wordsOf([username, localOfUsername, email ?? '', local, ...contextWords]), password)) {
        return {
          reason: 'context_word',
          message: 'The password is made of the username or of words that belong to this service.'
        }
      }
      if (of !== null && (await isKnownAsBreached(password)))
        return { reason: 'breached', message: 'The password is known from a data breach.' }
      return null
    }
  }
}
