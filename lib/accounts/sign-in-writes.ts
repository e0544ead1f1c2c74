import type { LinkedIdentity, User, UserStore } from '../ports/user-store.ts'
import type { Origin, StayingSignIn } from '../sessions/sessions.ts'
import { isPasswordOlder, isProved, markProved } from './address-proof.ts'
import { lookLater, onceForStore } from './background.ts'
import { endAll, endConsents, endPassword, type NewPassword } from './change-password.ts'
import { changedMeanwhile } from './changed-meanwhile.ts'
import type { AccountsDeps } from './deps.ts'
import { firstFactorHolds } from './first-factor.ts'
import type { SignIn } from './slots.ts'
import { identityLinked, identityUnlinked, linkIdOf, listLinks, noteUse } from './identities.ts'
import { addressOf, type MessageCause } from './outbox.ts'
import { isActive } from '../sessions/active-user.ts'
import { endOpenTokens } from './open-tokens.ts'

type Outcome = Awaited<ReturnType<typeof storeLink>>
type Writing = Pick<SignIn, 'user' | 'by' | 'connection' | 'identity' | 'writes' | 'isNew'>

/**
 * Makes the writes of a sign-in and notes the use of its link. Runs after the last factor was proved, so that a sign-in
 * that stops before then changes no account. `keeps`: the id of the factor that was set up in this sign-in, which a
 * take-over does not end.
 * @returns the sign-in with the user after the writes; the same sign-in, unchecked, if it has no writes; `null` if the
 * first factor no longer holds or the identity was not linked
 */
export async function settled<One extends Writing>(
  signIn: One,
  cause: MessageCause & { keeps?: string },
  deps: AccountsDeps
): Promise<One | null> {
  const done = await written(signIn, cause, deps)
  // The link of a new user has this time already.
  if (done?.identity !== undefined && done.isNew !== true) noteUse(done.identity, done.user, deps)
  return done
}

async function written<One extends Writing>(
  signIn: One,
  { keeps, ...cause }: MessageCause & { keeps?: string },
  deps: AccountsDeps
): Promise<One | null> {
  if (signIn.writes === undefined) return signIn
  const user = await firstFactorHolds(signIn, deps)
  if (user === null) return null
  const { link, profile, takesOver, takesMailbox } = signIn.writes
  if (takesMailbox === true) await takeMailbox(user, cause, deps)
  if (link !== undefined) {
    const stored =
      takesOver === true
        ? await takeOver(user, link, { keeps, ...cause }, deps)
        : await storeLink({ user, link, contested: 'by_address', ...cause }, deps)
    if (stored !== 'linked' && stored !== 'already_linked') return null
  }
  if (profile !== undefined) await deps.users.update?.(user.id, profile)
  const now = await deps.users.findById(user.id)
  return now === null ? null : { ...signIn, user: now, writes: undefined }
}

const onceTakenOver = onceForStore<Outcome>()

/**
 * Gives an account to the connection that manages its address. Ends the password, the sign-ins, the passkeys and the
 * other links of the account, and then links the identity. After a failure in between, the next sign-in finds no link,
 * so it takes the account over again. Parallel sign-ins by the same identity share one take-over, because each would
 * end the sessions of the others.
 */
async function takeOver(
  user: User,
  link: LinkedIdentity,
  { keeps, ...cause }: MessageCause & { keeps: string | undefined },
  deps: AccountsDeps
): Promise<Outcome> {
  return await onceTakenOver(deps.users, JSON.stringify([user.id, linkIdOf(link), keeps]), async () => {
    if ((await deps.users.findByIdentity?.(link))?.id === user.id) return 'already_linked'
    const endRest = async (): Promise<void> => {
      for (const { end } of deps.slots) await end?.(user, { what: 'taken_over', keeps }, cause)
      await endOtherLinks(user, link, cause, deps)
    }
    await endPasswordForGood(user, cause, deps)
    const stored = await storeLink({ user, link, contested: 'by_owner', before: endRest, ...cause }, deps)
    // Ends passkeys and links once more, because a request of a former session may have added one until it ended.
    if (stored === 'linked' || stored === 'already_linked') await endRest()
    return stored
  })
}

/**
 * Replaces the password with a random one that nobody knows. Does nothing without a password, or if the store can't.
 * @throws OAuthError `temporarily_unavailable` if another request has changed the password meanwhile
 */
