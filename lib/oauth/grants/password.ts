import { authenticatePassword, confirmAuthentic } from '../../accounts/authenticate-password.ts'
import { isFirstParty } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import type { User } from '../../ports/user-store.ts'
import { passwordProof } from '../../protocol/authentication.ts'
import { grantScope, parseScope } from '../../protocol/scope.ts'
import { required, type TokenRequestParams } from '../../protocol/token-request.ts'
import { allowedScopes } from '../../tokens/disclosure.ts'
import type { GrantContext, GrantDeps, TokenResponse } from '../deps.ts'
import { issueTokens, reportIssued } from '../issue-tokens.ts'

/**
 * The resource owner password credentials grant, for the host's own front ends.
 * RFC 9700 §2.4 says that this grant must not be used, with third parties in mind; docs/adr says why it is here and how it is fenced.
 * @see RFC 6749 §4.3
 */
export async function passwordGrant (params: TokenRequestParams, { client, origin }: GrantContext, deps: GrantDeps): Promise<TokenResponse> {
  const username = required(params, 'username')
  const password = required(params, 'password')
  if (client === null && deps.passwordGrant !== 'first-party') throw new OAuthError('unauthorized_client', 'The password grant is for registered clients.')
  if (!isFirstParty(client)) throw new OAuthError('unauthorized_client', 'The password grant is for first-party clients.')
  const scopes = grantScope(parseScope(params.scope), allowedScopes(client, deps.scopes))

  const clientId = client?.clientId ?? null
  const user = await authenticatePassword({ username, password, clientId, origin }, deps.accounts)
  const issue = { user, client, methods: [passwordProof(deps.accounts.clock.now())], scopes, origin, grantType: 'password' }
  const { sid, response } = await issueTokens(issue, deps)
  // Looked up again after the commit: if the password was changed or the account disabled between the check and the commit, that could not
  // end this family. It is ended too where the user can't be looked up.
  let confirmed: User | null = null
  try {
    confirmed = await confirmAuthentic(user, password, deps.accounts, { clientId, origin })
  } finally {
    if (confirmed === null) await deps.sessions.revoke(user.id, sid, 'undone', origin)
  }
  if (confirmed === null) throw new OAuthError('invalid_grant', 'The username or password is wrong.')
  deps.accounts.events.emit('authenticated', { userId: user.id, sid, clientId, method: 'password' }, origin)
  reportIssued(issue, sid, deps)
  return response
}
