import { OAuthError } from '../errors.ts'
import type { Events, Origin } from '../events.ts'
import type { Consent, ConsentStore } from '../ports/state.ts'
import type { User } from '../ports/user-store.ts'
import { revokeConsent, type Sessions } from '../sessions/sessions.ts'
import { passwordChangedAt } from '../sessions/active-user.ts'
import type { AuthorizeDeps } from './deps.ts'
import { allowedOf, type Facts, looksOf } from './checks.ts'

/** The lifetime of a consent: a year. */
const LIFETIME_MS = 365 * 24 * 60 * 60 * 1000

/**
 * Stores the consent of the signed-in user. The consent page appears again if the client asks for more scopes or APIs,
 * after a password change, or after a year. For an unregistered client it also appears again if the host that vouches
 * for the client, its name, or the host or scheme of a redirect URI changes.
 * @throws OAuthError `login_required` if nobody is signed in
 */
export async function grantConsent(
  { client, scopes, resources, signedIn, now }: Facts,
  origin: Origin,
  { consents, accounts }: AuthorizeDeps
): Promise<void> {
  if (signedIn === null) throw new OAuthError('login_required', 'Nobody is signed in.')
  await consents.grantConsent({
    userId: signedIn.user.id,
    clientId: client.clientId,
    scopes: allowedOf({ scopes, resources }),
    ...looksOf(client),
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
 * The user's valid consents, newest first. Leaves out consents from before the last password change, because a thief of
 * the former password may have given them.
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
  /** The browser session in which the user revokes the consent. */
  sid?: string
  origin: Origin
}

/**
 * Revokes the consent and ends all tokens of the client for the user. Returns `false` if there was no consent. Ends the
 * tokens first, so that after a failure the consent is still there for another try. Ends the tokens again at the end,
 * because a code may have been issued in between. If this last step fails, the consent and all earlier tokens are gone,
 * but later tokens live until another call ends them. Only the API can retry then, because the account page no longer
 * lists the client.
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
