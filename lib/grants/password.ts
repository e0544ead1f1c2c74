import { authenticatePassword, confirmAuthentic } from '../accounts/authenticate-password.ts'
import { OAuthError } from '../errors.ts'
import { grantScope, parseScope } from '../protocol/scope.ts'
import { required, type TokenRequestParams } from '../protocol/token-request.ts'
import type { GrantContext, GrantDeps, TokenResponse } from './deps.ts'
import { issueTokens } from './issue-tokens.ts'

/**
 * The resource owner password credentials grant, for the host's own front ends.
 * RFC 9700 §2.4 says that this grant must not be used, with third parties in mind; docs/adr says why it is here and how it is fenced.
 * @see RFC 6749 §4.3
 */
export async function passwordGrant (params: TokenRequestParams, { client, origin, attempt }: GrantContext, deps: GrantDeps): Promise<TokenResponse> {
  const username = required(params, 'username')
  const password = required(params, 'password')
  if (client === null && deps.passwordGrant !== 'first-party') throw new OAuthError('unauthorized_client', 'The password grant is for registered clients.')
  if (client !== null && client.firstParty === false) throw new OAuthError('unauthorized_client', 'The password grant is for first-party clients.')
  const scopes = grantScope(parseScope(params.scope), client?.scopes ?? deps.scopes)

  const clientId = client?.clientId ?? null
  const user = await authenticatePassword({ username, password, clientId, origin }, deps.accounts)
  const { sid, response } = await issueTokens({ user, client, scopes, origin, grantType: 'password', attempt }, deps)
  // A password change or a disabled account between the check and the commit above would have missed this family. What can't
  // be confirmed, because the user store is down, is taken back too.
  let confirmed = false
  try {
    confirmed = await confirmAuthentic(user, password, deps.accounts, { clientId, origin })
  } finally {
    if (!confirmed) await deps.sessions.revoke(user.id, sid, 'password_changed', origin)
  }
  if (!confirmed) throw new OAuthError('invalid_grant', 'The username or password is wrong.')
  return response
}
