import type { AccountsDeps } from '../../accounts/deps.ts'
import { linkOf } from '../../accounts/identities.ts'
import { invalidLink } from '../../accounts/message-tokens.ts'
import { addressOf, type MessageCause } from '../../accounts/outbox.ts'
import { storeLink } from '../../accounts/sign-in-writes.ts'
import { normalizeUsername } from '../../accounts/username.ts'
import { isManagedElsewhere } from '../../accounts/ways-in.ts'
import { slotOf } from '../../accounts/slots.ts'
import { UpstreamError } from '../../errors.ts'
import type { Connection } from '../../ports/upstream.ts'
import type { User } from '../../ports/user-store.ts'
import { acceptsEmail, type FederatedPerson } from './person.ts'

interface Accepting extends MessageCause {
  token: string
  connection: Connection
  person: FederatedPerson
}

/**
 * Accepts an invitation: links the identity to the invited user. The provider must have verified the invited address,
 * and no other. The token proves the mailbox, so all that other people opened with the address ends.
 * @throws OAuthError as `Invitations.accept` does; UpstreamError `email`, `taken`, `disabled`
 */
export async function acceptByConnection(
  { token, connection, person, locale, origin }: Accepting,
  deps: AccountsDeps
): Promise<User> {
  const invitations = slotOf(deps, 'invitations')
  if (invitations === null) throw invalidLink()
  const user = await invitations.find(token)
  const isInvited = person.email !== undefined && person.email === normalizeUsername(addressOf(user))
  if (!isInvited || !acceptsEmail(connection, person.email) || isManagedElsewhere(user, connection.id, deps))
    throw new UpstreamError('email', 'The provider did not verify the invited address, or may not open the account.')
  const owner = (await deps.users.findByIdentity?.(person)) ?? null
  if (owner !== null && owner.id !== user.id)
    throw new UpstreamError('taken', 'The identity is linked to another user.')
  return await invitations.accept({ token, connection: connection.id, origin }, async (now) => {
    const link = linkOf(person, { connection: connection.id, now: deps.clock.now(), isProvisional: false })
    const stored = await storeLink({ user: now, link, contested: 'by_sign_in', locale, origin }, deps)
    if (stored === 'taken') throw new UpstreamError('taken', 'The identity was linked to another user meanwhile.')
    if (stored === 'unknown_user') throw new UpstreamError('disabled', 'The account was removed meanwhile.')
  })
}
