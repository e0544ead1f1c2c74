import { OAuthError } from '../errors.ts'
import { type EventFacts, NO_REQUEST } from '../events.ts'
import type { Identity, LinkedIdentity, User, UserStore } from '../ports/user-store.ts'
import { digest } from '../protocol/digest.ts'
import { isProvisional, makesProvisional } from './address-proof.ts'
import type { AccountsDeps } from './deps.ts'
import { addressed, type MessageCause } from './outbox.ts'
import { opens, opensWithoutLink, waysIn } from './ways-in.ts'
import type { Ending } from './slots.ts'

/** The public id of a link: a digest, which reveals neither issuer nor subject. */
export const linkIdOf = ({ issuer, subject }: Identity): string => digest(JSON.stringify([issuer, subject]))

/** Makes the stored form of a link. `isProvisional`: true if the user has an address that nobody proved. */
export function linkOf(
  { issuer, subject, email, sealed }: Identity & { email?: string | undefined; sealed?: string | undefined },
  { connection, now, isProvisional }: { connection: string; now: number; isProvisional: boolean }
): LinkedIdentity {
  return {
    issuer,
    subject,
    connection,
    ...(email === undefined ? {} : { email }),
    linkedAt: now,
    lastUsedAt: now,
    ...(sealed === undefined ? {} : { sealed }),
    ...(isProvisional ? { provisional: true } : {})
  }
}

type LinkOutcome = Awaited<ReturnType<NonNullable<UserStore['linkIdentity']>>>
type UnlinkOutcome = Awaited<ReturnType<NonNullable<UserStore['unlinkIdentity']>>>

interface LinkedCause extends MessageCause {
  by: EventFacts['identity_linked']['by']
  tookOver?: boolean
}
interface UnlinkedCause extends MessageCause {
  by: EventFacts['identity_unlinked']['by']
}

/** Reports a new link: emits `identity_linked` and sends a message to the stored address. */
export function identityLinked(
  user: User,
  { connection }: Pick<LinkedIdentity, 'connection'>,
  { by, tookOver = false, locale, origin }: LinkedCause,
  { events, outbox }: Pick<AccountsDeps, 'events' | 'outbox'>
): void {
  events.emit('identity_linked', { userId: user.id, connection, by }, origin)
  outbox?.post({ kind: 'identity_linked', tookOver, user: addressed(user), locale, origin })
}

/**
 * Revokes the permission at the provider after a link was removed, if the link has stored the permission (`sealed`).
 * Runs in the background, so that a failure does not fail the reply.
 */
export function withdrawGrant(
  link: LinkedIdentity,
  { background, withdraw }: Pick<AccountsDeps, 'background' | 'withdraw'>
): void {
  if (link.sealed !== undefined)
    background.run(
      `withdraw ${linkIdOf(link)}`,
      'what a person allowed at another provider could not be ended there',
      async () => {
        await withdraw(link)
      }
    )
}

/** Reports a removed link, and revokes its permission at the provider. */
export function identityUnlinked(
  user: User,
  link: LinkedIdentity,
  { by, locale, origin }: UnlinkedCause,
  deps: AccountsDeps
): void {
  const { events, outbox } = deps
  const { connection } = link
  withdrawGrant(link, deps)
  events.emit('identity_unlinked', { userId: user.id, connection, by }, origin)
  // The owner of the address disowned the account and never made this link. A message about its end would only confuse
  // them.
  if (by !== 'disowned') outbox?.post({ kind: 'identity_unlinked', user: addressed(user), locale, origin })
}

/** The links of a user, the oldest first. Empty if the user store keeps no links. */
export async function listLinks(userId: string, { users }: Pick<AccountsDeps, 'users'>): Promise<LinkedIdentity[]> {
  return (await users.listIdentities?.(userId)) ?? []
}

/** A host's link for a user: the connection, and their identity there. */
export interface HostLink extends Identity {
  connection: string
  email?: string | undefined
}

/**
 * Links an identity that the host vouches for.
 * @throws OAuthError `invalid_request` if the user store keeps no links
 * @throws TypeError if `issuer`, `subject` or `connection` is not a string, or is empty
 */
