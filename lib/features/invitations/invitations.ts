import { markProved } from '../../accounts/address-proof.ts'
import type { AccountsDeps } from '../../accounts/deps.ts'
import { findMessageToken, invalidLink } from '../../accounts/message-codes.ts'
import { isUnfinished, finishNewPassword, type NewPassword, setNewPassword } from '../../accounts/change-password.ts'
import { addressed, addressOf, type MessageCause } from '../../accounts/outbox.ts'
import type { Invitations } from '../../accounts/slots.ts'
import { OAuthError } from '../../errors.ts'
import { NO_REQUEST } from '../../events.ts'
import type { OneTimeToken } from '../../ports/state.ts'
import type { User } from '../../ports/user-store.ts'
import { digestOfOneTimeToken, isBoundTo, oneTimeToken } from '../../protocol/credential.ts'
import { isActive } from '../../sessions/active-user.ts'
import { verifyOnce } from '../../accounts/authenticate-password.ts'
import { requireGoodPassword } from '../../accounts/password-policy.ts'
import { ownerConnection } from '../../accounts/ways-in.ts'

const LIFETIME_MS = 7 * 24 * 60 * 60 * 1000

/** The error for an invitation that was accepted, and for a user who has a password. */
const alreadyAccepted = (): OAuthError =>
  new OAuthError('conflict', 'The invitation was accepted before, or the user has a password.', { withoutStack: true })

/** Invitations over the one-time tokens of the state. A token proves the mailbox that it was sent to. */
export function invitationsOver(deps: AccountsDeps): Invitations {
  const { clock, events, oneTimeTokens, outbox, random, users } = deps

  /** True if the user still needs the invitation. A password that was set only half counts as none. */
  const isOpen = async (user: User): Promise<boolean> => user.passwordHash === null || (await isUnfinished(user, deps))

  const find: Invitations['find'] = async (token) => {
    const found = await findMessageToken('invitation', token, deps)
    if (found !== null && (await isOpen(found.user))) return found.user
    throw found !== null || (await findMessageToken('invitation_done', token, deps)) !== null
      ? alreadyAccepted()
      : invalidLink()
  }

  /** Makes the token work again after a failure that was not the person's. */
  async function putBack(record: OneTimeToken): Promise<void> {
    try {
      await oneTimeTokens.put(record)
      await oneTimeTokens.discard('invitation_done', record.userId)
    } catch (error) {
      deps.onError(error, 'an invitation that could not be accepted could not be put back')
    }
  }

  return {
    async send(user) {
      const { token, digest } = oneTimeToken(user.id, random.secret(), [addressOf(user)])
      const expiresAt = clock.now() + LIFETIME_MS
      await oneTimeTokens.put({ purpose: 'invitation', digest, userId: user.id, expiresAt })
      // Read after the write: an act that disables or removes the user ends the tokens that it finds.
      if (!isActive(await users.findById(user.id))) {
        await oneTimeTokens.discard('invitation', user.id)
        throw new OAuthError('conflict', 'The user is disabled.')
      }
      outbox?.post({
        kind: 'invitation',
        user: addressed(user),
        url: deps.messageUrl('invitation', token),
        token,
        expiresAt: new Date(expiresAt),
        locale: undefined,
        origin: NO_REQUEST
      })
    },
    find,
    async accept({ token, connection, origin }, work) {
      const since = clock.now()
      const { id } = await find(token)
      const digest = digestOfOneTimeToken(token) ?? ''
      // Stores the result before the token is used up, so that every press of the link finds one of the two.
      await oneTimeTokens.put({ purpose: 'invitation_done', digest, userId: id, expiresAt: since + LIFETIME_MS })
      const record = await oneTimeTokens.consume('invitation', digest, clock.now())
      if (record === null) throw alreadyAccepted()
      try {
        // Read after the token was used up: an act that changes the address does so before it ends the token.
        const user = await users.findById(record.userId)
        if (!isActive(user) || !isBoundTo(token, 0, addressOf(user))) throw invalidLink()
        if (!(await isOpen(user))) throw alreadyAccepted()
        if (await markProved(user, since, deps)) events.emit('email_verified', { userId: user.id }, origin)
        await work(user)
        events.emit('invitation_accepted', { userId: user.id, connection }, origin)
        return user
      } catch (error) {
        const isOver = error instanceof OAuthError && ['conflict', 'invalid_token'].includes(error.error)
        if (!isOver) await putBack(record)
        throw error
      }
    }
  }
}

/**
 * Accepts an invitation by a password, and signs nobody in. A refused password leaves the invitation as it is. The
 * password is hashed before the token is used up, so that a full queue costs no invitation.
 * @throws OAuthError `invalid_token` with status 400; `conflict`; `invalid_password` with the reason; `access_denied`
 * for an address that a connection manages
 */
export async function choosePassword(
  { token, password, locale, origin }: MessageCause & { token: string; password: string },
  invitations: Invitations,
  deps: AccountsDeps
): Promise<User> {
  const user = await invitations.find(token)
  if (ownerConnection(user, deps) !== null)
    throw new OAuthError('access_denied', 'People of this domain sign in through a connection.', {
      reason: 'connection_only'
    })
  await requireGoodPassword(deps.policy, password, { username: user.username, email: user.email })
  const given: NewPassword = { by: 'invitation', locale, origin }
  if (user.passwordHash !== null) {
    // An earlier try set this password, and something failed after that.
    if ((await verifyOnce(user, password, deps)) !== 'match') throw alreadyAccepted()
    return await invitations.accept({ token, connection: null, origin }, async (now) => {
      await finishNewPassword(now, given, deps)
    })
  }
  const passwordHash = await deps.hashing.hash(password)
  return await invitations.accept({ token, connection: null, origin }, async (now) => {
    if (now.passwordHash !== null || !(await setNewPassword(now, passwordHash, given, deps))) throw alreadyAccepted()
  })
}
