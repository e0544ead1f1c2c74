import { type TObject, Type } from '@sinclair/typebox'
import type { GrantDeclaration, GuessAtFactor, TokenResponse as GrantAnswer } from '../../oauth/deps.ts'
import { checkBinding } from '../../oauth/issue-tokens.ts'
import { checkGrantAllowed, findGrant, parameterLimits } from '../../oauth/grants/registry.ts'
import { OAuthError, type OAuthErrorCode } from '../../errors.ts'
import { tokenRequestReader } from '../../protocol/request-params.ts'
import { provenClient } from '../edge/proven-client.ts'
import { CLIENT_FIELDS } from '../edge/schemas.ts'
import { originOf } from '../edge/request-origin.ts'
import { type Endpoint, endpoint } from '../edge/endpoint.ts'
import { traced } from '../../ports/tracing.ts'
import { refreshAccessToken } from '../../oauth/refresh-family.ts'
import { bearerToken, missingToken } from '../../protocol/bearer.ts'

const requestOf = (grants: readonly GrantDeclaration[]): TObject =>
  Type.Object({
    grant_type: Type.String(),
    scope: Type.Optional(Type.String()),
    ...CLIENT_FIELDS,
    ...Object.fromEntries(
      grants
        .flatMap(({ params }) => Object.entries(params))
        .filter(([, { what }]) => what !== null)
        .map(([name, { what }]) => [
          name,
          Type.Optional(Type.String(typeof what === 'string' ? { description: what } : {}))
        ])
    )
  })

const TokenResponse = Type.Object({
  access_token: Type.String(),
  token_type: Type.Union([Type.Literal('Bearer'), Type.Literal('DPoP')]),
  expires_in: Type.Integer({ description: 'Seconds.' }),
  refresh_token: Type.Optional(Type.String()),
  id_token: Type.Optional(Type.String()),
  scope: Type.Optional(Type.String({ description: 'Absent where nothing was granted.' })),
  issued_token_type: Type.Optional(Type.String({ description: 'In the answer to a token exchange (RFC 8693 §2.2.1).' }))
})

const NOTES: Partial<Record<OAuthErrorCode, string>> = {
  invalid_grant:
    'an unknown name, a wrong password and a disabled account look and time alike; or a code or refresh token is ' +
    "unknown, expired, revoked, replayed or another client's; or an ID token is none for this connection, too old or " +
    'used, or the person has to do something on a page first',
  unmet_authentication_requirements: 'the client has an `acr` that this sign-in is not worth'
}

/** `POST /auth/token`. `grants`: all declared grants, also those that are off. @see RFC 6749 §3.2 */
function tokenEndpoint(grants: readonly GrantDeclaration[]): Endpoint {
  const parse = tokenRequestReader(parameterLimits(grants))
  return endpoint({
    method: 'POST',
    path: 'token',
    callers: 'anyone',
    proof: 'client_secret',
    isProtocol: true,
    cors: 'ofClients',
    takes: 'form',
    summary: 'Token endpoint',
    what:
      `${grants
        .map(({ type, what }) => `With \`grant_type=${type}\`${what.startsWith('(') ? ' ' : ': '}${what}`)
        .join('\n\n')}\n\n` +
      'With the option `dpop` a request may have a proof in the header `DPoP` (RFC 9449): then the tokens are bound ' +
      'to its key.\n\nUnknown parameters are ignored, repeated ones refused. Clients authenticate by ' +
      '`client_secret_basic`, ' +
      '`client_secret_post`, `private_key_jwt` or, without a secret and keys, by `client_id` alone.',
    body: requestOf(grants),
    answers: { 200: TokenResponse },
    errors: {
      400: Object.fromEntries(
        [
          'unauthorized_client',
          'unmet_authentication_requirements',
          'unsupported_grant_type',
          'invalid_dpop_proof',
          'use_dpop_nonce',
          ...grants.flatMap(({ errors }) => errors)
        ].map((code) => [code, NOTES[code as OAuthErrorCode] ?? ''])
      ),
      401: 'invalid_client',
      429: {
        too_many_requests:
          'rules `login` and `account` with a password, `secondFactor` with a second factor, `connect` with an ID ' +
          'token, `refresh` else'
      }
    },
    handle: async (request, reply, { grants: deps, clientsOf, limiter }) => {
      // `parse` checks the parameters, with the error code of RFC 6749 for each mistake.
      const params = parse(request.body)
      const grant = findGrant(params.grant_type, deps)
      return await traced('token', { grantType: grant.type }, async () => {
        // Authenticates the client before the grant checks a password, so that a failure counts as a wrong client
        // secret. Uses up the DPoP proof before the grant runs.
        const { client, jkt } = await provenClient(
          request,
          reply,
          params,
          { clientsOf, grants: deps, limiter },
          (found) => {
            checkBinding(found.client, found.jkt)
            return found
          }
        )
        checkGrantAllowed(grant, client)
        const handle = (): Promise<GrantAnswer | GuessAtFactor | OAuthError> =>
          grant.handle(
            params,
            {
              client,
              jkt,
              origin: originOf(request),
              reserveSignUp: async (check) => {
                await limiter.reserve(request, reply, check, async () => {})
              },
              knows: (check) => limiter.knows(request, check)
            },
            deps
          )
        const guess = grant.guess?.(params)
        const answer =
          guess === undefined
            ? await limiter.countFailure(request, reply, handle)
            : await limiter.reserve(request, reply, guess, handle)
        if (answer instanceof OAuthError) throw answer
        return 'finish' in answer ? await limiter.reserve(request, reply, answer.check, answer.finish) : answer
      })
    }
  })
}

/** `POST /auth/refresh`: the refresh token is the Bearer token; there is no body. */
const refresh = endpoint({
  method: 'POST',
  path: 'refresh',
  callers: 'anyone',
  proof: 'refresh_token',
  isProtocol: true,
  takes: 'nothing',
  bodyLimit: 4096,
  summary: 'A new access token for a refresh token',
  what:
    'A new access token. The refresh token is the Bearer token of the `Authorization` header; there is no body. With ' +
    "`refreshToken.rotate: 'always'` the answer has the next refresh token, and the old one works on for " +
    '`reuseGraceSeconds` only: after that it is a replay, which ends the session. Tokens of confidential clients are ' +
    'refused: they use `POST /auth/token`, which asks for the secret.',
  answers: {
    200: Type.Object({
      access_token: Type.String(),
      expires_in: Type.Integer({ description: 'Seconds.' }),
      refresh_token: Type.Optional(Type.String())
    })
  },
  errors: { 401: 'invalid_token', 429: { too_many_requests: 'rule `refresh`' } },
  handle: async (request, reply, { grants, limiter }) =>
    await limiter.countFailure(request, reply, async () => {
      const token = bearerToken(request.headers.authorization)
      if (token === undefined)
        throw missingToken(
          ' Send the refresh token as Authorization: Bearer, or to POST token with grant_type=refresh_token.'
        )
      return await refreshAccessToken(token, { origin: originOf(request) }, grants)
    })
})

/** The endpoints that issue tokens. */
export const tokenEndpoints = (grants: readonly GrantDeclaration[]): Endpoint[] => [tokenEndpoint(grants), refresh]
