import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { readAuthorizationDetails } from '../protocol/authorization-request.ts'
import { invalidToken } from '../protocol/bearer.ts'
import { liveSession } from '../sessions/active-user.ts'
import { releasedClaims } from '../tokens/disclosure.ts'
import type { GrantDeps } from './deps.ts'

/**
 * The claims about the user of a verified access token: `sub`, and what its scopes and the `claims` parameter of its
 * authorization request ask for. The token's session and its user are looked up, so a revocation anywhere is seen at
 * once. The caller has seen that the token has the scope `openid`, which a client's own token never has.
 * @throws OAuthError `invalid_token`
 * @see OpenID Connect Core 1.0 §5.3
 */
export async function userInfo(
  claims: AccessTokenClaims,
  { accounts: { users }, sessions, clients, claims: hostClaims, scopes: knownScopes }: GrantDeps
): Promise<Record<string, unknown>> {
  const scopes = claims.scope?.split(' ') ?? []
  const { user, family } = await liveSession(claims, { sessions, users })
  const client = family.clientId === null ? null : await clients.findById(family.clientId)
  // The released claims depend on the client.
  if (family.clientId !== null && client === null) throw invalidToken('The token was revoked.', 'its client is gone')
  const requested = family.authorization === null ? undefined : readAuthorizationDetails(family.authorization).claims
  return {
    ...(await releasedClaims(
      { user, client, scopes, use: 'userinfo', claims: requested },
      { claims: hostClaims, scopes: knownScopes }
    )),
    sub: user.id
  }
}
