import type { User } from '../ports/user-store.ts'
import { isUsernameTaken } from '../errors.ts'
import { digest, partitionOf } from '../protocol/digest.ts'
import { carriedIn, digestOfOneTimeToken, isBoundTo, oneTimeToken } from '../protocol/credential.ts'
import { isActive } from '../sessions/active-user.ts'
import { changedMeanwhile } from './changed-meanwhile.ts'
import type { AccountsDeps } from './deps.ts'
import { endProvisional } from './identities.ts'
import { invalidLink } from './message-codes.ts'
import { endOpenTokens } from './open-tokens.ts'
import { addressOf, type MessageCause } from './outbox.ts'
import { sendResetOnce } from './reset-password.ts'
import { isNamedByAddress } from './username.ts'
import { ownerConnection } from './ways-in.ts'

/*
 * The link "That was not me" in a message takes back the first passkey or authenticator app of an account, or a change
 * of its address. The thief who made the change may also change the password and add factors, so neither ends the link.
 * The link for a factor works while the account has the address that it was sent to. A link works once, within 72
 * hours.
 */
const LIFETIME_MS = 72 * 60 * 60 * 1000
const PURPOSES = { factor: 'factor_undo', email: 'email_undo' } as const
/** The time for which a used link still reports its result, so that all presses of one link get the same answer. */
const TOLD_FOR_MS = 5 * 60 * 1000

/** The link in a message, for a user who did not make the change. */
interface UndoLink {
  url: string
  token: string
  expiresAt: Date
}

/** A change that a link can take back: the first passkey or app, or another address. `former`: the old address. */
type Undoable = { what: 'factor' } | { what: 'email'; former: string }

/**
 * The change that the link takes back, and its user. `isDone`: the link has done so in the last five minutes.
 * `changedAt`: milliseconds since the epoch.
 */
export type PendingUndo = { user: User } & (
  | { what: 'factor'; isDone: boolean }
  | { what: 'email'; former: string; isDone: true }
  | { what: 'email'; former: string; isDone: false; changedAt: number }
)

type LinkDeps = Pick<AccountsDeps, 'undoUrl' | 'outbox' | 'users' | 'oneTimeTokens' | 'clock' | 'random'>

/** Makes and stores the link that takes a change back. `null`: no link is possible, as for `newUndoLink`. */
export async function makeUndoLink(user: User, undo: Undoable, deps: LinkDeps): Promise<UndoLink | null> {
  const made = newUndoLink(user, undo, deps)
  await made?.keep()
  return made?.link ?? null
}

/**
 * Makes the link that takes back the first passkey or app of a user, or a change of their address. The link works after
 * `keep` has stored it. A repeated `keep` stores the same token, so that a late write does not end the link of a
 * message. `null`: there are no pages, no messages, no address, or no way to set a new password.
 */
export function newUndoLink(
  user: User,
  undo: Undoable,
  { undoUrl, outbox, users, oneTimeTokens, clock, random }: LinkDeps
): { link: UndoLink; keep(): Promise<void> } | null {
  if (undoUrl === null || outbox === null || users.setPasswordHash === undefined || addressOf(user) === '') return null
  const expiresAt = clock.now() + LIFETIME_MS
  const own = { userId: user.id, expiresAt }
  const { token, digest: tokenDigest } =
    undo.what === 'factor'
      ? oneTimeToken(user.id, random.secret(), [addressOf(user), ''], 'factor')
      : oneTimeToken(user.id, random.secret(), ['', ''], `email ${undo.former}`)
  return {
    link: { url: undoUrl(token), token, expiresAt: new Date(expiresAt) },
    async keep() {
      if (undo.what === 'email')
        await oneTimeTokens.put({ purpose: 'email_undo_open', digest: openName(user.id), ...own })
      await oneTimeTokens.put({ purpose: PURPOSES[undo.what], digest: tokenDigest, ...own })
    }
  }
}

/**
 * True if an earlier change of the address can still be taken back. The next change then gets no link, so that the link
 * in the original mailbox stays the only one.
 */
export async function isUndoOpen(
  userId: string,
  { oneTimeTokens, clock }: Pick<AccountsDeps, 'oneTimeTokens' | 'clock'>
): Promise<boolean> {
  return (await oneTimeTokens.find('email_undo_open', openName(userId), clock.now())) !== null
}

const openName = (userId: string): string => partitionOf(userId) + digest(`email undo ${userId}`)

/**
 * Returns the change that the link takes back, if the link works or was used in the last five minutes. Does not use up
 * the link.
 * @throws OAuthError `invalid_token` with status 400
 */
