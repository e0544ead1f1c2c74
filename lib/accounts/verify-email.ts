import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { digestOfOneTimeToken, oneTimeToken } from '../protocol/one-time-token.ts'
import type { Origin } from '../tokens/sessions.ts'
import { isActive } from '../tokens/active-user.ts'
import type { AccountsDeps } from './deps.ts'
import { addressed } from './messages.ts'

const LIFETIME_MS = 24 * 60 * 60 * 1000

/** Unknown, used, expired, made for something else, of a user who is gone or disabled: one answer. */
export function invalidLink (): OAuthError {
  return new OAuthError('invalid_token', 'The link is invalid or has expired.', { statusCode: 400 })
}

/** Posts a link that confirms the user's stored address, good for 24 hours; an earlier one stops working. Does nothing without an address or an outbox. */
export async function requestEmailVerification (user: User, deps: AccountsDeps): Promise<void> {
  const recipient = addressed(user)
  if (recipient.email === undefined || recipient.email === '' || deps.outbox === null) return
  const { token, digest } = oneTimeToken(user.id, deps.random.secret())
  const expiresAt = deps.clock.now() + LIFETIME_MS
  await deps.oneTimeTokens.put({ purpose: 'verify_email', digest, userId: user.id, expiresAt })
  deps.outbox.post({ kind: 'verify_email', user: recipient, url: deps.messageUrl('verify_email', token), token, expiresAt: new Date(expiresAt) })
}

/**
 * Marks the address as the user's own. A token works once; where the user store fails, it works again.
 *
 * @throws OAuthError `invalid_token` with status 400
 */
export async function verifyEmail ({ token, origin }: { token: string, origin: Origin }, deps: AccountsDeps): Promise<void> {
  if (deps.users.setEmailVerified === undefined) throw new OAuthError('server_error', 'E-mail addresses can not be verified here.', { detail: 'the user store has no setEmailVerified' })
  const tokenDigest = digestOfOneTimeToken(token)
  const consumed = tokenDigest === null ? null : await deps.oneTimeTokens.consume('verify_email', tokenDigest, deps.clock.now())
  if (consumed === null) throw invalidLink()
  let user: User | null
  try {
    user = await deps.users.findById(consumed.userId)
    if (user !== null && !user.disabled) await deps.users.setEmailVerified(user.id)
  } catch (error) {
    await putBack(consumed, deps)
    throw error
  }
  if (user === null || user.disabled) throw invalidLink()
  deps.events.emit('email_verified', { userId: user.id, ...origin })
}

/**
 * Looks whether the token of a message would confirm an address now, and uses nothing up.
 *
 * @throws OAuthError `invalid_token` with status 400
 */
export async function checkVerificationToken (token: string, { oneTimeTokens, users, clock }: AccountsDeps): Promise<void> {
  const tokenDigest = digestOfOneTimeToken(token)
  const found = tokenDigest === null ? null : await oneTimeTokens.find('verify_email', tokenDigest, clock.now())
  if (found === null || !isActive(await users.findById(found.userId))) throw invalidLink()
}

/** Undoes a `consume` whose purpose the user store could not fulfil. Never rejects: the failure that led here is the one to tell. */
export async function putBack (token: Parameters<AccountsDeps['oneTimeTokens']['put']>[0], deps: AccountsDeps): Promise<void> {
  try {
    await deps.oneTimeTokens.put(token)
  } catch (error) {
    deps.onError(error, 'a token that was not used could not be put back')
  }
}
