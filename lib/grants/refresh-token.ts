import { OAuthError } from '../errors.ts'
import { parseRefreshToken } from '../protocol/refresh-token.ts'
import { parseScope } from '../protocol/scope.ts'
import { required, type TokenRequestParams } from '../protocol/token-request.ts'
import { signIdToken } from './issue-id-token.ts'
import type { GrantContext, GrantDeps, TokenResponse } from './deps.ts'
import { commitRotation, commitUse, findFamily, type RefreshAttempt, reportRefresh, signForFamily, stillGrantable } from './refresh-family.ts'

/**
 * The refresh token grant. The token is replaced, unless `refreshToken.rotate` is `never`: then it is used, and the answer
 * has none. A narrower `scope` is that of the access token alone; the family keeps what was granted.
 * @throws OAuthError `invalid_grant`, `invalid_scope`, `invalid_request`, `unauthorized_client`
 * @see RFC 6749 §6, RFC 9700 §4.14
 */
export async function refreshTokenGrant (params: TokenRequestParams, { client, origin }: GrantContext, deps: GrantDeps): Promise<TokenResponse> {
  if (client === null && deps.passwordGrant !== 'first-party') throw new OAuthError('unauthorized_client', 'The refresh token grant is for registered clients.')
  const presented = parseRefreshToken(required(params, 'refresh_token'))
  const requested = parseScope(params.scope)
  if (presented === null) throw refused('malformed')
  const attempt: RefreshAttempt = { presented, origin, refused }

  const family = await findFamily(attempt, deps)
  // Before anything that can revoke: who holds another client's token, be it an old one, must not log its user out.
  if (family.clientId !== (client?.clientId ?? null)) throw refused('another client')
  const granted = family.scope.split(' ')
  const beyond = requested?.filter((scope) => !granted.includes(scope)) ?? []
  if (beyond.length > 0) throw new OAuthError('invalid_scope', `These scopes were not granted: ${beyond.join(' ')}.`)
  // What was granted and no longer may be is left out, and the answer says so: a client that always sends its scope goes on.
  const scopes = stillGrantable(family, client, deps).filter((scope) => requested === undefined || requested.includes(scope))
  const { user, accessToken } = await signForFamily({ family, client, scopes }, attempt, deps)
  const idToken = client === null ? {} : await signIdToken({ user, client, scopes, family, accessToken }, deps)
  const answer = { access_token: accessToken, token_type: 'Bearer', expires_in: deps.accessTokens.expiresInSeconds, ...idToken, scope: scopes.join(' ') } as const
  if (deps.refreshToken.rotate !== 'never') return { ...answer, refresh_token: await commitRotation(attempt, deps) }
  reportRefresh(await commitUse(attempt, deps), false, attempt, deps)
  return answer
}

function refused (detail: string): Error {
  return new OAuthError('invalid_grant', 'The refresh token is invalid, expired or revoked.', { detail })
}
