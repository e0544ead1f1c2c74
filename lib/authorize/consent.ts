import { OAuthError } from '../errors.ts'
import type { Events, Origin } from '../events.ts'
import type { Consent, ConsentStore } from '../ports/consent-store.ts'
import type { User } from '../ports/user-store.ts'
import { revokeConsent } from '../sessions/revoke-consent.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { passwordChangedAt } from '../sessions/since-password-change.ts'
import type { AuthorizeDeps } from './deps.ts'
import type { Facts } from './checks.ts'

/** A year. */
const LIFETIME_MS = 365 * 24 * 60 * 60 * 1000

/**
 * Keeps what the person allowed. They are asked again once scopes are added, or after a year.
 * @throws OAuthError `login_required` where nobody is signed in
 */
export async function grantConsent(
  { client, scopes, signedIn, now }: Facts,
  origin: Origin,
  { consents, accounts }: AuthorizeDeps
): Promise<void> {
  if (signedIn === null) throw new OAuthError('login_required', 'Nobody is signed in.')
  await consents.grantConsent({
    userId: signedIn.user.id,
    clientId: client.clientId,
    scopes,
    grantedAt: now,
    expiresAt: now + LIFETIME_MS
  })
  accounts.events.emit(
    'consent_granted',
    { userId: signedIn.user.id, sid: signedIn.session.sid, clientId: client.clientId, scope: scopes.join(' ') },
    origin
  )
}

/**
 * What the user allows clients now, newest first. What was allowed under a former password may have been allowed by
 * whoever stole that, and counts no more.
 */
export async function consentsOf(
  user: User,
  { consents, accounts: { clock } }: Pick<AuthorizeDeps, 'consents' | 'accounts'>
): Promise<Consent[]> {
  const changedAt = passwordChangedAt(user) ?? 0
  return (await consents.listConsents(user.id, clock.now())).filter(({ grantedAt }) => grantedAt >= changedAt)
}

interface TakingBack {
  userId: string
  clientId: string
  by: 'user' | 'host'
  /** The browser session in which the person does it. */
  sid?: string
  origin: Origin
}

/**
 * Takes the consent back and ends all that the client was given for the user. `false` where there was no consent.
 *
 * What the client was given ends first: where anything fails, the consent is there still, and whoever tries again finds
 * it. And it ends again after that, for a code that was given in between. Where the last step fails the consent is gone
 * and so is all that was there before; what began between the two steps goes on, and this ends it when it is called
 * again. A person's page does not, for it shows the client no more.
 */
export async function takeBackConsent(
  { userId, clientId, by, sid, origin }: TakingBack,
  { consents, sessions, events }: { consents: ConsentStore; sessions: Sessions; events: Events }
): Promise<boolean> {
  await sessions.revokeFamiliesOfClient(userId, clientId, by, origin)
  const revoked = await revokeConsent(
    userId,
    clientId,
    { by, ...(sid !== undefined && { sid }), origin },
    { consents, events }
  )
  await sessions.revokeFamiliesOfClient(userId, clientId, by, origin)
  return revoked
}
