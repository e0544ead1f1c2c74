import type { RemovedFactor } from '../ports/factor-store.ts'
import type { User } from '../ports/user-store.ts'
import { isProvisional } from './address-proof.ts'
import type { AccountsDeps } from './deps.ts'
import { identityUnlinked, listLinks } from './identities.ts'
import { addressed, type MessageCause } from './outbox.ts'

/** What proved the mailbox, or who disowned the account. */
type ProofCause = 'password_reset' | 'disowned' | 'email_sign_in' | 'email_changed' | 'identity_linked'

/** Ends what is provisional of the user's, and tells of each. Idempotent. */
export async function endProvisional(
  user: User,
  cause: MessageCause & { by: ProofCause },
  deps: AccountsDeps
): Promise<void> {
  const { users, factors } = deps
  if (users.unlinkIdentity !== undefined)
    for (const link of await listLinks(user.id, deps))
      if (isProvisional(link, user) && (await users.unlinkIdentity(user.id, link, true)) === 'unlinked')
        identityUnlinked(user, link, cause, deps)
  for (const factor of (await factors?.store.removeProvisional(user.id)) ?? []) {
    // The owner of the address never set it up, and a message that it is gone would only puzzle them.
    const outbox = cause.by === 'disowned' ? null : deps.outbox
    factorEnded(user, factor, cause, { events: deps.events, outbox })
  }
}

/** Tells of a factor that whoever reads the mail has ended: an event, and a message. */
export function factorEnded(
  user: User,
  { id, kind }: RemovedFactor,
  { locale, origin }: MessageCause,
  { events, outbox }: Pick<AccountsDeps, 'events' | 'outbox'>
): void {
  events.emit('factor_removed', { userId: user.id, factorId: id, kind, by: 'mailbox' }, origin)
  outbox?.post({ kind: 'factor_removed', factor: kind, by: 'user', user: addressed(user), locale, origin })
}
