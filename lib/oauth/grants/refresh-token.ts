import { OAuthError } from '../../errors.ts'
import type { Client } from '../../ports/client-store.ts'
import type { RefreshTokenFamily } from '../../ports/token-store.ts'
import { parseCredential } from '../../protocol/credential.ts'
import { parseScope, scopeMember } from '../../protocol/scope.ts'
import { required, type TokenRequestParams } from '../../protocol/token-request.ts'
import { signIdToken } from '../sign-id-token.ts'
import type { GrantContext, GrantDeps, TokenResponse } from '../deps.ts'
import {
  commitUse,
  type RefreshAttempt,
  reportRefresh,
  signForFamily,
  stillGrantable,
  withRotation
} from '../refresh-family.ts'

/**
 * The refresh token grant. The token is replaced, unless `refreshToken.rotate` is `never`: then it is used, and the
 * answer has none. A narrower `scope` is that of the access token alone; the family keeps what was granted.
 * @throws OAuthError `invalid_grant`, `invalid_scope`, `invalid_request`, `unauthorized_client`
 * @see RFC 6749 §6, RFC 9700 §4.14
 */
export async function refreshTokenGrant(
  params: TokenRequestParams,
  { client, origin }: GrantContext,
  deps: GrantDeps
): Promise<TokenResponse> {
  if (client === null && deps.passwordGrant !== 'first-party')
    throw new OAuthError('unauthorized_client', 'The refresh token grant is for registered clients.')
  const presented = parseCredential(required(params, 'refresh_token'))
  const requested = parseScope(params.scope)
  if (presented === null) throw refused('malformed')
  const attempt: RefreshAttempt = { presented, origin, refused }

  // Before the token is replaced, for signing keys may not be ready yet.
  await deps.accessTokens.ready()
  if (client !== null) await deps.idTokens?.ready(client)
  // The store looks for a family of this client only, so that a client with another client's old token can't sign its
  // user out.
  const clientId = client?.clientId ?? null
  if (deps.refreshToken.rotate === 'never') {
    const family = await commitUse(attempt, clientId, deps)
    const response = await answer(family, attempt, { client, requested }, deps)
    reportRefresh(family, false, attempt, deps)
    return response
  }
  const { result, refreshToken } = await withRotation(
    attempt,
    clientId,
    async (family) => await answer(family, attempt, { client, requested }, deps),
    deps
  )
  return { ...result, refresh_token: refreshToken }
}

async function answer(
  family: RefreshTokenFamily,
  attempt: RefreshAttempt,
  { client, requested }: { client: Client | null; requested: string[] | undefined },
  deps: GrantDeps
): Promise<TokenResponse> {
  const granted = family.scope.split(' ')
  const beyond = requested?.filter((scope) => !granted.includes(scope)) ?? []
  if (beyond.length > 0) throw new OAuthError('invalid_scope', `These scopes were not granted: ${beyond.join(' ')}.`)
  // A scope that was granted and may no longer be is left out, and the answer says so, so that a client that always
  // sends its scope goes on.
  const scopes = stillGrantable(family, client, deps).filter(
    (scope) => requested === undefined || requested.includes(scope)
  )
  const { user, accessToken } = await signForFamily({ family, client, scopes }, attempt, deps)
  const idToken = client === null ? {} : await signIdToken({ user, client, scopes, family, accessToken }, deps)
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: deps.accessTokens.expiresInSeconds,
    ...idToken,
    ...scopeMember(scopes)
  }
}

function refused(detail: string): Error {
  return new OAuthError('invalid_grant', 'The refresh token is invalid, expired or revoked.', { detail })
}
