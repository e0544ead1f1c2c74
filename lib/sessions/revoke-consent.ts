import type { AuthorityEvents, Events, Origin } from '../events.ts'
import type { ConsentStore } from '../ports/state.ts'

/**
 * Takes a user's consent for a client back, and emits the event. Tokens of the client stay alive: ending them is
 * another step. `false` if there was no consent.
 */
export async function revokeConsent(
  userId: string,
  clientId: string,
  { by, sid = null, origin }: { by: AuthorityEvents['consent_revoked']['by']; sid?: string | null; origin: Origin },
  { consents, events }: { consents: ConsentStore; events: Events }
): Promise<boolean> {
  const revoked = await consents.revokeConsent(userId, clientId)
  if (revoked) events.emit('consent_revoked', { userId, sid, clientId, by }, origin)
  return revoked
}
