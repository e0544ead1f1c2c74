import { createHmac } from 'node:crypto'
import { OAuthError } from '../../errors.ts'
import { partitionOf } from '../../protocol/digest.ts'

const DIGITS = 8

/** The sealed content of the browser that asked for a code. */
export interface PendingCode {
  /** As it was typed, normalised. */
  name: string
  /**
   * The id of the browser, if the user of this name had had a session in it before they asked for the code; else
   * `null`.
   */
  device: string | null
  nonce: string
  expiresAt: number
}

/** A new code, of 256 random bits: eight decimal digits, each as likely as any other. @see OWASP ASVS 5.0 6.5.4 */
export function codeFrom(secret: string): string {
  return String(BigInt(`0x${Buffer.from(secret, 'base64url').toString('hex')}`) % 10n ** BigInt(DIGITS)).padStart(
    DIGITS,
    '0'
  )
}

/** As people read it: `1234 5678`. */
export function shownCode(code: string): string {
  return `${code.slice(0, DIGITS / 2)} ${code.slice(DIGITS / 2)}`
}

/**
 * The typed or pasted code, without white space and hyphens, in the digits of ASCII.
 * @throws OAuthError `invalid_code` for a text that can't be a code. That is a slip and no guess: it is not counted.
 */
export function readCode(typed: string): string {
  const code = typed
    .slice(0, 64)
    .normalize('NFKC')
    .replaceAll(/[\s\p{Pd}]+/gu, '')
  if (!/^\d{8}$/.test(code))
    throw new OAuthError('invalid_code', 'The code has eight digits.', {
      field: 'code',
      reason: 'email_code_form',
      withoutStack: true
    })
  return code
}

/**
 * The user id that a code is stored under, with the wrong guesses at it. It is made of the name that was typed, whether
 * anybody has that name or not, and tells it to nobody without the key. A browser in which the person has had a session
 * has an owner of its own, so that no stranger replaces the code that was asked for there or uses up its guesses.
 */
export function ownerOf(key: Uint8Array, { name, device }: Pick<PendingCode, 'name' | 'device'>): string {
  return mac(key, ['owner', name, ...(device === null ? [] : [device])])
}

interface BoundCode {
  owner: string
  /** Kept by the browser that asked, in a cookie. In any other browser the code is refused. */
  nonce: string
  code: string
  /**
   * The mailbox that it went to. The code is refused once the account has another address, of which it proves nothing.
   */
  address: string
}

/** The digest that the store keeps of a code, after the partition of its owner. */
export function digestOfCode(key: Uint8Array, { owner, nonce, code, address }: BoundCode): string {
  return partitionOf(owner) + mac(key, ['code', owner, nonce, code, address])
}

function mac(key: Uint8Array, parts: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}
