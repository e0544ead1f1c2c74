import { isUsernameTaken, OAuthError } from '../errors.ts'
import type { StayingSignIn } from '../sessions/sessions.ts'
import type { User, UserPatch } from '../ports/user-store.ts'
import { carriedIn, digestOfOneTimeToken, isBoundTo } from '../protocol/credential.ts'
import { isActive } from '../sessions/active-user.ts'
import { lookLater } from './background.ts'
import { changedMeanwhile, MAX_TRIES } from './changed-meanwhile.ts'
import type { AccountsDeps } from './deps.ts'
import { endProvisional } from './identities.ts'
import { byCode, type Confirming, tokenForCode, invalidLink } from './message-codes.ts'
import { endOpenTokens } from './open-tokens.ts'
import { addressed, addressOf, type MessageCause } from './outbox.ts'
import { sendAlreadyRegistered } from './reset-password.ts'
import { isUndoOpen, newUndoLink } from './undo.ts'
import { isNamedByAddress } from './username.ts'
import { ownerConnection } from './ways-in.ts'

export const LIFETIME_MS = 24 * 60 * 60 * 1000

/**
 * True if a connection manages the account or the new address. A managed account must not leave its domain on its own.
 * An account that moves into a managed domain could sign in only through the connection, which may not know the user.
 */
export function isManaged(user: User, address: string, deps: Pick<AccountsDeps, 'connections'>): boolean {
  return ownerConnection(user, deps) !== null || ownerConnection(address, deps) !== null
}

/** A change of address that waits for its confirmation. */
interface AskedChange {
  user: User
  address: string
  /** The sign-in that asked for the change. */
  sid: string
  /** The secret of the browser that asked for the change. */
  asker: string
}

export const confirmingOf = ({ user, address, sid, asker }: AskedChange): Confirming => ({
  user,
  address,
  asker,
  boundTo: [addressOf(user), user.passwordHash ?? ''],
  carried: `${address} ${sid}`
})

/**
 * Confirms a change of address by the code in the message. Works only in the browser and the sign-in that asked for the
 * change.
 * @throws OAuthError `invalid_code`; `temporarily_unavailable`
 */
export async function confirmEmailChangeByCode(
  { code, stay, locale, origin, ...asked }: AskedChange & Omit<Confirmation, 'token'> & { code: string },
  deps: AccountsDeps
): Promise<void> {
  const token = await tokenForCode(confirmingOf(asked), code, deps)
  await byCode(async () => {
    await confirmEmailChange({ token, stay, locale, origin }, deps)
  })
}

export interface Confirmation extends MessageCause {
  token: string
  /**
   * Returns the sign-in with this id as the one that survives the change, with a new secret for its browser. Left out
   * if the request can't come from the browser of that sign-in. That browser can't get the new secret, and so is signed
   * out.
   */
  stay?: ((sid: string) => StayingSignIn) | undefined
}

/** True if the token is for a change of address, false if it confirms the present address. */
export function isEmailChange(token: string): boolean {
  return carriedIn(token) !== null
}

interface EmailChange {
  user: User
  address: string
  /** The sign-in that asked for the change. */
  sid: string
  /** Milliseconds since the epoch. */
  sentAt: number
  /**
   * True if the account has the new address already: an earlier attempt changed it and failed afterwards. This attempt
   * then does only the remaining steps.
   */
  isMade: boolean
}

/**
 * Returns the change of address that the link stands for, if the link still works. Does not use up the link.
 * @throws OAuthError `invalid_token` with status 400
 */
export async function checkEmailChange(token: string, deps: AccountsDeps): Promise<EmailChange> {
  const { oneTimeTokens, users, clock } = deps
  const digest = digestOfOneTimeToken(token)
  const [address, sid] = (carriedIn(token) ?? '').split(' ')
  const record = digest === null ? null : await oneTimeTokens.find('email_change', digest, clock.now())
  const user = record === null ? null : await users.findById(record.userId)
  if (record === null || address === undefined || sid === undefined || !isActive(user)) throw invalidLink()
  const isMade = addressOf(user) === address
  // The link works only while the account has the address and the password that it had when the link was sent.
  if (!isBoundTo(token, 1, user.passwordHash ?? '') || !(isMade || isBoundTo(token, 0, addressOf(user))))
    throw invalidLink()
  // A connection may have begun to manage the domain after the link was sent.
  if (!isMade && isManaged(user, address, deps)) throw invalidLink()
  return { user, address, sid, sentAt: record.expiresAt - LIFETIME_MS, isMade }
}

