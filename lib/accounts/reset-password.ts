import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { digestOfOneTimeToken, oneTimeToken } from '../protocol/one-time-token.ts'
import type { Origin } from '../tokens/sessions.ts'
import { inBackground } from './background.ts'
import { concludePasswordChange } from './change-password.ts'
import type { AccountsDeps } from './deps.ts'
import { addressed } from './messages.ts'
import { requireGoodPassword } from './password-policy.ts'
import { normalizeUsername } from './username.ts'
import { invalidLink, putBack } from './verify-email.ts'

const LIFETIME_MS = 30 * 60 * 1000

/**
 * Always resolves, in a time that tells nothing: whether there is such a user is looked up after the reply, and no failure of
 * a store or of the mail changes it. The link goes to the stored address, is good for 30 minutes, and ends the one before.
 */
export async function requestPasswordReset ({ username, origin }: { username: string, origin: Origin }, deps: AccountsDeps): Promise<void> {
  const name = normalizeUsername(username)
  if (name === null) return
  resetInBackground(name, deps, async () => {
    const user = await deps.users.findByUsername(name)
    if (user === null || user.disabled) return
    await sendReset(user, 'password_reset', deps)
    deps.events.emit('password_reset_requested', { userId: user.id, ...origin })
  })
}

/**
 * Sends the user a reset message on the host's own account.
 *
 * @throws OAuthError `not_found` where there is no such user, `invalid_request` where they are disabled or there is no `sendMessage`
 */
export async function startPasswordReset (userId: string, deps: AccountsDeps): Promise<void> {
  if (deps.outbox === null) throw new OAuthError('invalid_request', 'There is no sendMessage to send the message with.')
  const user = await deps.users.findById(userId)
  if (user === null) throw new OAuthError('not_found', 'There is no such user.')
  if (user.disabled) throw new OAuthError('invalid_request', 'The user is disabled.')
  await sendReset(user, 'password_reset', deps)
  deps.events.emit('password_reset_requested', { userId: user.id })
}

/** To the owner of a name that somebody wanted to register: the link gives the account to whoever reads that mailbox. */
export function sendAlreadyRegistered (username: string, deps: AccountsDeps): void {
  resetInBackground(username, deps, async () => {
    const user = await deps.users.findByUsername(username)
    if (user === null || user.disabled) return
    // A stranger may have registered first, with a password of their own. Were the owner of the mailbox to follow the link
    // from that time, the stranger's password would open a verified account. The reset link is the only one that takes it from them.
    if (user.emailVerified !== true) await deps.oneTimeTokens.discard('verify_email', user.id)
    await sendReset(user, 'already_registered', deps)
  })
}

/**
 * Sets a new password by the token of a message, ends all sessions of the user and signs nobody in. A token works once: of
 * any number of parallel calls one succeeds. Where the user store fails, it works again.
 *
 * @throws OAuthError `invalid_token` with status 400; `invalid_password` with the reason; `temporarily_unavailable`
 */
export async function confirmPasswordReset ({ token, password, origin }: { token: string, password: string, origin: Origin }, deps: AccountsDeps): Promise<void> {
  const { users, oneTimeTokens, clock } = deps
  if (users.setPasswordHash === undefined) throw new OAuthError('server_error', 'Passwords can not be reset here.', { detail: 'the user store has no setPasswordHash' })
  const tokenDigest = digestOfOneTimeToken(token)
  const user = tokenDigest === null ? null : await ownerOf(tokenDigest, deps)

  // Asked for everybody and answered first: a bad password is refused alike with a good token and with none. Only what is bad
  // for this very user differs, and that is told to a holder of their token.
  await requireGoodPassword(deps.policy, password, { username: user?.username ?? '', email: user?.email })
  if (tokenDigest === null || user === null) throw invalidLink()

  // Hashed before the token is used up, for the queue may be full.
  const next = await deps.hashing.hash(password)
  const consumed = await oneTimeTokens.consume('password_reset', tokenDigest, clock.now())
  if (consumed === null || consumed.userId !== user.id) throw invalidLink()
  let replaced: boolean
  try {
    replaced = await users.setPasswordHash(user.id, next, user.passwordHash)
  } catch (error) {
    await putBack(consumed, deps)
    throw error
  }
  // The password was changed after this began. That ended the links of before, and this is one.
  if (!replaced) throw invalidLink()

  await markVerified(user, origin, deps)
  await concludePasswordChange(user, 'reset', { exceptSid: undefined, origin }, deps)
}

/**
 * Looks whether the token of a message would set a password now, and uses nothing up.
 *
 * @throws OAuthError `invalid_token` with status 400
 */
export async function checkResetToken (token: string, deps: AccountsDeps): Promise<void> {
  const tokenDigest = digestOfOneTimeToken(token)
  if (tokenDigest === null || await ownerOf(tokenDigest, deps) === null) throw invalidLink()
}

async function ownerOf (tokenDigest: string, { users, oneTimeTokens, clock }: AccountsDeps): Promise<User | null> {
  const found = await oneTimeTokens.find('password_reset', tokenDigest, clock.now())
  const user = found === null ? null : await users.findById(found.userId)
  return user === null || user.disabled ? null : user
}

async function sendReset (user: User, kind: 'password_reset' | 'already_registered', deps: AccountsDeps): Promise<void> {
  if (deps.outbox === null) return
  const { token, digest } = oneTimeToken(user.id, deps.random.secret())
  const expiresAt = deps.clock.now() + LIFETIME_MS
  await deps.oneTimeTokens.put({ purpose: 'password_reset', digest, userId: user.id, expiresAt })
  deps.outbox.post({ kind, user: addressed(user), url: deps.messageUrl('password_reset', token), token, expiresAt: new Date(expiresAt) })
}

/** One key for all that sends a reset link: of two at once the later message could bear the token that the earlier put replaced. */
function resetInBackground (username: string, deps: AccountsDeps, work: () => Promise<void>): void {
  inBackground(deps, `reset ${username}`, 'a password reset message could not be prepared', work)
}

/** The link came by mail, so the mailbox is the user's; a user without an address got it some other way. The new password is already stored: a failure here does not undo it. */
async function markVerified (user: User, origin: Origin, deps: AccountsDeps): Promise<void> {
  if (deps.users.setEmailVerified === undefined || user.emailVerified === true || (addressed(user).email ?? '') === '') return
  try {
    await deps.users.setEmailVerified(user.id)
    deps.events.emit('email_verified', { userId: user.id, ...origin })
    await deps.oneTimeTokens.discard('verify_email', user.id)
  } catch (error) {
    deps.onError(error, 'an e-mail address could not be marked as verified after a password reset')
  }
}
