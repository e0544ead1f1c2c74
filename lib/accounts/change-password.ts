import { OAuthError } from '../errors.ts'
import { NO_REQUEST } from '../events.ts'
import type { User } from '../ports/user-store.ts'
import { isActive } from '../sessions/active-user.ts'
import { type Origin, type StayingSignIn, revokeConsent } from '../sessions/sessions.ts'
import { verifyOnce } from './authenticate-password.ts'
import { changedMeanwhile } from './changed-meanwhile.ts'
import type { AccountsDeps } from './deps.ts'
import { requireGoodPassword } from './password-policy.ts'
import { digest, partitionOf } from '../protocol/digest.ts'
import { provePassword, wrongPassword } from './fresh-sign-in.ts'
import { endProvisional } from './identities.ts'
import { endOpenTokens } from './open-tokens.ts'
import { addressed } from './outbox.ts'
import { slotOf } from './slots.ts'

/** The cause of a new password, and the sign-in that stays. */
export interface NewPassword {
  /**
   * `change`: a signed-in user, or the host. `reset`, `invitation`: the holder of a link. The others: the account may
   * have been made by a person who does not own its address. The owner of the address has disowned the account
   * (`disowned`), signed in by an emailed code (`email_sign_in`), or linked an identity (`identity_linked`).
   */
  by: 'change' | 'reset' | 'invitation' | 'disowned' | 'email_sign_in' | 'identity_linked'
  /** The sign-in that stays when all others end. */
  stays?: StayingSignIn | null | undefined
  /** The language of the message to the user. */
  locale?: string | undefined
  origin: Origin
}

/** The time in which a change that failed half-way can be finished by repeating it. */
export const UNFINISHED_FOR_MS = 60 * 60 * 1000

/**
 * Stores a new password hash and ends everything that the former password opened: sessions and tokens, consents, and
 * open links for a reset, a change of address or an enrolment. Ends sessions and consents before the hash is stored, so
 * that a later failure leaves nobody signed in by the former password. Ends them again afterwards, for sign-ins that
 * began in between. If this second time fails, the function rejects and the change stays unfinished. When the caller
 * tries again, `finishNewPassword` does the rest.
 * @returns `false` if the stored hash is no longer the one of `user`, and so stays as it is
 */
export async function setNewPassword(
  user: User,
  next: string,
  given: NewPassword,
  deps: AccountsDeps
): Promise<boolean> {
  const { users, clock, events, oneTimeTokens } = deps
  if (users.setPasswordHash === undefined)
    throw new OAuthError('server_error', 'Passwords can not be changed here.', {
      detail: 'the user store has no setPasswordHash'
    })
  await endAll(user, given, deps)
  const hasApiKeys = await keepsApiKeys(user, deps)
  await oneTimeTokens.put({
    purpose: 'password_change',
    digest: nameOf(user.id, next),
    userId: user.id,
    expiresAt: clock.now() + UNFINISHED_FOR_MS
  })
  if (!(await users.setPasswordHash(user.id, next, user.passwordHash, clock.now()))) return false
  events.emit('password_changed', { userId: user.id, sid: given.stays?.sid ?? null, by: given.by }, given.origin)
  const { by, locale, origin } = given
  if (by !== 'disowned' && by !== 'invitation')
    deps.outbox?.post({ kind: 'password_changed', user: addressed(user), hasApiKeys, locale, origin })
  await finishNewPassword(user, given, deps)
  return true
}

/**
 * Ends everything that the user's password opened. If the user has a password, replaces it with a random one that
 * nobody knows.
 * @throws OAuthError `temporarily_unavailable`, also if another request changes the account at the same moment
 */
export async function endPassword(user: User, given: NewPassword, deps: AccountsDeps): Promise<void> {
  if (user.passwordHash === null) {
    await endAll(user, given, deps)
    await endOpenTokens(user.id, 'password', deps)
  } else if (!(await setNewPassword(user, await deps.hashing.hash(deps.random.secret()), given, deps)))
    throw changedMeanwhile()
}

/**
 * Does the work after a new hash is stored: ends sign-ins, consents and open links, and provisional factors and links
 * too unless `by` is `change`. Can be repeated.
 */
export async function finishNewPassword(user: User, given: NewPassword, deps: AccountsDeps): Promise<void> {
  await endAll(user, given, deps)
  try {
    await endOpenTokens(user.id, 'password', deps)
  } catch (error) {
    // Each link is bound to the password hash at its creation, so older links are refused already. A link that could
    // not be removed only stays stored until it expires.
    deps.onError(error, 'what a password change leaves behind could not be removed')
  }
}

/** True if a change set the user's present hash and is not known to have ended everything since. */
export async function isUnfinished(
  { id, passwordHash }: User,
  { oneTimeTokens, clock }: AccountsDeps
): Promise<boolean> {
  if (passwordHash === null) return false
  const found = await oneTimeTokens.find('password_change', nameOf(id, passwordHash), clock.now())
  return found?.userId === id
}

/**
 * Ends the user's sign-ins, then their consents, because a signed-in user could give a new consent. Unless `by` is
 * `change`, ends provisional factors and identity links before both. Runs each step even if another has failed: an
 * outage of one store must not keep a thief signed in through another. Then rejects with the first failure.
 */
