import { OAuthError } from '../errors.ts'
import type { Origin } from '../events.ts'
import type { AuthorizeDeps } from './deps.ts'
import type { Facts } from './checks.ts'

/** A year. */
const LIFETIME_MS = 365 * 24 * 60 * 60 * 1000

/**
 * Keeps what the person allowed. They are asked again once scopes are added, or after a year.
 * @throws OAuthError `login_required` where nobody is signed in
 */
export async function grantConsent ({ client, scopes, signedIn, now }: Facts, origin: Origin, { consents, accounts }: AuthorizeDeps): Promise<void> {
  if (signedIn === null) throw new OAuthError('login_required', 'Nobody is signed in.')
  await consents.grantConsent({ userId: signedIn.user.id, clientId: client.clientId, scopes, grantedAt: now, expiresAt: now + LIFETIME_MS })
  accounts.events.emit('consent_granted', { userId: signedIn.user.id, sid: signedIn.session.sid, clientId: client.clientId, scope: scopes.join(' ') }, origin)
}