async function endPasswordForGood(
  user: User,
  { origin }: MessageCause,
  { users, hashing, random, clock, events }: AccountsDeps
): Promise<void> {
  if (user.passwordHash === null || users.setPasswordHash === undefined) return
  const next = await hashing.hash(random.secret())
  if (!(await users.setPasswordHash(user.id, next, user.passwordHash, clock.now()))) throw changedMeanwhile()
  events.emit('password_changed', { userId: user.id, sid: null, by: 'identity_linked' }, origin)
}

/**
 * Ends all identity links of the user except `link`, and all consents. Ends even the last link, because `link` is
 * stored next. Meanwhile nobody can sign in to the account in another way, because the connection has `enforce`.
 */
async function endOtherLinks(
  user: User,
  link: LinkedIdentity,
  { locale, origin }: MessageCause,
  deps: AccountsDeps
): Promise<void> {
  for (const other of await listLinks(user.id, deps))
    if (linkIdOf(other) !== linkIdOf(link) && (await deps.users.unlinkIdentity?.(user.id, other, true)) === 'unlinked')
      identityUnlinked(user, other, { by: 'identity_linked', locale, origin }, deps)
  await endConsents(user.id, { by: 'password_changed', origin }, deps)
}

interface StoredLink {
  user: User
  link: LinkedIdentity
  /**
   * Set if another person than the owner of the address may have made the account. Then provisional factors, sign-ins,
   * tokens and consents end, except the sign-in `stays`. `by_address`: the person who links has proved only the
   * address, so a password that is older than the proof of the address ends too. `by_sign_in`: the person has also
   * signed in to the account, or accepts an invitation to it, so its password stays. `by_owner`: the connection manages
   * the address and takes the account over, and the password has ended before. `null`: the account belongs to the
   * person who links.
   */
  contested: 'by_address' | 'by_sign_in' | 'by_owner' | null
  /** Runs after the sign-ins have ended and before the link is stored. */
  before?: () => Promise<void>
  stays?: StayingSignIn
  origin: Origin
  locale: string | undefined
}

/**
 * Links an identity to a user, and reports the link by an event and a message. `unknown_user`: the user was removed, or
 * the store keeps no links.
 */
export async function storeLink(
  { user, link, contested, before, stays, locale, origin }: StoredLink,
  deps: AccountsDeps
): Promise<Awaited<ReturnType<NonNullable<UserStore['linkIdentity']>>>> {
  const { users } = deps
  if (users.linkIdentity === undefined) return 'unknown_user'
  // Comes before the link: after a failure nothing is linked, and the person can try again.
  if (contested !== null) {
    const given: NewPassword = { by: 'identity_linked', stays, locale, origin }
    if (contested === 'by_address' && users.setPasswordHash !== undefined && isPasswordOlder(user))
      await endPassword(user, given, deps)
    else await endAll(user, given, deps)
    await endOpenTokens(user.id, 'owner', deps)
  }
  await before?.()
  const tell = (): void => {
    identityLinked(user, link, { by: 'user', tookOver: contested === 'by_owner', locale, origin }, deps)
  }
  const outcome = await users.linkIdentity(user.id, link).catch((error: unknown) => {
    // The store may have saved the link, although its answer was lost. A repeated request would find the link and
    // report nothing, so background work reports it. A link of a repeated request has another `linkedAt`.
    lookLater(
      deps.background,
      `link ${linkIdOf(link)}`,
      'a link that may be stored could not be looked at',
      async () => {
        const found = (await listLinks(user.id, deps)).find((one) => linkIdOf(one) === linkIdOf(link))
        if (found?.linkedAt !== link.linkedAt) return false
        tell()
        return true
      }
    )
    throw error
  })
  if (outcome === 'linked') tell()
  return outcome
}

/**
 * Gives an account with an unproved address to the person who has just proved that they read its mail. An attacker may
 * have made the account, to wait until the owner of the mailbox uses it. So the password, the sign-ins and all
 * provisional factors end first. The address is marked as proved last, so that a repeat after a failure does everything
 * again.
 * @throws OAuthError `temporarily_unavailable` if another request changes the account at the same moment
 * @see Sudhodanan and Paverd, Pre-hijacked accounts (USENIX Security 2022)
 */
export async function takeMailbox(user: User, { locale, origin }: MessageCause, deps: AccountsDeps): Promise<User> {
  const since = deps.clock.now()
  await endPassword(user, { by: 'email_sign_in', locale, origin }, deps)
  await endOpenTokens(user.id, 'owner', deps, 'enrolment_open')
  await markProved(user, since, deps)
  const now = await deps.users.findById(user.id)
  if (!isActive(now) || !isProved(now) || addressOf(now) !== addressOf(user)) throw changedMeanwhile()
  deps.events.emit('email_verified', { userId: user.id }, origin)
  return now
}
