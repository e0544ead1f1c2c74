/**
 * The rules of usernames: one normal form for finding users, uniqueness and rate limits, and the names that a new
 * account may have.
 * @see RFC 5321 §4.5.3.1, RFC 8265 §3 (why more than case has to be mapped or refused)
 */
import { domainToASCII, domainToUnicode } from 'node:url'
import { OAuthError } from '../errors.ts'

const MAX_LENGTH = 254
/**
 * The refused characters: controls, format and default-ignorable characters, private use, lone surrogates, unassigned
 * code points, white space, and the characters `" , < >`, which have a meaning in a mail header.
 */
const REFUSED = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s,"<>]/u

const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const NAME = /^[a-z0-9][a-z0-9._-]{2,63}$/

/** True for a character that NFC replaces with one other character, such as KELVIN SIGN with K. */
function isSingleton(character: string): boolean {
  const composed = character.normalize('NFC')
  return composed !== character && [...composed].length === 1
}

/**
 * Lower-cases the NFC form. `null` if that changes the number of characters (U+0130), if the result would change when
 * it is folded again, or if the text contains compatibility forms (NFKC).
 */
function fold(text: string): string | null {
  const composed = text.normalize('NFC')
  if (composed.normalize('NFKC') !== composed) return null
  const lower = composed.toLowerCase()
  if ([...lower].length !== [...composed].length || lower.normalize('NFKC').toLowerCase() !== lower) return null
  return lower
}

/**
 * The A-label form of an internationalized domain. `null`: not valid. Returns an ASCII domain unchanged and unchecked.
 * Refuses an internationalized domain with other ASCII characters than `a-z0-9.-`: `domainToASCII` parses a URL's host,
 * and would drop everything after a slash.
 */
function asciiDomain(domain: string): string | null {
  if (/^[\x21-\x7e]*$/.test(domain)) return domain
  if (/[\x21-\x7e]/.test(domain.replace(/[a-z0-9.-]/g, ''))) return null
  const ascii = domainToASCII(domain)
  return /^[a-z0-9.-]+$/.test(ascii) ? ascii : null
}

/**
 * The normal form of a username, for finding users, uniqueness and rate limits: NFC, lower case, the domain of an email
 * in ASCII. `null`: not a valid username. Idempotent. Two inputs with the same result differ only in case, in Unicode
 * composition or in the form of the domain. Refuses characters that another system might replace by others: full width,
 * ligatures, KELVIN SIGN, dotted capital I.
 */
export function normalizeUsername(input: string): string | null {
  // Checks the length first, so that the other checks never run on a very long text.
  if (input.length === 0 || input.length > MAX_LENGTH || REFUSED.test(input) || [...input].some(isSingleton))
    return null
  const folded = fold(input)
  if (folded === null) return null
  const at = folded.indexOf('@')
  if (at === -1 || at !== folded.lastIndexOf('@')) return folded.length > MAX_LENGTH ? null : folded
  const domain = asciiDomain(folded.slice(at + 1))
  if (domain === null) return null
  const address = `${folded.slice(0, at)}@${domain}`
  return address.length > MAX_LENGTH ? null : address
}

/**
 * The name under which guesses of a password count, the same for each spelling. Text that can't be a username counts
 * too, so that the limits do not tell which usernames are possible.
 */
export const countedName = (typed: string): string => normalizeUsername(typed) ?? typed

function isDomain(domain: string): boolean {
  const labels = domain.split('.')
  // A numeric last label is an IP address (RFC 3696 §2). `domainToASCII` refuses a hexadecimal one. Decoding leaves an
  // invalid A-label unchanged. Only some releases of Node.js refuse an invalid A-label in `domainToASCII`.
  return (
    labels.length > 1 &&
    labels.every((label) => LABEL.test(label)) &&
    !/^\d+$/.test(labels.at(-1) ?? '') &&
    domainToASCII(domain) === domain &&
    !domainToUnicode(domain)
      .split('.')
      .some((label) => label.startsWith('xn--'))
  )
}

function isEmail(username: string): boolean {
  if (username.length > MAX_LENGTH) return false
  const at = username.lastIndexOf('@')
  const local = username.slice(0, Math.max(at, 0))
  return local.length <= 64 && LOCAL_PART.test(local) && isDomain(username.slice(at + 1))
}

/**
 * Returns a sentence with the reason why a new account can't have this name. `null`: it can. Takes a result of
 * `normalizeUsername`. A new name is an email address (unquoted ASCII local part, domain with a dot), or it has 3 to 64
 * characters of `a-z`, `0-9`, `.`, `_` and `-`, and begins with a letter or digit.
 */
export function checkNewUsername(normalized: string): string | null {
  if (normalizeUsername(normalized) !== normalized) return 'The username holds characters that are not allowed.'
  if (normalized.includes('@')) return isEmail(normalized) ? null : 'The email address is not valid.'
  return NAME.test(normalized)
    ? null
    : 'The username must be an email address or 3 to 64 characters of a-z, 0-9, dot, underscore ' +
        'and hyphen, beginning with a letter or digit.'
}

/** Returns a normalized username if it is an email address, otherwise `null`. */
export function emailOf(username: string): string | null {
  return isEmail(username) ? username : null
}

/** True if the username is an email address, so that it changes together with the address of the account. */
export function isNamedByAddress({ username }: { username: string }): boolean {
  return isEmail(username)
}

/** Normalizes an email address. @throws OAuthError `invalid_request` if the value is not an email address */
export function readAddress(value: unknown): string {
  const normalized = typeof value === 'string' ? normalizeUsername(value) : null
  const address = normalized === null ? null : emailOf(normalized)
  if (address === null)
    throw new OAuthError('invalid_request', 'email: The email address is not valid.', {
      field: 'email',
      reason: 'email_form'
    })
  return address
}
