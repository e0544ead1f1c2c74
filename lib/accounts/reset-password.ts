import { isActive } from '../sessions/active-user.ts'
import { OAuthError } from '../errors.ts'
import { NO_REQUEST } from '../events.ts'
import type { User } from '../ports/user-store.ts'
import { isBoundTo, oneTimeToken } from '../protocol/credential.ts'
import type { Origin } from '../sessions/sessions.ts'
import { markProved } from './address-proof.ts'
import { verifyOnce } from './authenticate-password.ts'
import type { AccountsDeps } from './deps.ts'
import { addressed, addressOf, type MessageCause } from './outbox.ts'
import { findMessageToken, invalidLink } from './message-codes.ts'
import { finishNewPassword, isUnfinished, type NewPassword, setNewPassword } from './change-password.ts'
import { requireGoodPassword } from './password-policy.ts'
import { normalizeUsername } from './username.ts'
import { ownerConnection } from './ways-in.ts'
import { digest, partitionOf } from '../protocol/digest.ts'

const LIFETIME_MS = 30 * 60 * 1000

/**
 * Sends a reset link to the user with this name, unless there is none, the user is disabled, or a connection manages
 * the account. Always resolves, in a time that reveals nothing: reads the user in the background, so that no failure of
 * a store or of the mail changes the reply. The link works for 30 minutes and replaces an earlier one. Sends no second
 * link within five minutes.
 */
export async function requestPasswordReset(
  { username, locale, ...cause }: Omit<MessageCause, 'locale'> & { username: string; locale?: string | undefined },
  deps: AccountsDeps
): Promise<void> {
  const name = normalizeUsername(username)
  if (name === null) return
  resetInBackground(name, deps, async () => {
    const user = await deps.users.findByUsername(name)
    if (!isActive(user) || ownerConnection(user, deps) !== null) return
    deps.events.emit('password_reset_requested', { userId: user.id }, cause.origin)
    await sendResetOnce(user, { kind: 'password_reset', locale, ...cause }, deps)
  })
}

/** True if users can set a new password by a link in a message. */
export const canResetPasswords = ({ users, outbox }: Pick<AccountsDeps, 'users' | 'outbox'>): boolean =>
  users.setPasswordHash !== undefined && outbox !== null

/**
 * Sends the user a reset message on behalf of the host, even if one was sent just now.
 *
 * @throws OAuthError `not_found` if there is no such user; `invalid_request` if the user is disabled or signs in
 * through a connection alone, or there is no `sendMessage`
 */
export async function startPasswordReset(userId: string, deps: AccountsDeps): Promise<void> {
  if (deps.outbox === null) throw new OAuthError('invalid_request', 'There is no sendMessage to send the message with.')
  const user = await deps.users.findById(userId)
  if (user === null) throw new OAuthError('not_found', 'There is no such user.')
  if (user.disabled) throw new OAuthError('invalid_request', 'The user is disabled.')
  if (ownerConnection(user, deps) !== null)
    throw new OAuthError('invalid_request', 'The user signs in through a connection alone.')
  await sendReset(user, { kind: 'password_reset', locale: undefined, origin: NO_REQUEST }, deps)
  deps.events.emit('password_reset_requested', { userId: user.id }, NO_REQUEST)
}

/**
 * Sends a signed-in user without a password the link that sets one. The link proves that the user reads the mailbox,
 * which a session does not. Sends nothing to a user with a password or without an address, or within five minutes of
 * the last link.
 */
export async function sendFirstPasswordLink(user: User, cause: MessageCause, deps: AccountsDeps): Promise<void> {
  if (user.passwordHash !== null || addressOf(user) === '') return
  await sendResetOnce(user, { kind: 'password_reset', ...cause }, deps)
  deps.events.emit('password_reset_requested', { userId: user.id }, cause.origin)
}

/**
 * Sends a message to the owner of a username that another person tried to register, or to use as their new address.
 * The message contains a reset link, which gives the account to the reader of the mailbox. Sends none to a disabled
 * user, or if a connection manages the account.
 */
export function sendAlreadyRegistered(username: string, cause: MessageCause, deps: AccountsDeps): void {
  resetInBackground(username, deps, async () => {
    const user = await deps.users.findByUsername(username)
    if (!isActive(user) || ownerConnection(user, deps) !== null) return
    if (user.emailVerified !== true) await contestSignUp(user, deps)
    await sendResetOnce(user, { kind: 'already_registered', ...cause }, deps)
  })
}

/**
 * Sets a new password by a reset link and ends everything that the former password opened. Signs nobody in. A link sets
 * one password: it is bound to the password hash that it may replace, so that one of parallel calls succeeds. If a
 * later step fails, the link still works, and repeating the request finishes the work.
 * @returns the user as read before the change, with the present password hash
 * @throws OAuthError `invalid_token` with status 400; `invalid_password` with the reason; `temporarily_unavailable`
 */