export async function checkUndo(token: string, deps: AccountsDeps): Promise<PendingUndo> {
  const { oneTimeTokens, users, clock } = deps
  const [what, value = ''] = (carriedIn(token) ?? '').split(' ')
  const tokenDigest = digestOfOneTimeToken(token)
  if (tokenDigest === null || (what !== 'factor' && what !== 'email')) throw invalidLink()
  const live = await oneTimeTokens.find(PURPOSES[what], tokenDigest, clock.now())
  const record = live ?? (await oneTimeTokens.find('undo_done', tokenDigest, clock.now()))
  const user = record === null ? null : await users.findById(record.userId)
  if (record === null || !isActive(user)) throw invalidLink()
  // A connection may have begun to manage the domain after the change. The link must not take the account out of that
  // domain.
  const owner = ownerConnection(user, deps)
  if (what === 'email' && owner !== null && ownerConnection(value, deps) !== owner) throw invalidLink()
  if (what === 'email')
    return live === null
      ? { user, isDone: true, what, former: value }
      : { user, isDone: false, what, former: value, changedAt: live.expiresAt - LIFETIME_MS }
  if (!isBoundTo(token, 0, addressOf(user))) throw invalidLink()
  return { user, isDone: live === null, what }
}

/**
 * Takes the change back, ends all sign-ins and sends a link for a new password, unless such a link was sent in the last
 * five minutes. The token is used up last, so that it works again if a store fails half-way. Further presses within
 * five minutes resolve too, and send no second message.
 * @throws OAuthError `invalid_token` with status 400; `temporarily_unavailable`
 */
export async function undoByLink(
  { token, ...cause }: MessageCause & { token: string },
  deps: AccountsDeps
): Promise<void> {
  const { oneTimeTokens, clock, messageBound } = deps
  const pending = await checkUndo(token, deps)
  if (pending.isDone) return
  const user =
    pending.what === 'factor' ? await removeFactors(pending.user, cause, deps) : await putBack(pending, cause, deps)
  if (pending.what === 'email') await oneTimeTokens.discard('email_undo_open', user.id)
  const tokenDigest = digestOfOneTimeToken(token) ?? ''
  const send = async (): Promise<void> => {
    await sendResetOnce(user, { kind: 'password_reset', ...cause }, deps)
  }
  await messageBound.send(['undo', tokenDigest], send, { spacingMs: TOLD_FOR_MS })
  // Stores the result before the token is used up, so that every press of the link finds the token or the result.
  const done = {
    purpose: 'undo_done',
    digest: tokenDigest,
    userId: user.id,
    expiresAt: clock.now() + TOLD_FOR_MS
  } as const
  await oneTimeTokens.put(done)
  await oneTimeTokens.consume(PURPOSES[pending.what], tokenDigest, clock.now())
}

/**
 * Removes all second factors: the person who added the first one may have added others and removed the first. Ends open
 * links, because a thief may have asked for a change of the address.
 */
async function removeFactors(user: User, cause: MessageCause, deps: AccountsDeps): Promise<User> {
  const { sessions, slots } = deps
  const endAll = async (): Promise<void> => {
    await sessions.revokeAll(user.id, 'factors_changed', { origin: cause.origin })
  }
  // Ends sign-ins before the factors too, so that the sign-in that added this factor can't add another meanwhile.
  await endAll()
  for (const { end } of slots) await end?.(user, { what: 'all' }, cause)
  await endAll()
  // Keeps a reset link: it went to the mailbox that got this link, and no second reset link is sent for five minutes.
  await endOpenTokens(user.id, 'owner', deps, 'password_reset')
  return user
}

/**
 * Gives the account its former address. Ends all identity links, because they are older than this proof of the mailbox.
 * Ends the second factors that were set up since the change, because a thief's passkey would open the account again.
 */
async function putBack(
  { user, former, changedAt }: { user: User; former: string; changedAt: number },
  cause: MessageCause,
  deps: AccountsDeps
): Promise<User> {
  const { users, sessions, slots, events, clock } = deps
  if (users.update === undefined) throw invalidLink()
  // Ends sign-ins before the change too, so that a thief who is signed in can't set anything up meanwhile.
  await sessions.revokeAll(user.id, 'email_changed', { origin: cause.origin })
  const email = { email: former, emailVerified: true, emailProvedAt: clock.now() }
  const renamed = isNamedByAddress(user) ? { ...email, username: former } : email
  const back = await users.update(user.id, renamed).catch(async (error: unknown) => {
    if (!isUsernameTaken(error)) throw error
    // Another person signed up with the address meanwhile. The account keeps its present username, but its messages go
    // to the former address again.
    return (await users.update?.(user.id, email)) ?? null
  })
  if (back === null) throw changedMeanwhile()
  events.emit('email_changed', { userId: user.id }, cause.origin)
  await endProvisional(back, { by: 'email_changed', ...cause }, deps)
  for (const { end } of slots) await end?.(back, { what: 'since', since: changedAt }, cause)
  await sessions.revokeAll(user.id, 'email_changed', { origin: cause.origin })
  await endOpenTokens(user.id, 'owner', deps)
  return back
}
