import type { User } from '../ports/user-store.ts'
import type { Origin } from '../sessions/sessions.ts'
import { isProvisional } from './address-proof.ts'
import type { AccountsDeps } from './deps.ts'
import { identityUnlinked, listLinks } from './identities.ts'
import { addressed } from './outbox.ts'

/** What proved the mailbox, or who disowned the account. */
type ProofCause = 'password_reset' | 'disowned' | 'email_sign_in' | 'email_changed' | 'identity_linked'

/** Ends what is provisional of the user's, and tells of each. Idempotent. */
export async function endProvisional(
  user: User,
  cause: { by: ProofCause; locale: string | undefined; origin: Origin },
  deps: AccountsDeps
): Promise<void> {
  const { users, factors, events, outbox } = deps
  const { by, locale, origin } = cause
  if (users.unlinkIdentity !== undefined)
    for (const link of await listLinks(user.id, deps))
      if (isProvisional(link, user) && (await users.unlinkIdentity(user.id, link, true)) === 'unlinked')
        identityUnlinked(user, link, cause, deps)
  for (const { id, kind } of (await factors?.store.removeProvisional(user.id)) ?? []) {
    events.emit('factor_removed', { userId: user.id, factorId: id, kind, by: 'mailbox' }, origin)
    // The owner of the address never set it up, and a message that it is gone would only puzzle them.
    if (by !== 'disowned')
      outbox?.post({ kind: 'factor_removed', factor: kind, by: 'user', user: addressed(user), locale, origin })
  }
}
