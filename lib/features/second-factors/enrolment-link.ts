import { newKindsOf, type ProvingDeps } from './deps.ts'
import { hasFactor } from '../../protocol/second-factors.ts'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST } from '../../events.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { OneTimeToken } from '../../ports/state.ts'
import type { User } from '../../ports/user-store.ts'
import { COOKIES } from '../../protocol/cookies.ts'
import { digestOfOneTimeToken, isBoundTo, oneTimeToken } from '../../protocol/credential.ts'
import { isActive } from '../../sessions/active-user.ts'
import type { Origin } from '../../sessions/sessions.ts'
import { invalidLink } from '../../accounts/message-codes.ts'

/*
 * A link for a user who has lost every second factor. The host makes it after its own check of the user's identity.
 *
 * The link proves only that check. It is no factor, and it signs nobody in. The session afterwards rests on the first
 * factor and on the new second one. So a thief of the link needs the user's first factor too.
 *
 * The browser that uses up the link is invited for an hour. A sign-in of the user in this browser leads to the set-up
 * of a second factor before there is a session, with or without `mfa.required`. The address of the account need not be
 * confirmed before that, because the host has checked more than a mailbox.
 *
 * The link is only for users without a second factor, and never replaces an existing one. It is bound to the password
 * hash and to the device epoch. So a new password, another link and every change of the user's factors end it. A new
 * address, a disabled account and a removed account end it too (`endOpenTokens`). All these events also end the
 * invitation of the browser.
 */

const LIFETIME_MS = 24 * 60 * 60 * 1000

const contextOf = (service: string): string => JSON.stringify(['enrolment invitation', service])
const boundTo = ({ passwordHash }: User, epoch: number): string[] => [passwordHash ?? '', String(epoch)]

/**
 * Makes the token of a link, which works once and for 24 hours. The earlier link and its invitation end.
 * @throws OAuthError `invalid_request` for a user who is disabled or has a second factor; `not_found` if users can set
 * up no factor here
 */
export async function makeEnrolmentLink(user: User, deps: ProvingDeps): Promise<{ token: string; expiresAt: number }> {
  const {
    clock,
    events,
    factors: { store },
    oneTimeTokens,
    random
  } = deps
  const { apps, passkeys } = newKindsOf(deps)
  if (apps === null && passkeys === null) throw new OAuthError('not_found', 'Second factors are not set up here.')
  if (user.disabled === true) throw new OAuthError('invalid_request', 'The user is disabled.')
  if (hasFactor(await store.findFactors(user.id)))
    throw new OAuthError(
      'invalid_request',
      'The user has a second factor. If it is lost, remove it first with resetFactors.',
      { statusCode: 409 }
    )
  // The new epoch ends the earlier link. It forgets no browser, because a user without a factor has no remembered
  // browser.
  const epoch = await store.forgetDevices(user.id)
  const { token, digest } = oneTimeToken(user.id, random.secret(), boundTo(user, epoch))
  const expiresAt = clock.now() + LIFETIME_MS
  await oneTimeTokens.put({ purpose: 'enrolment', digest, userId: user.id, expiresAt })
  events.emit('enrolment_link_made', { userId: user.id }, NO_REQUEST)
  return { token, expiresAt }
}

/** Returns the user of a valid link. Does not use up the link. @throws OAuthError `invalid_token` with status 400 */
export async function checkEnrolmentLink(token: string, deps: ProvingDeps): Promise<User> {
  return (await found(token, deps)).user
}

async function found(
  token: string,
  { clock, factors: { store }, oneTimeTokens, users }: ProvingDeps
): Promise<{ user: User; record: OneTimeToken }> {
  const tokenDigest = digestOfOneTimeToken(token)
  const record = tokenDigest === null ? null : await oneTimeTokens.find('enrolment', tokenDigest, clock.now())
  if (record === null) throw invalidLink()
  const [user, factors] = await Promise.all([users.findById(record.userId), store.findFactors(record.userId)])
  if (!isActive(user) || !isFor(token, user, factors)) throw invalidLink()
  return { user, record }
}

/** True if neither the password nor the factors of the user have changed since the token was made. */
const isFor = (token: string, user: User, factors: UserFactors): boolean =>
  !hasFactor(factors) && boundTo(user, factors.deviceEpoch).every((value, index) => isBoundTo(token, index, value))

/**
 * Uses up the link, and returns the sealed invitation for the browser's cookie. Of parallel calls, only one succeeds.
 * @throws OAuthError `invalid_token` with status 400
 */
export async function redeemEnrolmentLink(
  { token, origin }: { token: string; origin: Origin },
  deps: ProvingDeps
): Promise<string> {
  const {
    clock,
    events,
    factors: { sealer },
    service,
    oneTimeTokens
  } = deps
  const { user, record } = await found(token, deps)
  // Stores the invitation before the link is used up, so that the link works again if a store fails.
  const expiresAt = clock.now() + COOKIES.enrolment.seconds * 1000
  await oneTimeTokens.put({ ...record, purpose: 'enrolment_open', expiresAt })
  if ((await oneTimeTokens.consume('enrolment', record.digest, clock.now())) === null) throw invalidLink()
  events.emit('enrolment_link_used', { userId: user.id }, origin)
  return sealer.seal(token, contextOf(service))
}

/** True if the browser has a valid invitation for this user, whose password and factors have not changed since. */
export async function isInvited(
  invitation: string | undefined,
  user: User,
  factors: UserFactors,
  { clock, factors: { sealer }, service, oneTimeTokens }: ProvingDeps
): Promise<boolean> {
  const token =
    invitation === undefined || invitation.length > 2048 ? null : sealer.open(invitation, contextOf(service))
  const tokenDigest = digestOfOneTimeToken(token ?? '')
  if (token === null || tokenDigest === null || !isFor(token, user, factors)) return false
  return (await oneTimeTokens.find('enrolment_open', tokenDigest, clock.now()))?.userId === user.id
}
