import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { digestOfOneTimeToken } from '../protocol/credential.ts'
import type { Origin } from '../sessions/sessions.ts'
import {
  checkEmailChange,
  type Confirmation,
  confirmEmailChange,
  isEmailChange,
  refuseEmailChange
} from './change-email.ts'
import { markProved } from './address-proof.ts'
import { isContested, sendResetOnce } from './reset-password.ts'
import type { AccountsDeps } from './deps.ts'
import {
  byCode,
  type Confirming,
  newConfirmation,
  tokenForCode,
  findMessageToken,
  invalidLink
} from './message-codes.ts'
import { addressed, addressOf, type MessageCause } from './outbox.ts'
import { endPassword } from './change-password.ts'
import { normalizeUsername } from './username.ts'
import { isActive } from '../sessions/active-user.ts'

const LIFETIME_MS = 24 * 60 * 60 * 1000

/** True if users can confirm an address by a link in a message. */
export const canVerifyEmails = ({ users, outbox }: Pick<AccountsDeps, 'users' | 'outbox'>): boolean =>
  (users.setEmailVerified ?? users.update) !== undefined && outbox !== null

/**
 * Sends a link that confirms the user's stored address and works for 24 hours. An earlier link stops working. Sends
 * nothing, and returns `true`, without an address or an outbox, or if the user store can't keep the confirmation.
 * @returns `false` if no link was sent, because an earlier one is less than five minutes old or the address got too
 * many
 */
export async function requestEmailVerification(user: User, cause: MessageCause, deps: AccountsDeps): Promise<boolean> {
  const address = addressOf(user)
  if (address === '' || deps.outbox === null || deps.users.setEmailVerified === undefined) return true
  return await deps.messageBound.send(
    ['verify_email', user.id, address],
    async () => {
      await sendVerification(user, cause, deps)
    },
    { typed: address }
  )
}

async function sendVerification(user: User, cause: MessageCause, deps: AccountsDeps): Promise<void> {
  const { token, digest, shown } = await newConfirmation(confirmingOf(user, cause.asker ?? ''), deps)
  const expiresAt = deps.clock.now() + LIFETIME_MS
  await deps.oneTimeTokens.put({ purpose: 'verify_email', digest, userId: user.id, expiresAt })
  deps.outbox?.post({
    kind: 'verify_email',
    ...cause,
    user: addressed(user),
    url: deps.messageUrl('verify_email', token),
    token,
    expiresAt: new Date(expiresAt),
    ...shown
  })
}

const confirmingOf = (user: User, asker: string): Confirming => ({
  user,
  address: addressOf(user),
  asker,
  boundTo: [addressOf(user), asker]
})

/**
 * Confirms the address by the code in the message. Works only in the browser that asked for the message. For a username
 * that no user has, takes the same steps, and rejects like for a wrong code.
 * @throws OAuthError `invalid_code`
 */
export async function verifyEmailByCode(
  { username, asker, code, ...cause }: MessageCause & { username: string; asker: string; code: string },
  deps: AccountsDeps
): Promise<User | null> {
  const found = await deps.users.findByUsername(normalizeUsername(username) ?? '')
  const user = found ?? { id: '', username: '', passwordHash: null }
  const token = await tokenForCode(confirmingOf(user, asker), code, deps)
  return await byCode(async () => await verifyEmail({ token, ...cause }, deps))
}

/**
 * True if the account's address must and can be confirmed before a second factor is set up. A person may have signed up
 * with another person's address and set up a factor. The owner of the address could then reset the password, but not
 * give that factor. A reset must not remove the factor, or else the mailbox alone would open every account.
 */
export function awaitsConfirmation(user: User, { users, outbox }: Pick<AccountsDeps, 'users' | 'outbox'>): boolean {
  return (
    user.emailVerified !== true && outbox !== null && users.setEmailVerified !== undefined && addressOf(user) !== ''
  )
}

/**
 * Confirms the address that the link was sent to: marks the present address as verified, or makes a change of address.
 * A link works once. The link is used up last, so that it works again if a store fails. An address that was proved
 * meanwhile keeps the time of that proof, so that later links and passwords do not count as older.
 *
 * @returns the user as read before the write; `null` after a change of address
 * @throws OAuthError `invalid_token` with status 400; `temporarily_unavailable`
 */
