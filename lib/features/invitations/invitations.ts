import { INVITATION_DAYS } from '../../accounts/acted-on.ts'
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

const LIFETIME_MS = INVITATION_DAYS * 86_400_000

/** Makes the error for an invitation that was accepted before, or whose user has a password. */
const alreadyAccepted = (): OAuthError =>
  new OAuthError('conflict', 'The invitation was accepted before, or the user has a password.', { withoutStack: true })

/** Creates invitations from one-time tokens of the state. A token proves that its holder reads the invited mailbox. */
export function invitationsOver(deps: AccountsDeps): Invitations {
  const { clock, events, oneTimeTokens, outbox, random, users } = deps

  /** True if the user has no password, or if an earlier attempt to set one stopped halfway. */
  const isOpen = async (user: User): Promise<boolean> => user.passwordHash === null || (await isUnfinished(user, deps))

  const find: Invitations['find'] = async (token) => {
    const found = await findMessageToken('invitation', token, deps)
    if (found !== null && (await isOpen(found.user))) return found.user
    throw found !== null || (await findMessageToken('invitation_done', token, deps)) !== null
      ? alreadyAccepted()
      : invalidLink()
  }

  /** Makes the token work again after a failure other than `conflict` or `invalid_token`. */
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
      // Reads the user after the write: a parallel action that disables or removes the user may have missed this token.
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
      // Stores `invitation_done` before the token is used up, so that every use of the link finds one of the records.
      await oneTimeTokens.put({ purpose: 'invitation_done', digest, userId: id, expiresAt: since + LIFETIME_MS })
      const record = await oneTimeTokens.consume('invitation', digest, clock.now())
      if (record === null) throw alreadyAccepted()
      try {
        // Reads the user after the token is used up, so that the check below sees a parallel change of the address.
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
 * Accepts an invitation by setting a password. Signs nobody in. A rejected password does not use up the invitation.
 * Hashes the password before using up the token, so that a full hash queue does not cost the invitation.
 * @throws OAuthError `invalid_token` with status 400; `conflict` if accepted before; `invalid_password` with the
 * reason; `access_denied` for an address that a connection manages
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
    // An earlier try has set a password and failed afterwards. Only the same password finishes that try.
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
