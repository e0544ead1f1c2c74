import { OAuthError } from '../errors.ts'
import type { LinkedIdentity, User } from '../ports/user-store.ts'
import { endConsents } from './new-password.ts'
import type { AccountsDeps } from './deps.ts'
import { type FirstFactor, firstFactorHolds } from './first-factor.ts'
import { linkIdOf, listLinks, unlinkIdentity } from './identities.ts'
import type { MessageCause } from './outbox.ts'
import { storeLink } from './store-link.ts'
import { takeMailbox } from './take-mailbox.ts'

/**
 * Writes what a sign-in has waited with until its last factor was proved, so that nobody changes an account by half a
 * sign-in. `keeps`: the factor that was just set up in this sign-in.
 * @returns the sign-in with the user as they are after it; `null` where it does not hold any more
 */
export async function settled<SignIn extends Pick<FirstFactor, 'user' | 'by' | 'connection' | 'identity' | 'writes'>>(
  signIn: SignIn,
  { keeps, ...cause }: MessageCause & { keeps?: string },
  deps: AccountsDeps
): Promise<SignIn | null> {
  if (signIn.writes === undefined) return signIn
  const user = await firstFactorHolds(signIn, deps)
  if (user === null) return null
  const { link, profile, takesOver, takesMailbox } = signIn.writes
  if (takesMailbox === true) await takeMailbox(user, cause, deps)
  if (link !== undefined) {
    // Before the link, so that a sign-in after a failure in between takes the account over once more.
    if (takesOver === true) {
      await endPasswordForGood(user, deps)
      await endPasskeys(user, keeps, deps)
    }
    const contested = takesOver === true ? 'by_owner' : 'by_address'
    const stored = await storeLink({ user, link, contested, ...cause }, deps)
    if (stored !== 'linked' && stored !== 'already_linked') return null
    if (takesOver === true) {
      // Again, for a passkey that a session of before has added until the sessions ended.
      await endPasskeys(user, keeps, deps)
      await endOtherLinks(user, link, cause, deps)
    }
  }
  if (profile !== undefined) await deps.users.update?.(user.id, profile)
  const now = await deps.users.findById(user.id)
  return now === null ? null : { ...signIn, user: now, writes: undefined }
}

/** @throws OAuthError `temporarily_unavailable`, where the password is another one by now */
async function endPasswordForGood(user: User, { users, hashing, random, clock }: AccountsDeps): Promise<void> {
  if (user.passwordHash === null || users.setPasswordHash === undefined) return
  const next = await hashing.hash(random.secret())
  if (!(await users.setPasswordHash(user.id, next, user.passwordHash, clock.now())))
    throw new OAuthError('temporarily_unavailable', 'The account was changed meanwhile. Try again.')
}

/** All but the one that was set up in this sign-in. An authenticator app stays. */
async function endPasskeys(user: User, keeps: string | undefined, { factors }: AccountsDeps): Promise<void> {
  if (factors === null) return
  const { passkeys } = await factors.store.findFactors(user.id)
  for (const { id } of passkeys)
    if (id !== keeps) await factors.store.removeFactor({ userId: user.id, factorId: id, keepOne: false })
}

/**
 * After the link that stays: the last way in is never removed. Until then `enforce` keeps the others from signing in.
 */
async function endOtherLinks(
  user: User,
  link: LinkedIdentity,
  { locale, origin }: MessageCause,
  deps: AccountsDeps
): Promise<void> {
  for (const other of await listLinks(user.id, deps))
    if (linkIdOf(other) !== linkIdOf(link))
      await unlinkIdentity(user, linkIdOf(other), { by: 'user', locale, origin }, deps)
  await endConsents(user.id, { by: 'password_changed', origin }, deps)
}