export async function linkByHost(
  userId: string,
  { issuer, subject, connection, email }: HostLink,
  deps: AccountsDeps
): Promise<LinkOutcome> {
  const { users, clock } = deps
  for (const [name, value] of Object.entries({ issuer, subject, connection }))
    if (typeof value !== 'string' || value === '')
      throw new TypeError(`linkIdentity: ${name} must be a string that is not empty.`)
  if (users.linkIdentity === undefined)
    throw new OAuthError('invalid_request', 'The user store keeps no links to other providers.')
  const user = await users.findById(userId)
  if (user === null) return 'unknown_user'
  const link = linkOf(
    { issuer, subject, email },
    {
      connection,
      now: clock.now(),
      isProvisional: makesProvisional(user)
    }
  )
  const outcome = await users.linkIdentity(userId, link)
  if (outcome === 'linked') identityLinked(user, link, { by: 'host', locale: undefined, origin: NO_REQUEST }, deps)
  return outcome
}

/**
 * Removes the link with this id, unless it is the user's last way to sign in. Of parallel calls for the last two links,
 * one resolves to `last_sign_in_method`. A link that can't open the account (`opens`), such as one whose connection no
 * longer exists, can always be removed.
 */
export async function unlinkIdentity(
  user: User,
  linkId: string,
  cause: UnlinkedCause,
  deps: AccountsDeps
): Promise<UnlinkOutcome> {
  const { onError, users } = deps
  const link = (await listLinks(user.id, deps)).find((one) => linkIdOf(one) === linkId)
  if (link === undefined || users.unlinkIdentity === undefined) return 'unknown'
  const ways = await waysIn(user, deps)
  const isLast = opens(link, user, deps) && ways.links.every((one) => linkIdOf(one) === linkId)
  // The store counts any password as a way in. But the password of an account that a connection manages opens nothing.
  // So this check comes first, and keeps the last link of such an account.
  if (isLast && !opensWithoutLink(ways)) return 'last_sign_in_method'
  const isFree = !opens(link, user, deps) || opensWithoutLink(ways)
  const outcome = await users.unlinkIdentity(user.id, link, isFree)
  // The store does not know if the remaining links still work, or if a parallel request removes a passkey. If no way in
  // is left, puts the link back, unless another user has the identity now.
  const putBack = async (): Promise<boolean> => {
    const left = await waysIn(user, deps)
    return (
      left.links.length === 0 && !opensWithoutLink(left) && (await users.linkIdentity?.(user.id, link)) === 'linked'
    )
  }
  // If `putBack` rejects, the link counts as removed, and the user gets the message about it.
  const isBack =
    outcome === 'unlinked' &&
    opens(link, user, deps) &&
    (await putBack().catch((error: unknown) => {
      onError(error, 'what is left to sign in with could not be looked at')
      return false
    }))
  if (isBack) return 'last_sign_in_method'
  if (outcome === 'unlinked') identityUnlinked(user, link, cause, deps)
  return outcome
}

export function lastSignInMethod(): OAuthError {
  return new OAuthError(
    'last_sign_in_method',
    'Nothing else is left to sign in with: link another account or set a password before.',
    { withoutStack: true }
  )
}

/** Stores when a link was last used to sign in, in the background. A failure does not fail the sign-in. */
export function noteUse(
  person: Identity & { email?: string | undefined },
  user: User,
  { users, clock, background }: Pick<AccountsDeps, 'users' | 'clock' | 'background'>
): void {
  const at = clock.now()
  background.run(`identity ${user.id}`, 'the use of a link could not be noted', async () => {
    await users.useIdentity?.(person, at, person.email)
  })
}

/** Ends the user's provisional factors, API keys and links, and reports each. Idempotent. */
export async function endProvisional(
  user: User,
  { by, ...cause }: MessageCause & Omit<Extract<Ending, { what: 'provisional' }>, 'what'>,
  deps: AccountsDeps
): Promise<void> {
  const { users, slots } = deps
  if (users.unlinkIdentity !== undefined)
    for (const link of await listLinks(user.id, deps))
      if (isProvisional(link, user) && (await users.unlinkIdentity(user.id, link, true)) === 'unlinked')
        identityUnlinked(user, link, { by, ...cause }, deps)
  for (const { end } of slots) await end?.(user, { what: 'provisional', by }, cause)
}