export async function confirmPasswordReset(
  { token, password, locale, origin }: { token: string; password: string; locale?: string | undefined; origin: Origin },
  deps: AccountsDeps
): Promise<User> {
  const { users, policy, hashing } = deps
  if (users.setPasswordHash === undefined)
    throw new OAuthError('server_error', 'Passwords can not be reset here.', {
      detail: 'the user store has no setPasswordHash'
    })
  const since = deps.clock.now()
  const user = await ownerOf(token, deps)

  // Comes before the check of the token, so that a bad password is refused in the same way with a good token and
  // without one. Two checks run only for the holder of the token: the comparison with the user's name, and the host's
  // check in a set of breached passwords. Strangers must not start the second.
  await requireGoodPassword(policy, password, user === null ? null : { username: user.username, email: user.email })
  if (user === null) throw invalidLink()

  const given: NewPassword = { by: 'reset', locale, origin }
  let { passwordHash } = user
  if (setsPasswordOf(token, user)) {
    passwordHash = await hashing.hash(password)
    // Another request has changed the password meanwhile, which ended this link.
    if (!(await setNewPassword(user, passwordHash, given, deps))) throw invalidLink()
  } else {
    // If this link has set the password and a later step failed, does the remaining steps.
    if (!(await isUnfinished(user, deps)) || (await verifyOnce(user, password, deps)) !== 'match') throw invalidLink()
    await finishNewPassword(user, given, deps)
  }
  await proveAddress(user, since, origin, deps)
  return { ...user, passwordHash }
}

/**
 * Returns the user of a reset link that still works, or whose reset must still be finished. Does not use up the link.
 *
 * @throws OAuthError `invalid_token` with status 400
 */
export async function checkResetToken(token: string, deps: AccountsDeps): Promise<User> {
  const user = await ownerOf(token, deps)
  if (user === null || !(setsPasswordOf(token, user) || (await isUnfinished(user, deps)))) throw invalidLink()
  return user
}

/** The user of a token, if the token was sent to their present address. */
async function ownerOf(token: string, deps: AccountsDeps): Promise<User | null> {
  const found = await findMessageToken('password_reset', token, deps)
  return found?.user ?? null
}

/** True if the password hash has not changed since the link was sent. */
function setsPasswordOf(token: string, user: User): boolean {
  return isBoundTo(token, 1, user.passwordHash ?? '')
}

interface ResetMessage extends MessageCause {
  kind: 'password_reset' | 'already_registered'
}

/**
 * Sends a reset link, unless one was sent in the last five minutes and still works. Strangers can ask for links, and a
 * second link would end the first.
 * @returns `false` if it sent nothing because of such an earlier link
 */
export async function sendResetOnce(user: User, message: ResetMessage, deps: AccountsDeps): Promise<boolean> {
  return await deps.messageBound.send(
    ['password_reset', user.id, addressOf(user), user.passwordHash ?? ''],
    async () => {
      await sendReset(user, message, deps)
    }
  )
}

async function sendReset(user: User, message: ResetMessage, deps: AccountsDeps): Promise<void> {
  if (deps.outbox === null) return
  const { token, digest } = oneTimeToken(user.id, deps.random.secret(), [
    addressOf(user),
    user.passwordHash ?? '',
    message.asker ?? ''
  ])
  const expiresAt = deps.clock.now() + LIFETIME_MS
  await deps.oneTimeTokens.put({ purpose: 'password_reset', digest, userId: user.id, expiresAt })
  deps.outbox.post({
    ...message,
    user: addressed(user),
    url: deps.messageUrl('password_reset', token),
    token,
    expiresAt: new Date(expiresAt)
  })
}

/**
 * Prepares at most one message per username at a time, and drops further requests meanwhile. If two ran, the later
 * message could contain a token that the other has replaced.
 */
function resetInBackground(username: string, deps: AccountsDeps, work: () => Promise<void>): void {
  deps.background.run(`reset ${username}`, 'a password reset message could not be prepared', work)
}

/**
 * Marks the address as proved, because the link came by mail. A failure is only reported, because the new password is
 * stored already.
 */
async function proveAddress(user: User, since: number, origin: Origin, deps: AccountsDeps): Promise<void> {
  try {
    if (!(await markProved(user, since, deps))) return
    deps.events.emit('email_verified', { userId: user.id }, origin)
    await deps.oneTimeTokens.discard('verify_email', user.id)
  } catch (error) {
    deps.onError(error, 'an email address could not be marked as verified after a password reset')
  }
}

/**
 * The time for which an account stays contested. During this time, the owner of the mailbox may still expect a
 * confirmation link for their own sign-up, and so confirm the account of a stranger.
 */
const REMEMBERED_FOR_MS = 30 * 24 * 60 * 60 * 1000

type Deps = Pick<AccountsDeps, 'oneTimeTokens' | 'users' | 'clock'>

/**
 * Marks an unconfirmed account as contested, because another person wants to sign up with its address. A stranger may
 * have made the account, with a password of their own. If the owner of the mailbox confirmed the address now, that
 * password would open a verified account. So the confirmation links end. Until the password changes, the account gets
 * only reset links, which take it from the stranger.
 */
async function contestSignUp(user: User, { oneTimeTokens, clock }: Deps): Promise<void> {
  // Stores the mark first, so that all later requests get a reset link.
  await oneTimeTokens.put({
    purpose: 'contested_sign_up',
    digest: nameOf(user),
    userId: user.id,
    expiresAt: clock.now() + REMEMBERED_FOR_MS
  })
  await oneTimeTokens.discard('verify_email', user.id)
}

/** True if another person has wanted the address since the present password was set, and within the last 30 days. */
export async function isContested(user: User, { oneTimeTokens, users, clock }: Deps): Promise<boolean> {
  return (
    users.setPasswordHash !== undefined &&
    (await oneTimeTokens.find('contested_sign_up', nameOf(user), clock.now()))?.userId === user.id
  )
}

function nameOf({ id, passwordHash }: User): string {
  return partitionOf(id) + digest(`contested ${passwordHash ?? ''}`)
}
