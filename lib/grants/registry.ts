import { OAuthError } from '../errors.ts'
import type { Client, GrantType } from '../ports/client-store.ts'
import { normalizeUsername } from '../accounts/username.ts'
import type { TokenRequestParams } from '../protocol/token-request.ts'
import { authorizationCodeGrant } from './authorization-code.ts'
import type { GrantContext, GrantDeps, TokenResponse } from './deps.ts'
import { clientCredentialsGrant } from './client-credentials.ts'
import { passwordGrant } from './password.ts'
import { refreshTokenGrant } from './refresh-token.ts'

/** One grant of the token endpoint. A new one is a file, a test and a line in `GRANTS`. */
export interface Grant {
  type: GrantType
  /** The rate limit an attempt counts under, the account it is an attempt on, and whether the token store may count it. */
  attempt(params: TokenRequestParams): { rule: 'login' | 'refresh', account?: string, byStore?: true }
  handle(params: TokenRequestParams, context: GrantContext, deps: GrantDeps): Promise<TokenResponse>
}

const GRANTS: readonly Grant[] = [
  { type: 'password', attempt: (params) => ({ rule: 'login', ...accountOf(params.username) }), handle: passwordGrant },
  { type: 'authorization_code', attempt: () => ({ rule: 'refresh', byStore: true }), handle: authorizationCodeGrant },
  { type: 'refresh_token', attempt: () => ({ rule: 'refresh', byStore: true }), handle: refreshTokenGrant },
  // Not `login`: a client's secret is 32 random bytes and can't be guessed as a password can, and whoever tries can do so at any
  // grant. But a few instances behind one address, whose successes `login` would count too, would lock each other out.
  { type: 'client_credentials', attempt: () => ({ rule: 'refresh' }), handle: clientCredentialsGrant }
]

const DEFAULT_GRANT_TYPES: readonly GrantType[] = ['authorization_code', 'refresh_token']

/** @throws OAuthError `unsupported_grant_type`. @see RFC 6749 §5.2 */
export function findGrant (type: string, deps: Pick<GrantDeps, 'passwordGrant' | 'idTokens'>): Grant {
  const grant = GRANTS.find((candidate) => candidate.type === type)
  const off = (type === 'password' && deps.passwordGrant === false) || (type === 'authorization_code' && deps.idTokens === null)
  if (grant === undefined || off) throw new OAuthError('unsupported_grant_type', 'The grant type is not supported.')
  return grant
}

/** @throws OAuthError `unauthorized_client`. @see RFC 6749 §5.2 */
export function checkGrantAllowed (grant: Grant, client: Client | null): void {
  if (client !== null && !(client.grantTypes ?? DEFAULT_GRANT_TYPES).includes(grant.type)) throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
}

function accountOf (username: string | undefined): { account?: string } {
  if (username === undefined) return {}
  // A name that can't be one has no account to protect, but is counted like one, so that it tells nothing.
  return { account: normalizeUsername(username) ?? username }
}
