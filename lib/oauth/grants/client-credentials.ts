import { isPublic } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import { invalidClient } from '../../protocol/client-authentication.ts'
import { scopeMember } from '../../protocol/scope.ts'
import type { TokenRequestParams } from '../../protocol/request-params.ts'
import { CLAIM_SCOPES } from '../../protocol/user-claims.ts'
import { type GrantContext, type GrantDeps, type TokenResponse, grant } from '../deps.ts'
import { checkBinding, tokenTypeOf } from '../issue-tokens.ts'
import { admitted, grantedBy, impliedResource, scopesFor, targetOf } from '../target.ts'

/** Scopes that are about a user, which a client's own token can't have. */
const USER_SCOPES: readonly string[] = ['openid', 'offline_access', ...CLAIM_SCOPES]

/**
 * The client credentials grant: an access token of the client itself. No refresh token, because the client can always
 * ask again.
 *
 * `sub` and `client_id` are both the client's id, and there is no `sid`. Endpoints about a user need the session of a
 * token, so they refuse this token, even if a user has the same id as the client.
 * @see RFC 6749 §4.4, RFC 9068 §2.2, RFC 9700 §4.15
 */
export const CLIENT_CREDENTIALS = grant({
  type: 'client_credentials',
  clients: { confidential: true },
  params: {},
  errors: ['invalid_scope'],
  what:
    'an access token of the client itself, for clients with a secret or keys that list the grant. `scope` narrows ' +
    'the grant, without `openid`, `profile`, `email` and `offline_access`, which concern a user. There is no ' +
    "refresh token and no session: `sub` and `client_id` of the token are both the client's id. It has no " +
    "`sid`, which distinguishes it from a user's token.",
  handle: clientCredentialsGrant
})

async function clientCredentialsGrant(
  params: TokenRequestParams,
  { client, jkt, origin }: GrantContext,
  deps: GrantDeps
): Promise<TokenResponse> {
  if (client === null) throw invalidClient(undefined)
  if (isPublic(client))
    throw new OAuthError('unauthorized_client', 'The client credentials grant is for clients with a secret or keys.')
  checkBinding(client, jkt)
  const named =
    params.resource === undefined && params.audience === undefined
      ? { ...params, ...impliedResource(client, deps) }
      : params
  const granted = grantedBy(named, client, deps, USER_SCOPES)
  const target = targetOf({}, granted, client, deps)
  const scopes = await admitted(scopesFor(target, granted.scopes, deps), { user: null, client }, deps)
  await deps.accessTokens.ready(target)
  const accessToken = deps.accessTokens.mint({
    sub: client.clientId,
    client_id: client.clientId,
    jkt,
    target,
    scopes
  })
  deps.accounts.events.emit(
    'token_issued',
    { userId: null, sid: null, clientId: client.clientId, scope: scopes.join(' '), grantType: params.grant_type },
    origin
  )
  return {
    access_token: accessToken,
    token_type: tokenTypeOf(jkt),
    expires_in: deps.accessTokens.secondsFor(target),
    ...scopeMember(scopes)
  }
}
