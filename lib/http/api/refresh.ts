import { Type } from '@sinclair/typebox'
import { refreshAccessToken } from '../../oauth/refresh.ts'
import { bearerToken, missingToken } from '../../protocol/bearer.ts'
import { originOf } from '../edge/deps.ts'
import { endpoint } from '../edge/endpoint.ts'

/** `POST /auth/refresh`: the refresh token is the Bearer token; there is no body. */
export const refresh = endpoint({
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