export async function endAll(
  user: User,
  { by, stays, locale, origin }: NewPassword,
  deps: AccountsDeps
): Promise<void> {
  const { id } = user
  // Identity links and factors end first, because otherwise one of them could begin a sign-in after the sessions have
  // ended.
  const [provisional] = await Promise.allSettled([
    by === 'change'
      ? undefined
      : endProvisional(
          user,
          { by: by === 'reset' || by === 'invitation' ? 'password_reset' : by, locale, origin },
          deps
        )
  ])
  const [sessions] = await Promise.allSettled([
    deps.sessions.revokeAll(id, by === 'identity_linked' ? by : 'password_changed', { stays, origin })
  ])
  const [consents] = await Promise.allSettled([endConsents(id, { by: 'password_changed', origin }, deps)])
  for (const step of [provisional, sessions, consents]) if (step.status === 'rejected') throw step.reason
}

/** Revokes all consents of the user. Idempotent. */
export async function endConsents(
  userId: string,
  { by, origin }: { by: 'password_changed' | 'account_removed'; origin: Origin },
  { consents, events, clock }: Pick<AccountsDeps, 'consents' | 'events' | 'clock'>
): Promise<void> {
  const given = await consents.listConsents(userId, clock.now())
  await Promise.all(
    given.map(async ({ clientId }) => await revokeConsent(userId, clientId, { by, origin }, { consents, events }))
  )
}

/**
 * True if the user has API keys that have not expired. The message about the new password then mentions them. Also true
 * if the keys can't be read: a thief may have made one, and an outage must not stop the password change.
 */
async function keepsApiKeys({ id }: User, deps: AccountsDeps): Promise<boolean> {
  try {
    const keys = (await slotOf(deps, 'apiKeys')?.list(id)) ?? []
    return keys.some(({ expiresAt }) => expiresAt === null || expiresAt > deps.clock.now())
  } catch (error) {
    deps.onError(error, 'the API keys of a user with a new password could not be listed')
    return true
  }
}

function nameOf(userId: string, passwordHash: string): string {
  return partitionOf(userId) + digest(`set ${passwordHash}`)
}

interface PasswordChange {
  userId: string
  /** The sign-in that asks for the change. It stays. */
  stays?: StayingSignIn | undefined
  currentPassword: string
  newPassword: string
  locale?: string | undefined
  origin: Origin
}

/**
 * Replaces the password of a signed-in user, who gives the current one. Ends all their other sign-ins, their consents,
 * and open links for a reset, a change of address or an enrolment. Of parallel changes with the same current password,
 * one succeeds. If a change fails half-way (503), repeating the request finishes it, even if the stored hash is the new
 * one already.
 * @throws OAuthError `invalid_grant` if the current password is wrong, was changed meanwhile, or does not exist (a
 * reset sets a first one); `invalid_password` with the reason; `temporarily_unavailable`
 */
export async function changePassword(change: PasswordChange, deps: AccountsDeps): Promise<void> {
  const { userId, stays, currentPassword, newPassword, locale, origin } = change
  const given: NewPassword = { by: 'change', stays, locale, origin }
  const proof = { userId, sid: stays?.sid ?? null, password: currentPassword, origin }
  const user = await deps.users.findById(userId)
  if (user !== null && (await wasBegunBefore(user, newPassword, deps))) {
    await finishNewPassword(user, given, deps)
    return
  }
  const verified = await provePassword({ user, ...proof }, deps)
  await requireGoodPassword(deps.policy, newPassword, { username: verified.username, email: verified.email })
  const next = await deps.hashing.hash(newPassword)
  if (await setNewPassword(verified, next, given, deps)) return
  // The stored hash changed since it was read. If a sign-in has only replaced the hash, the current password still
  // matches. If the password itself changed, `provePassword` throws.
  const again = await provePassword({ user: await deps.users.findById(userId), ...proof }, deps)
  if (!(await setNewPassword(again, next, given, deps))) throw wrongPassword()
}

/**
 * Sets a new password on behalf of the host, without the current one. Ends all sign-ins. The rules for new passwords
 * apply.
 * @throws OAuthError `invalid_grant` if there is no such user or another request changes the password meanwhile;
 * `invalid_password` with the reason; `temporarily_unavailable`
 */
export async function replacePassword(userId: string, newPassword: string, deps: AccountsDeps): Promise<void> {
  const find = async (): Promise<User> => {
    const user = await deps.users.findById(userId)
    if (user === null) throw new OAuthError('invalid_grant', 'There is no such user.')
    return user
  }
  const user = await find()
  await requireGoodPassword(deps.policy, newPassword, { username: user.username, email: user.email })
  const next = await deps.hashing.hash(newPassword)
  const given: NewPassword = { by: 'change', origin: NO_REQUEST }
  // The first call fails if the hash changed since it was read: a sign-in has replaced the hash, or another request has
  // set a password. The second call then replaces the present hash.
  if ((await setNewPassword(user, next, given, deps)) || (await setNewPassword(await find(), next, given, deps))) return
  throw new OAuthError('invalid_grant', 'Another request has changed the password meanwhile.')
}

/**
 * True if an earlier try of this change stored its hash and failed afterwards. The new password is then the current
 * one, and proves as much as the former one did. Compares the password only while a change is unfinished. Otherwise
 * each request would test two guesses at the current password.
 */
async function wasBegunBefore(user: User, newPassword: string, deps: AccountsDeps): Promise<boolean> {
  return isActive(user) && (await isUnfinished(user, deps)) && (await verifyOnce(user, newPassword, deps)) === 'match'
}
