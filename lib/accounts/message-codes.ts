import { createHmac } from 'node:crypto'
import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { oneTimeToken, digestOfOneTimeToken, isBoundTo } from '../protocol/credential.ts'
import { MAX_CODE_SECONDS } from '../protocol/bounds.ts'
import { partitionOf } from '../protocol/digest.ts'
import { asciiDigits, typedCode } from '../protocol/typed-code.ts'
import type { AccountsDeps } from './deps.ts'
import type { OneTimeToken } from '../ports/state.ts'
import { isActive } from '../sessions/active-user.ts'
import { addressOf } from './outbox.ts'

const DIGITS = 8

/**
 * Derives a code of eight decimal digits from 256 random bits. All codes are practically equally likely.
 * @see OWASP ASVS 5.0 6.5.4
 */
export function codeFrom(secret: string): string {
  return String(BigInt(`0x${Buffer.from(secret, 'base64url').toString('hex')}`) % 10n ** BigInt(DIGITS)).padStart(
    DIGITS,
    '0'
  )
}

/** The code as people read it: `1234 5678`. */
export function shownCode(code: string): string {
  return `${code.slice(0, DIGITS / 2)} ${code.slice(DIGITS / 2)}`
}

/**
 * Reads a typed or pasted code as eight ASCII digits.
 * @throws OAuthError `invalid_code` for a text that can't be a code. The caller must not count it as a guess
 */
export function readCode(typed: string): string {
  const code = asciiDigits(typedCode(typed))
  if (!/^\d{8}$/.test(code))
    throw new OAuthError('invalid_code', 'The code has eight digits.', {
      field: 'code',
      reason: 'email_code_form',
      withoutStack: true
    })
  return code
}

interface BoundCode {
  owner: string
  /** A secret in a cookie of the browser that asked. In any other browser the code is refused. */
  nonce: string
  code: string
  /**
   * The address that the code was sent to. The code is refused once the account has another address, because it proves
   * nothing about the new one.
   */
  address: string
}

/** The digest of a code for the store, with the partition of its owner before it. */
export function digestOfCode(key: Uint8Array, { owner, nonce, code, address }: BoundCode): string {
  return partitionOf(owner) + macOf(key, ['code', owner, nonce, code, address])
}

export function macOf(key: Uint8Array, parts: readonly string[]): string {
  return createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
}

/** A message that confirms an address of a user, for a browser with the secret `asker`. */
export interface Confirming {
  user: Pick<User, 'id'>
  address: string
  asker: string
  /** Values that must be the same when the code is used, as `boundTo` of `oneTimeToken`. */
  boundTo: readonly string[]
  carried?: string
}

type CodesDeps = Pick<AccountsDeps, 'codes' | 'oneTimeTokens' | 'clock' | 'random'>

/**
 * The owner of a code: one account in one browser. So other browsers can neither replace the code nor use up its
 * guesses.
 */
const ownerOf = (key: Uint8Array, { user, asker }: Confirming): string => macOf(key, ['confirmation', user.id, asker])

/** Derives the token of the link in the same message as this code. Only this service has the key for that. */
const tokenOf = (key: Uint8Array, confirming: Confirming, code: string): ReturnType<typeof oneTimeToken> =>
  oneTimeToken(
    confirming.user.id,
    macOf(key, ['link', ownerOf(key, confirming), confirming.address, code]),
    confirming.boundTo,
    confirming.carried
  )

const bound = (key: Uint8Array, confirming: Confirming, code: string): BoundCode => ({
  owner: ownerOf(key, confirming),
  nonce: confirming.asker,
  code,
  address: confirming.address
})

/**
 * Makes the token for the link of a message, and a code that can be typed instead in the browser that asked. Makes no
 * code if no browser asked or the state can't count wrong codes.
 */
export async function newConfirmation(
  confirming: Confirming,
  { codes, oneTimeTokens, clock, random }: CodesDeps
): Promise<ReturnType<typeof oneTimeToken> & { shown: { code?: string; codeExpiresAt?: Date } }> {
  const { user, asker, boundTo, carried } = confirming
  if (codes === null || asker === '') return { ...oneTimeToken(user.id, random.secret(), boundTo, carried), shown: {} }
  const code = codeFrom(random.secret())
  const expiresAt = clock.now() + MAX_CODE_SECONDS * 1000
  await oneTimeTokens.put({
    purpose: 'sign_in_code',
    digest: digestOfCode(codes.key, bound(codes.key, confirming, code)),
    userId: ownerOf(codes.key, confirming),
    expiresAt
  })
  return {
    ...tokenOf(codes.key, confirming, code),
    shown: { code: shownCode(code), codeExpiresAt: new Date(expiresAt) }
  }
}

/**
 * Returns the token of the link that the typed code stands for. Uses up the code, but not the token.
 * @throws OAuthError `invalid_code`, with the same text for every cause. For a taken username there is no code, and the
 * error must not reveal that the name is taken
 */
export async function tokenForCode(confirming: Confirming, code: string, { codes, clock }: CodesDeps): Promise<string> {
  if (codes === null) throw wrongConfirmation()
  const outcome = await codes.redeem({
    purpose: 'sign_in_code',
    owner: ownerOf(codes.key, confirming),
    codeDigest: digestOfCode(codes.key, bound(codes.key, confirming, code)),
    now: clock.now()
  })
  if (outcome !== 'redeemed') throw wrongConfirmation()
  return tokenOf(codes.key, confirming, code).token
}

function wrongConfirmation(): OAuthError {
  return new OAuthError('invalid_code', 'The code is wrong or has expired.', {
    field: 'code',
    reason: 'email_code_refused',
    withoutStack: true
  })
}

/**
 * Runs `work` for a typed code. Reports an invalid link as a wrong code, because the user typed a code and saw no link.
 */
export async function byCode<Done>(work: () => Promise<Done>): Promise<Done> {
  return await work().catch((error: unknown) => {
    throw error instanceof OAuthError && error.error === 'invalid_token' ? wrongConfirmation() : error
  })
}

/**
 * The one error for every bad link: unknown, used, expired, made for something else, sent to a former address, or of a
 * user who is removed or disabled.
 */
export function invalidLink(): OAuthError {
  return new OAuthError('invalid_token', 'The link is invalid or has expired.', { statusCode: 400 })
}

/**
 * True if the browser with the secret `asker` asked for the message. The caller must have found the token in the store
 * before.
 */
export const isAskedBy = (purpose: 'password_reset' | 'verify_email', token: string, asker: string): boolean =>
  asker !== '' && isBoundTo(token, purpose === 'verify_email' ? 1 : 2, asker)

/**
 * Finds the token of a link in a message, with its present user. `null` if the link does not work. Does not use up the
 * token. A link proves the mailbox that it was sent to, so it works only while the account has that address.
 */
export async function findMessageToken(
  purpose: 'password_reset' | 'verify_email' | 'invitation' | 'invitation_done',
  token: string,
  { oneTimeTokens, users, clock }: AccountsDeps
): Promise<{ record: OneTimeToken; user: User } | null> {
  const tokenDigest = digestOfOneTimeToken(token)
  const record = tokenDigest === null ? null : await oneTimeTokens.find(purpose, tokenDigest, clock.now())
  const user = record === null ? null : await users.findById(record.userId)
  return record === null || !isActive(user) || !isBoundTo(token, 0, addressOf(user)) ? null : { record, user }
}
