import { OAuthError } from '../errors.ts'
import type { User } from '../ports/user-store.ts'
import { confirmingOf, isManaged, LIFETIME_MS } from './change-email.ts'
import type { AccountsDeps } from './deps.ts'
import { newConfirmation } from './message-codes.ts'
import { addressed, addressOf, type MessageCause } from './outbox.ts'
import { sendAlreadyRegistered } from './reset-password.ts'
import { isNamedByAddress, readAddress } from './username.ts'

/**
 * Sends a link to the new address, and a notice to the present one. The address changes only when the link is used,
 * within 24 hours. Another request, a new password or another change of the address ends the link. Sends no second link
 * for the same change within five minutes. The rule `passwordReset` limits the links that all accounts together send to
 * one address. If the username would change too and another account has it, the owner of that account gets a message
 * instead of the link, and the answer is the same. The user must have proved their identity just now (`requireProof`),
 * because the owner of the new address can get the account.
 * @throws OAuthError `invalid_request` if the text is no address or the account's own, or if a connection manages the
 * account or the address
 * @returns the normal form of the new address
 */
export async function requestEmailChange(
  { user, sid, email, ...cause }: MessageCause & { user: User; sid: string; email: string },
  deps: AccountsDeps
): Promise<string> {
  if (deps.users.update === undefined || deps.outbox === null)
    throw new OAuthError('server_error', 'Email addresses can not be changed here.', {
      detail: 'the user store has no update, or there is no sendMessage'
    })
  const address = readAddress(email)
  if (address === addressOf(user))
    throw new OAuthError('invalid_request', 'email: it is the address of the account already.', {
      field: 'email',
      reason: 'email_same'
    })
  if (isManaged(user, address, deps))
    throw new OAuthError('invalid_request', 'email: People of this domain sign in through a connection.', {
      field: 'email',
      reason: 'connection_only'
    })
  deps.events.emit('email_change_requested', { userId: user.id, sid }, cause.origin)
  deps.background.run(
    `change ${user.id} ${address}`,
    'the messages of a change of address could not be prepared',
    async () => {
      const former = addressOf(user)
      // Sends the notice to the present mailbox before looking up the new address. If a taken address stopped the
      // notice, the reader of that mailbox would learn that the address is taken.
      await deps.messageBound.send(['email_change_requested', user.id, former], async () => {
        deps.outbox?.post({ kind: 'email_change_requested', user: addressed(user), ...cause })
      })
      if (isNamedByAddress(user) && (await deps.users.findByUsername(address)) !== null)
        sendAlreadyRegistered(address, cause, deps)
      else
        await deps.messageBound.send(
          ['email_change', user.id, former, user.passwordHash ?? '', address],
          async () => {
            await sendLink(user, { address, sid }, cause, deps)
          },
          { typed: address }
        )
    }
  )
  return address
}

/**
 * Sends the link. Its token carries the new address and the sign-in that asked, so that nothing is stored with the user
 * until the link is used.
 */
async function sendLink(
  user: User,
  { address, sid }: { address: string; sid: string },
  cause: MessageCause,
  deps: AccountsDeps
): Promise<void> {
  const asked = { user, address, sid, asker: cause.asker ?? '' }
  const { token, digest, shown } = await newConfirmation(confirmingOf(asked), deps)
  const expiresAt = deps.clock.now() + LIFETIME_MS
  await deps.oneTimeTokens.put({ purpose: 'email_change', digest, userId: user.id, expiresAt })
  // An event that ends the open links first ends the sign-ins, or changes a value to which the link is bound. If such
  // an event came before this link was stored, the sign-in that asked is over, or the link does not work.
  if (!(await deps.sessions.isAlive(user.id, sid))) {
    await deps.oneTimeTokens.discard('email_change', user.id)
    return
  }
  deps.outbox?.post({
    kind: 'email_change',
    user: { ...user, email: address, emailVerified: false },
    ...cause,
    url: deps.messageUrl('email_change', token),
    token,
    expiresAt: new Date(expiresAt),
    ...shown
  })
}
