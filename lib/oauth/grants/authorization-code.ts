import type { TokenRequestParams } from '../../protocol/request-params.ts'
import { isActive } from '../../sessions/active-user.ts'
import { OAuthError } from '../../errors.ts'
import type { Client } from '../../ports/client-store.ts'
import type { RefreshTokenFamily } from '../../ports/token-store.ts'
import type { User } from '../../ports/user-store.ts'
import {
  type AuthorizationDetails,
  readAuthorizationDetails,
  verifyCodeChallenge
} from '../../protocol/authorization-request.ts'
import { invalidClient } from '../../protocol/client-authentication.ts'
import { digest } from '../../protocol/digest.ts'
import { type Credential, formatCredential, parseCredential } from '../../protocol/credential.ts'
import { required } from '../../protocol/request-params.ts'
import { type GrantContext, type GrantDeps, type TokenResponse, grant } from '../deps.ts'
import { accessAnswer, refreshKeyOf, reportIssued, signIdToken } from '../issue-tokens.ts'
import { stillGrantable } from '../refresh-family.ts'
import { type Asked, namedResources, targetOf } from '../target.ts'

type Params = TokenRequestParams<'code' | 'redirect_uri' | 'code_verifier'>

/**
 * The checks after the code is used up. A failed check ends the family of the code, and the answer is `invalid_grant`.
 */
const CHECKS: ReadonlyArray<{
  name: string
  see: string
  holds(params: Params, details: AuthorizationDetails, jkt: string | null): boolean
}> = [
  // With PKCE, `redirect_uri` may be absent as in OAuth 2.1, because PKCE proves the same.
  {
    name: 'the redirect URI is the one of the authorization request',
    see: 'RFC 6749 §4.1.3',
    holds: (params, { redirectUri, codeChallenge }) =>
      params.redirect_uri === redirectUri || (params.redirect_uri === undefined && codeChallenge !== undefined)
  },
  {
    name: 'the verifier is the one of the challenge',
    see: 'RFC 7636 §4.6, RFC 9700 §4.8.2',
    holds: (params, { codeChallenge }) => verifyCodeChallenge(params.code_verifier, codeChallenge)
  },
  {
    name: 'the key is the one of the authorization request',
    see: 'RFC 9449 §10',
    holds: (_params, { dpopJkt }, jkt) => dpopJkt === undefined || dpopJkt === jkt
  }
]

/**
 * The authorization code grant. A failed check uses the code up too, so that an attacker can guess the verifier only
 * once. A second use ends the tokens of the first. If another client presents the code, it stays unused, because
 * clients could otherwise end the sign-ins of each other.
 * @see RFC 6749 §4.1.3, OpenID Connect Core 1.0 §3.1.3
 */
export const AUTHORIZATION_CODE = grant({
  type: 'authorization_code',
  signsIn: 'any',
  clients: { redirectUris: true },
  isOn: ({ idTokens }) => idTokens !== null,
  params: { code: { bytes: 16384 }, redirect_uri: { bytes: 2048 }, code_verifier: { bytes: 256 } },
  errors: ['invalid_grant'],
  what:
    'tokens for the `code` that the client got at its redirect URI, with the same `redirect_uri` and the ' +
    '`code_verifier` of its challenge. A code works once: a second use ends the tokens of the first one. The ' +
    'answer has an `id_token` if `openid` was granted, and a refresh token if `offline_access` was granted and' +
    ' the client may use that grant. Exists with redirect sign-in.',
  handle: authorizationCodeGrant
})

async function authorizationCodeGrant(
  params: Params,
  { client, jkt, origin }: GrantContext,
  deps: GrantDeps
): Promise<TokenResponse> {
  if (client === null) throw invalidClient(undefined)
  const presented = parseCredential(required(params, 'code'))
  if (presented === null) throw refused('malformed')
  namedResources(params, client, deps)
  // Waits for the signing keys before the code is used up, so that a failure here costs no code.
  await deps.accessTokens.ready()
  await deps.idTokens?.ready(client)

  const secret = deps.accounts.random.secret()
  const family = await redeem(presented, digest(secret), { client, jkt, origin }, deps)
  const details = readAuthorizationDetails(family.authorization)
  const failed = CHECKS.find(({ holds }) => !holds(params, details, jkt))
  if (failed !== undefined) {
    await deps.sessions.revoke(family.userId, family.sid, 'undone', origin)
    throw refused(failed.name)
  }
  try {
    const { user, response } = await answer(family, params, { client, jkt, details }, deps)
    reportIssued(
      { user, client, scopes: family.scope.split(' '), origin, grantType: params.grant_type },
      family.sid,
      deps
    )
    return family.offline ? { ...response, refresh_token: formatCredential(presented.id, secret) } : response
  } catch (error) {
    // Any failure, such as an outage, ends the family: its code is used up, and no tokens were handed out.
    await deps.sessions.revoke(family.userId, family.sid, 'undone', origin).catch((failure: unknown) => {
      deps.accounts.onError(failure, 'a session whose tokens could not be made was not ended')
    })
    throw error
  }
}

/** The tokens of a family that has just begun, without its refresh token. */
async function answer(
  family: RefreshTokenFamily,
  asked: Asked,
  { client, jkt, details }: { client: Client; jkt: string | null; details: AuthorizationDetails },
  deps: GrantDeps
): Promise<{ user: User; response: TokenResponse }> {
  const user = await deps.accounts.users.findById(family.userId)
  if (!isActive(user)) throw refused('user gone or disabled')
  if (await deps.sessions.isOver(user, family)) throw refused('signed in before the password was changed')
  const scopes = stillGrantable(family, client, deps)
  const target = targetOf(asked, { resources: details.resources ?? [] }, client, deps)
  const { answer: access } = await accessAnswer(
    { user, client, jkt, scopes, sid: family.sid, authentication: family, target },
    deps
  )
  const idToken = await signIdToken(
    { user, client, scopes, family, accessToken: access.access_token, nonce: details.nonce },
    deps
  )
  return { user, response: { ...access, ...idToken } }
}

async function redeem(
  presented: Credential,
  tokenDigest: string,
  { client, jkt, origin }: GrantContext & { client: Client },
  deps: GrantDeps
): Promise<RefreshTokenFamily> {
  const now = deps.accounts.clock.now()
  const boundTo = refreshKeyOf(client, jkt)
  const result = await deps.tokens.redeemCode({
    sid: presented.sid,
    digest: presented.digest,
    clientId: client.clientId,
    now,
    tokenDigest,
    expiresAt: now + deps.refreshToken.expiresInMs,
    idleExpiresAt: now + Math.min(deps.refreshToken.idleTimeoutMs, deps.refreshToken.expiresInMs),
    onlineExpiresAt: now + Math.max(...[null, ...deps.resources].map(deps.accessTokens.secondsFor)) * 1000,
    userAgent: origin.userAgent ?? null,
    ...(boundTo === undefined ? {} : { jkt: boundTo })
  })
  if (result.outcome === 'redeemed') return result.family
  if (result.outcome === 'replayed') {
    deps.sessions.forget(result.family.sid)
    deps.accounts.events.emit(
      'logged_out',
      { userId: result.family.userId, sids: [result.family.sid], by: 'code_reused' },
      origin
    )
  }
  throw refused(result.outcome)
}

function refused(detail: string): OAuthError {
  return new OAuthError('invalid_grant', 'The authorization code is invalid, expired or used.', { detail })
}
