import { OAuthError } from '../../errors.ts'
import type { Client } from '../../ports/client-store.ts'
import type { RefreshTokenFamily } from '../../ports/token-store.ts'
import { parseCredential } from '../../protocol/credential.ts'
import { parseScope } from '../../protocol/scope.ts'
import { required, type TokenRequestParams } from '../../protocol/request-params.ts'
import { signIdToken } from '../issue-tokens.ts'
import { type Asked, namedResources } from '../target.ts'
import { type GrantContext, type GrantDeps, type TokenResponse, grant } from '../deps.ts'
import {
  commitUse,
  type RefreshAttempt,
  reportRefresh,
  signForFamily,
  stillGrantable,
  withRotation
} from '../refresh-family.ts'

/**
 * The refresh token grant. Replaces the refresh token, unless `refreshToken.rotate` is `never`. Then the refresh token
 * stays the same, and the answer has no refresh token. A narrower `scope` applies to the access token only. The family
 * keeps its scope.
 * @see RFC 6749 §6, RFC 9700 §4.14
 */
export const REFRESH_TOKEN = grant({
  type: 'refresh_token',
  // The limit is high, so that a long access token that was sent by mistake gets `invalid_grant`, like any unknown
  // token, and not `invalid_request`.
  params: { refresh_token: { bytes: 16384 } },
  errors: ['invalid_grant', 'invalid_scope'],
  what:
    'new tokens for the `refresh_token` of this client, or of callers without a client with `passwordGrant: ' +
    "'first-party'`. `scope` narrows the access token; the session keeps its scope. The answer has the next " +
    'refresh token. The old one works for `reuseGraceSeconds` with the same successor; after that it is a ' +
    "replay, which ends the session. With `refreshToken.rotate: 'never'` the answer has no refresh token and " +
    'the old one stays valid. A session that began with a code and `openid` gets a new `id_token`.',
  handle: refreshTokenGrant
})

async function refreshTokenGrant(
  params: TokenRequestParams<'refresh_token'>,
  { client, jkt, origin }: GrantContext,
  deps: GrantDeps
): Promise<TokenResponse> {
  if (client === null && deps.passwordGrant !== 'first-party')
    throw new OAuthError('unauthorized_client', 'The refresh token grant is for registered clients.')
  const presented = parseCredential(required(params, 'refresh_token'))
  const requested = parseScope(params.scope)
  if (presented === null) throw refused('malformed')
  namedResources(params, client, deps)
  const attempt: RefreshAttempt = { presented, jkt, origin, refused, client }

  // Waits for the signing keys before the token is replaced, so that a failure here costs no token.
  await deps.accessTokens.ready()
  if (client !== null) await deps.idTokens?.ready(client)
  // The store looks for a family of this client only, so that a client with another client's old token can't sign its
  // user out.
  const clientId = client?.clientId ?? null
  if (deps.refreshToken.rotate === 'never') {
    const family = await commitUse(attempt, clientId, deps)
    const response = await answer(family, attempt, { client, requested, asked: params }, deps)
    reportRefresh(family, false, attempt, deps)
    return response
  }
  const { result, refreshToken } = await withRotation(
    attempt,
    clientId,
    (family) => answer(family, attempt, { client, requested, asked: params }, deps),
    deps
  )
  return { ...result, refresh_token: refreshToken }
}

async function answer(
  family: RefreshTokenFamily,
  attempt: RefreshAttempt,
  { client, requested, asked }: { client: Client | null; requested: string[] | undefined; asked: Asked },
  deps: GrantDeps
): Promise<TokenResponse> {
  const granted = family.scope.split(' ')
  const beyond = requested?.filter((scope) => !granted.includes(scope)) ?? []
  if (beyond.length > 0) throw new OAuthError('invalid_scope', `These scopes were not granted: ${beyond.join(' ')}.`)
  // A granted scope that is no longer allowed is left out, and the answer says so. So a client that always sends its
  // scope continues to work.
  const scopes = stillGrantable(family, client, deps).filter(
    (scope) => requested === undefined || requested.includes(scope)
  )
  const { user, access } = await signForFamily({ family, client, scopes, asked }, attempt, deps)
  const accessToken = access.access_token
  const idToken = client === null ? {} : await signIdToken({ user, client, scopes, family, accessToken }, deps)
  return { ...access, ...idToken }
}

function refused(detail: string): Error {
  return new OAuthError('invalid_grant', 'The refresh token is invalid, expired or revoked.', { detail })
}
