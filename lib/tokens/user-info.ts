import type { ClientStore } from '../ports/client-store.ts'
import type { UserStore } from '../ports/user-store.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import { readAuthorizationDetails } from '../protocol/authorization-details.ts'
import { insufficientScope } from '../protocol/bearer.ts'
import { liveSession } from './live-session.ts'
import { type ClaimsFunction, releasedClaims } from './released-claims.ts'
import type { Sessions } from './sessions.ts'

export interface UserInfoDeps {
  sessions: Pick<Sessions, 'find'>
  users: UserStore
  clients: ClientStore
  claims: ClaimsFunction | null
}

/**
 * The claims about the user of a verified access token: `sub`, and what its scopes and the `claims` parameter of its authorization
 * request ask for. The token's session and its user are looked up, so a revocation anywhere is seen at once.
 * @throws OAuthError `insufficient_scope` without `openid`, which a client's own token never has; `invalid_token`
 * @see OpenID Connect Core 1.0 §5.3
 */
export async function userInfo (claims: AccessTokenClaims, { sessions, users, clients, claims: host }: UserInfoDeps): Promise<Record<string, unknown>> {
  const scopes = claims.scope?.split(' ') ?? []
  if (!scopes.includes('openid')) throw insufficientScope(['openid'])
  const { user, family } = await liveSession(claims, { sessions, users })
  const client = family.clientId === null ? null : await clients.findById(family.clientId)
  const requested = family.authorization === null ? undefined : readAuthorizationDetails(family.authorization).claims
  return { ...await releasedClaims({ user, client, scopes, use: 'userinfo', claims: requested }, host), sub: user.id }
}
