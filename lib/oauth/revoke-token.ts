import { OAuthError } from '../errors.ts'
import type { Client } from '../ports/client-store.ts'
import { invalidToken } from '../protocol/bearer.ts'
import { parseCredential } from '../protocol/credential.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import type { Origin, Sessions } from '../sessions/sessions.ts'

/**
 * Ends the family that a refresh or an access token belongs to: all its refresh and access tokens. Any refresh token of
 * the family is accepted, also a replaced one. Only a holder of one knows the id of the family, and the store keeps no
 * digest by which it could tell an older token from a forged secret. An attacker with the id alone could end the family
 * at the refresh endpoint as well, where the same request counts as a replay.
 * @throws OAuthError `invalid_token` if the token is unknown, malformed, expired or revoked: the caller makes a success
 * of it
 * @throws OAuthError `unauthorized_client` if it is another client's, which stays alive
 * @throws OAuthError `invalid_request` for an access token without a session, which nothing can end before it expires
 * @see RFC 7009 §2.1, §2.2
 */
export async function revokeToken(
  token: string,
  client: Client | null,
  origin: Origin,
  { sessions, accessTokens }: { sessions: Sessions; accessTokens: AccessTokens }
): Promise<void> {
  const refresh = parseCredential(token)
  const claims = refresh === null ? await accessTokens.verify(token, 'any') : null
  if (claims !== null && claims.sid === undefined) {
    checkOwner(claims.client_id ?? null, client)
    // The token stays valid, so a 200 would be wrong. The error unsupported_token_type (RFC 7009 §2.2.1) is about a
    // whole kind of tokens.
    throw new OAuthError(
      'invalid_request',
      'This access token belongs to no session and can not be revoked; it ends when it expires.'
    )
  }
  const family = await sessions.find(refresh?.sid ?? claims?.sid ?? '')
  if (family === null || (claims !== null && claims.sub !== family.userId)) throw invalidToken('The token is unknown.')
  checkOwner(family.clientId, client)
  await sessions.revoke(family.userId, family.sid, 'user', origin)
}

/**
 * A caller without a client owns the tokens that were issued without one. RFC 7009 §2.1 asks for an error and names
 * none. `unauthorized_client` fits, because token and credentials are good and this client may not do this.
 * `invalid_grant` would say that the token is bad, and a client library would take that for a successful sign-out.
 */
function checkOwner(owner: string | null, client: Client | null): void {
  if (owner !== (client?.clientId ?? null))
    throw new OAuthError('unauthorized_client', 'The token was not issued to this client.')
}
