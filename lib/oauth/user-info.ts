import type { ClientStore } from '../ports/client-store.ts'
import type { UserStore } from '../ports/user-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { readAuthorizationDetails } from '../protocol/authorization-details.ts'
import { invalidToken } from '../protocol/bearer.ts'
import { liveSession } from '../sessions/live-session.ts'
import { type ReleasePolicy, releasedClaims } from '../tokens/released-claims.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface UserInfoDeps extends ReleasePolicy {
  sessions: Pick<Sessions, 'find' | 'isOver'>
  users: UserStore
  clients: ClientStore
}

/**
 * The claims about the user of a verified access token: `sub`, and what its scopes and the `claims` parameter of its authorization
 * request ask for. The token's session and its user are looked up, so a revocation anywhere is seen at once.
 * That the token has the scope `openid`, which a client's own never has, was seen before.
 * @throws OAuthError `invalid_token`
 * @see OpenID Connect Core 1.0 §5.3
 */
export async function userInfo (claims: AccessTokenClaims, { sessions, users, clients, ...policy }: UserInfoDeps): Promise<Record<string, unknown>> {
  const scopes = claims.scope?.split(' ') ?? []
  const { user, family } = await liveSession(claims, { sessions, users })
  const client = family.clientId === null ? null : await clients.findById(family.clientId)
  // Without its client, nobody can say what it may learn.
  if (family.clientId !== null && client === null) throw invalidToken('The token was revoked.', 'its client is gone')
  const requested = family.authorization === null ? undefined : readAuthorizationDetails(family.authorization).claims
  return { ...await releasedClaims({ user, client, scopes, use: 'userinfo', claims: requested }, policy), sub: user.id }
}
