import { Type } from '@sinclair/typebox'
import { OAuthError } from '../../errors.ts'
import { authenticateClient } from '../../oauth/authenticate-client.ts'
import { introspect as introspectToken, revokeToken, userInfo } from '../../oauth/presented-token.ts'
import { parseTokenQuery } from '../../protocol/request-params.ts'
import { clientOf, tokenOf } from '../edge/caller-guards.ts'
import { rememberClient } from '../edge/cors.ts'
import { originOf } from '../edge/request-origin.ts'
import { endpoint, type Endpoint } from '../edge/endpoint.ts'
import { CLIENT_FIELDS, Nothing } from '../edge/schemas.ts'

const TokenQuery = Type.Object({
  token: Type.String(),
  token_type_hint: Type.Optional(Type.String({ description: 'Not needed: a token is found whatever the hint.' })),
  ...CLIENT_FIELDS
})

/** `POST /auth/revoke`. @see RFC 7009 */
const revoke = endpoint({
  method: 'POST',
  path: 'revoke',
  callers: 'anyone',
  proof: 'client_secret',
  isProtocol: true,
  cors: 'ofClients',
  takes: 'form',
  summary: 'Revoke a token and its session',
  what:
    'Ends a session by one of its tokens (RFC 7009). By a refresh token, a replaced one too, or by an access token: ' +
    'all refresh and access tokens of the session end with it, the access tokens at once in this process and at the ' +
    'endpoints that look at the store, elsewhere when they expire. Clients authenticate as at the token endpoint and ' +
    'may revoke their own tokens only; a caller without a client may revoke those that were issued without one. A ' +
    'token that is unknown, expired or revoked gets the same answer, `{}`.',
  body: TokenQuery,
  answers: { 200: Nothing },
  errors: {
    400: {
      invalid_request: 'also for an access token that belongs to no session, which ends when it expires',
      unauthorized_client: "another client's token, which stays alive"
    },
    401: 'invalid_client',
    429: { too_many_requests: 'rule `refresh`; unknown tokens count as failed' },
    503: { temporarily_unavailable: 'the token may be alive: try again' }
  },
  handle: async (request, reply, { grants, clientsOf, limiter }) => {
    const query = parseTokenQuery(request.body)
    try {
      await limiter.countFailure(request, reply, async () => {
        const origin = originOf(request)
        const client = await authenticateClient(request.headers.authorization, query, origin, {
          clients: clientsOf(request),
          grants
        })
        if (client !== null) rememberClient(request, client.clientId)
        await revokeToken(query.token, client, origin, grants)
      })
    } catch (error) {
      // RFC 7009 §2.2: an invalid token is a success. The limiter has already counted it as a failed attempt.
      if (!(error instanceof OAuthError) || error.error !== 'invalid_token') throw error
    }
    return {}
  }
})

/** `POST /auth/introspect`, for registered clients with a secret or keys. @see RFC 7662 */
const introspect = endpoint({
  method: 'POST',
  path: 'introspect',
  callers: 'client',
  isProtocol: true,
  cors: 'noOrigin',
  takes: 'form',
  summary: 'Look at a token',
  description: 'Needs client authentication by a secret or a key.',
  what:
    'Tells a client with a secret or keys what the stores say about a token now (RFC 7662). The answer about an ' +
    'invalid token, and about another client\'s, is `{ "active": false }`. An access token may be looked at by its ' +
    "client and by its audience. The issuer as audience stands for the host's own API, and so for every client but " +
    'those with `firstParty: false`. A refresh token may be looked at by its client alone.',
  body: TokenQuery,
  answers: {
    // RFC 7662 §2.2.
    200: Type.Object({
      active: Type.Boolean({ description: 'Without `true` there is nothing else.' }),
      scope: Type.Optional(Type.String()),
      client_id: Type.Optional(Type.String()),
      sub: Type.Optional(Type.String()),
      aud: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String())])),
      iss: Type.Optional(Type.String()),
      exp: Type.Optional(Type.Integer({ description: 'Seconds since the epoch, like the other times.' })),
      iat: Type.Optional(Type.Integer()),
      jti: Type.Optional(Type.String()),
      token_type: Type.Optional(
        Type.Union([Type.Literal('Bearer'), Type.Literal('DPoP')], { description: 'Of access tokens only.' })
      ),
      auth_time: Type.Optional(Type.Integer()),
      acr: Type.Optional(Type.String()),
      amr: Type.Optional(Type.Array(Type.String())),
      sid: Type.Optional(Type.String()),
      cnf: Type.Optional(
        Type.Object({ jkt: Type.String() }, { description: 'The key that the token is bound to (RFC 9449 §6.2).' })
      )
    })
  },
  errors: { 429: { too_many_requests: 'rule `refresh`: failed client authentication' } },
  handle: async (request, _reply, { grants }) =>
    await introspectToken(parseTokenQuery(request.body).token, clientOf(request), grants)
})

const shared = {
  path: 'userinfo',
  callers: { scope: 'openid' },
  isProtocol: true,
  cors: 'ofAccessTokens',
  takes: 'form',
  summary: 'Claims about me',
  answers: {
    200: Type.Object(
      { sub: Type.String({ description: 'The user. The other members are the claims that the token asks for.' }) },
      { additionalProperties: true }
    )
  },
  // Off if `keys` is a shared secret. Then there is no public key, so no client could verify an ID token.
  isOn: ({ wellKnown }) => wellKnown.jwks !== null,
  handle: async (request, _reply, { grants, clientsOf }) =>
    await userInfo(tokenOf(request), { ...grants, clients: clientsOf(request) })
} as const satisfies Partial<Endpoint>
const description = 'Needs an access token: Authorization: Bearer. It must grant the scope openid.'

/**
 * `GET` and `POST /auth/userinfo`. Ignores a token in the query.
 * @see OpenID Connect Core 1.0 §5.3, RFC 6750 §2, §3
 */
const userinfo = [
  endpoint({
    ...shared,
    method: 'GET',
    description,
    what:
      'The claims about the user of the access token (OpenID Connect Core 1.0 §5.3): `sub`, and what the granted ' +
      'scopes and the `claims` parameter of the authorization request ask for. The session and the user are looked ' +
      'up. A token in the query is not looked at. Does not exist where `keys` is a shared secret.',
    errors: { 403: { insufficient_scope: 'without `openid`' } }
  }),
  endpoint({
    ...shared,
    method: 'POST',
    fromAnyPage: true,
    // Declares no body schema, because the API document would call the body required, although the header alone is
    // enough. The scope guard reads the token from the header or the form.
    description: `${description} It may also come as access_token in a form.`,
    what: 'The same. The token may be in the form instead of the header, not in both.'
  })
]

/** The endpoints for a token that a program presents: revocation, introspection and userinfo. */
export const presentedTokens = [revoke, introspect, ...userinfo]