/**
 * Gives the account the new address and marks it as confirmed. If the username is an email address, changes it too.
 * Ends the provisional factors and the provisional identity links. All other identity links become provisional, so that
 * a password reset from the new mailbox ends them. Ends the other open links in messages, except undo links, and all
 * sign-ins except the one that asked. Sends a notice to the former address. Uses up the link last, so that it works
 * again if a store fails half-way. If another account has taken the address meanwhile, its owner gets a message.
 * @throws OAuthError `invalid_token` with status 400, also if another account has taken the address;
 * `temporarily_unavailable`
 */
export async function confirmEmailChange({ token, stay, ...cause }: Confirmation, deps: AccountsDeps): Promise<void> {
  const change = await checkEmailChange(token, deps)
  if (!change.isMade) {
    await endProvisional(change.user, { by: 'email_changed', ...cause }, deps)
    await changeAndTell(change, token, cause, deps)
  }
  await deps.sessions.revokeAll(change.user.id, 'email_changed', {
    stays: stay?.(change.sid) ?? { sid: change.sid, browser: null },
    origin: cause.origin
  })
  await endOpenTokens(change.user.id, 'owner', deps, 'email_change')
  if ((await deps.oneTimeTokens.consume('email_change', digestOfOneTimeToken(token) ?? '', deps.clock.now())) === null)
    throw invalidLink()
}

/** "That was not me", pressed by the reader of the new address: uses up the link and sends the account a notice. */
export async function refuseEmailChange(
  { token, ...cause }: MessageCause & { token: string },
  deps: AccountsDeps
): Promise<void> {
  const { user, isMade } = await checkEmailChange(token, deps)
  const tokenDigest = digestOfOneTimeToken(token) ?? ''
  if (isMade || (await deps.oneTimeTokens.consume('email_change', tokenDigest, deps.clock.now())) === null)
    throw invalidLink()
  deps.outbox?.post({ kind: 'email_change_refused', user: addressed(user), ...cause })
}

/**
 * Makes the change and sends a notice to the former address. If the store's answer is lost, checks in the background
 * whether the change was made, and sends the notice then. A repeated request would find the change made and send none.
 * The former address may get two notices, which is better than none.
 */
async function changeAndTell(
  change: EmailChange,
  token: string,
  cause: MessageCause,
  deps: AccountsDeps
): Promise<void> {
  const { user, address } = change
  const isOpen = await isUndoOpen(user.id, deps)
  const undo = isOpen ? null : newUndoLink(user, { what: 'email', former: addressOf(user) }, deps)
  const tell = async (former: User): Promise<void> => {
    await undo?.keep()
    deps.events.emit('email_changed', { userId: former.id }, cause.origin)
    deps.outbox?.post({ kind: 'email_changed', user: addressed(former), ...cause, ...undo?.link })
  }
  try {
    const former = await makeChange(change, token, cause, deps)
    if (former !== null) await tell(former)
  } catch (error) {
    if (error instanceof OAuthError && error.error === 'invalid_token') throw error
    const what = 'the former address could not be told of a change'
    lookLater(deps.background, `changed ${user.id}`, what, async () => {
      const now = await deps.users.findById(user.id)
      if (now === null || addressOf(now) !== address) return false
      await tell(user)
      return true
    })
    throw error
  }
}

/** Makes the change and returns the user before it. `null`: another request has made this change meanwhile. */
async function makeChange(
  change: EmailChange,
  token: string,
  cause: MessageCause,
  deps: AccountsDeps
): Promise<User | null> {
  const { users } = deps
  if (users.update === undefined)
    throw new OAuthError('server_error', 'Email addresses can not be changed here.', {
      detail: 'the user store has no update'
    })
  let { user } = change
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const patch: UserPatch = {
      email: change.address,
      emailVerified: true,
      // Identity links that are older than this proof become provisional.
      emailProvedAt: deps.clock.now(),
      ...(isNamedByAddress(user) ? { username: change.address } : {})
    }
    try {
      const { version } = user
      const changed =
        version === undefined || version === null
          ? await users.update(user.id, patch)
          : await users.update(user.id, patch, version)
      if (changed !== null) return user
    } catch (error) {
      if (!isUsernameTaken(error)) throw error
      sendAlreadyRegistered(change.address, cause, deps)
      throw invalidLink()
    }
    // Another request has updated the user meanwhile. The link must still match the present data.
    const again = await checkEmailChange(token, deps)
    if (again.isMade) return null
    ;({ user } = again)
  }
  throw changedMeanwhile()
}