export async function verifyEmail(
  { token, stay, locale, origin }: Omit<Confirmation, 'locale'> & { locale?: string | undefined },
  deps: AccountsDeps
): Promise<User | null> {
  if (isEmailChange(token)) {
    await confirmEmailChange({ token, stay, locale, origin }, deps)
    return null
  }
  if (deps.users.setEmailVerified === undefined)
    throw new OAuthError('server_error', 'Email addresses can not be verified here.', {
      detail: 'the user store has no setEmailVerified'
    })
  const found = await findMessageToken('verify_email', token, deps)
  if (found === null) throw invalidLink()
  await markProved(found.user, deps.clock.now(), deps)
  const consumed = await deps.oneTimeTokens.consume('verify_email', digestOfOneTimeToken(token) ?? '', deps.clock.now())
  if (consumed === null) throw invalidLink()
  deps.events.emit('email_verified', { userId: found.user.id }, origin)
  return found.user
}

/** The facts for the page that asks whether to confirm an address. */
export interface PendingVerification {
  username: string
  /** Milliseconds since the epoch. */
  sentAt: number
  /** True if the link can report that another person signed up with the address, or asked for the change of address. */
  canDisown: boolean
  /** The address that the account gets; `null`: the link confirms the present address. */
  newAddress: string | null
}

/**
 * Describes what the link would confirm, for the page that asks. Does not use up the link.
 * @throws OAuthError `invalid_token` with status 400
 */
export async function checkVerificationToken(token: string, deps: AccountsDeps): Promise<PendingVerification> {
  if (isEmailChange(token)) {
    const { user, address, sentAt, isMade } = await checkEmailChange(token, deps)
    return { username: user.username, sentAt, canDisown: !isMade, newAddress: address }
  }
  const found = await findMessageToken('verify_email', token, deps)
  if (found === null) throw invalidLink()
  return {
    username: found.user.username,
    sentAt: found.record.expiresAt - LIFETIME_MS,
    canDisown: canDisown(found.user, deps),
    newAddress: null
  }
}

/**
 * "This was not me", pressed by the owner of an address with which another person signed up. Ends the password and all
 * sign-ins, so that the other person can't wait in the account until the owner uses it. The address stays unconfirmed,
 * and its owner can get the account by a password reset. Uses up the link. For a change of address, refuses the change.
 * @throws OAuthError `invalid_token` with status 400, also for a confirmed address; `temporarily_unavailable`
 */
export async function disownAccount(
  { token, origin }: { token: string; origin: Origin },
  deps: AccountsDeps
): Promise<void> {
  if (isEmailChange(token)) {
    await refuseEmailChange({ token, locale: undefined, origin }, deps)
    return
  }
  const found = await findMessageToken('verify_email', token, deps)
  if (found === null || !canDisown(found.user, deps)) throw invalidLink()
  // Rejects if the password changes at this moment. The link then still works, so that its reader can decide again.
  await endPassword(found.user, { by: 'disowned', origin }, deps)
  // Uses the link up last, so that it works again after a failure.
  if ((await deps.oneTimeTokens.consume('verify_email', digestOfOneTimeToken(token) ?? '', deps.clock.now())) === null)
    throw invalidLink()
}

/** Nobody can disown an account with a confirmed address, because it belongs to the user. */
function canDisown(user: User, { users }: AccountsDeps): boolean {
  return user.emailVerified !== true && users.setPasswordHash !== undefined
}

/**
 * Sends the confirmation message again, for any caller who names the account. With `signsUp`, a confirmed account gets
 * the message of a repeated sign-up. A contested account gets a reset link, which proves the address too. Always
 * resolves, in a time that reveals nothing: reads the user in the background. Sends each kind of link at most once in
 * five minutes.
 */
export async function requestVerificationAgain(
  { username, signsUp, ...cause }: { username: string; signsUp: boolean } & MessageCause,
  deps: AccountsDeps
): Promise<void> {
  const name = normalizeUsername(username)
  if (name === null) return
  deps.background.run(`verify again ${name}`, 'an email verification message could not be prepared', async () => {
    const user = await deps.users.findByUsername(name)
    if (!isActive(user)) return
    if (user.emailVerified !== true) await sendVerificationAgain(user, cause, deps)
    else if (signsUp) await sendResetOnce(user, { kind: 'already_registered', ...cause }, deps)
  })
}

/**
 * Sends the confirmation message to a known user again, or a reset link if the account is contested. Sends nothing to a
 * user with a confirmed address, and returns `true`.
 * @returns `false` if no message was sent, because one is less than five minutes old or the address got too many
 */
export async function sendVerificationAgain(user: User, cause: MessageCause, deps: AccountsDeps): Promise<boolean> {
  if (user.emailVerified === true) return true
  return (await isContested(user, deps))
    ? await sendResetOnce(user, { kind: 'password_reset', ...cause }, deps)
    : await requestEmailVerification(user, cause, deps)
}
