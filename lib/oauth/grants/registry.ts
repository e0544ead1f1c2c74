import { mayUse } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import type { Client, GrantType } from '../../ports/client-store.ts'
import type { SecondFactorCheck } from '../../accounts/factors/deps.ts'
import { normalizeUsername } from '../../accounts/username.ts'
import { TOKEN_EXCHANGE_GRANT } from '../../protocol/token-exchange.ts'
import type { TokenRequestParams } from '../../protocol/token-request.ts'
import { authorizationCodeGrant } from './authorization-code.ts'
import type { GrantCall, GrantDeps, TokenResponse } from '../deps.ts'
import { clientCredentialsGrant } from './client-credentials.ts'
import { passwordGrant } from './password.ts'
import { refreshTokenGrant } from './refresh-token.ts'
import { tokenExchangeGrant } from './token-exchange.ts'
import { withMfa } from './with-mfa.ts'

/** One grant of the token endpoint. A new one is a file, a test and a line in `GRANTS`. */
interface Grant {
  type: GrantType | typeof MFA_GRANT | typeof PASSKEY_GRANT
  /** A client must be registered for one of these. Default: the grant itself. */
  rightOf?: readonly GrantType[]
  /**
   * The limit under which an attempt is counted before the grant is handled, where it can be guessed. Left out where
   * the grant is a secret of 256 random bits, which counts when it has failed.
   */
  guess?(params: TokenRequestParams): { rule: 'login' | 'connect'; account?: string }
  /** An `OAuthError` that it resolves to is thrown on; the attempt has succeeded nevertheless. */
  handle(
    params: TokenRequestParams,
    context: GrantCall,
    deps: GrantDeps
  ): Promise<TokenResponse | GuessAtFactor | OAuthError>
}

/** The rest of a grant, which guesses at a second factor of a user whom only its first part knows. */
export interface GuessAtFactor {
  check: SecondFactorCheck
  finish(given: { isKnown: boolean }): Promise<TokenResponse>
}

const MFA_GRANT = 'urn:fastify-authority:grant-type:mfa'
const PASSKEY_GRANT = 'urn:fastify-authority:grant-type:passkey'

type GrantTypesDeps = Pick<GrantDeps, 'passwordGrant' | 'idTokens' | 'exchange'> & {
  accounts: Pick<GrantDeps['accounts'], 'factors'>
}

const GRANTS: readonly Grant[] = [
  { type: 'password', guess: (params) => ({ rule: 'login', ...accountOf(params.username) }), handle: passwordGrant },
  { type: 'authorization_code', handle: authorizationCodeGrant },
  { type: 'refresh_token', handle: refreshTokenGrant },
  { type: 'client_credentials', handle: clientCredentialsGrant },
  { type: TOKEN_EXCHANGE_GRANT, guess: () => ({ rule: 'connect' }), handle: tokenExchangeGrant },
  // It goes on with what one of these began.
  {
    type: MFA_GRANT,
    rightOf: ['password', TOKEN_EXCHANGE_GRANT],
    handle: async (...request) => await (await withMfa()).mfaGrant(...request)
  },
  {
    type: PASSKEY_GRANT,
    rightOf: ['password'],
    handle: async (...request) => await (await import('./passkey.ts')).passkeyGrant(...request)
  }
]

/** @throws OAuthError `unsupported_grant_type`. @see RFC 6749 §5.2 */
export function findGrant(type: string, deps: GrantTypesDeps): Grant {
  const grant = GRANTS.find((candidate) => candidate.type === type)
  if (grant === undefined || isOff(type, deps))
    throw new OAuthError(
      'unsupported_grant_type',
      // What is no name of ours may be anything, a password too, and descriptions are logged.
      `${grant?.type ?? 'The grant type'} is not supported here. There are: ${grantTypesOn(deps).join(', ')}.`
    )
  return grant
}

/** Those that the token endpoint knows in this configuration. */
export function grantTypesOn(deps: GrantTypesDeps): Array<Grant['type']> {
  return GRANTS.map(({ type }) => type).filter((type) => !isOff(type, deps))
}

function isOff(type: string, deps: GrantTypesDeps): boolean {
  if (type === MFA_GRANT)
    return (deps.passwordGrant === false && deps.exchange === null) || deps.accounts.factors === null
  if (type === TOKEN_EXCHANGE_GRANT) return deps.exchange === null
  if (type === PASSKEY_GRANT) return deps.passwordGrant === false || (deps.accounts.factors?.passkeys ?? null) === null
  return (
    (type === 'password' && deps.passwordGrant === false) || (type === 'authorization_code' && deps.idTokens === null)
  )
}

/** @throws OAuthError `unauthorized_client`. @see RFC 6749 §5.2 */
export function checkGrantAllowed(grant: Grant, client: Client | null): void {
  if (client !== null && !(grant.rightOf ?? [grant.type as GrantType]).some((type) => mayUse(client, type)))
    throw new OAuthError('unauthorized_client', 'The client may not use this grant type.')
}

function accountOf(username: string | undefined): { account?: string } {
  if (username === undefined) return {}
  // A text that can't be a username has no account, but is counted like one, so that the count does not tell which
  // names there can be.
  return { account: normalizeUsername(username) ?? username }
}
