import { OAuthError } from '../errors.ts'
import type { OneTimeToken, OneTimeTokenPurpose } from '../ports/state.ts'
import type { User } from '../ports/user-store.ts'
import { digestOfOneTimeToken, isBoundTo } from '../protocol/credential.ts'
import { isActive } from '../sessions/active-user.ts'
import type { AccountsDeps } from './deps.ts'
import { addressOf } from './outbox.ts'

/**
 * The one error for every bad link: unknown, used, expired, made for something else, sent to a former address, or of a
 * user who is removed or disabled.
 */
export function invalidLink(): OAuthError {
  return new OAuthError('invalid_token', 'The link is invalid or has expired.', { statusCode: 400 })
}

/** Everything that opens something of the account and may be in a mailbox, in a hand or on a page. */
const OPEN: readonly OneTimeTokenPurpose[] = [
  'password_reset',
  'verify_email',
  'email_change',
  'contested_sign_up',
  'enrolment',
  'invitation',
  'invitation_done'
]

/** Ends the user's links but those of `except`. Idempotent. */
export async function endOpenTokens(
  userId: string,
  { oneTimeTokens }: Pick<AccountsDeps, 'oneTimeTokens'>,
  except?: OneTimeTokenPurpose
): Promise<void> {
  await Promise.all(
    OPEN.filter((purpose) => purpose !== except).map(async (purpose) => {
      await oneTimeTokens.discard(purpose, userId)
    })
  )
}

/** True if the browser with this secret asked for the message with the token, which was found. */
export const isAskedBy = (purpose: 'password_reset' | 'verify_email', token: string, asker: string): boolean =>
  asker !== '' && isBoundTo(token, purpose === 'verify_email' ? 1 : 2, asker)

/**
 * The token of a message with its present user; `null` if the link is not good. Does not use it up. A link proves the
 * mailbox that it went to, and counts only while the account has that address.
 */
export async function findMessageToken(
  purpose: Exclude<
    OneTimeTokenPurpose,
    | 'password_change'
    | 'kept_session'
    | 'contested_sign_up'
    | 'email_change'
    | 'enrolment'
    | 'factor_undo'
    | 'email_undo'
    | 'email_undo_open'
    | 'undo_done'
    | 'factor_reset'
  >,
  token: string,
  { oneTimeTokens, users, clock }: AccountsDeps
): Promise<{ record: OneTimeToken; user: User } | null> {
  const tokenDigest = digestOfOneTimeToken(token)
  const record = tokenDigest === null ? null : await oneTimeTokens.find(purpose, tokenDigest, clock.now())
  const user = record === null ? null : await users.findById(record.userId)
  return record === null || !isActive(user) || !isBoundTo(token, 0, addressOf(user)) ? null : { record, user }
}
