import type { FastifyInstance } from 'fastify'
import { refreshAccessToken } from '../../oauth/refresh.ts'
import { bearerToken, missingToken } from '../../protocol/bearer.ts'
import { callableBy } from '../edge/callers.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { describeRoute, ErrorResponse, RefreshResponse } from '../edge/schemas.ts'

/** `POST /auth/refresh`: the refresh token is the Bearer token; there is no body. */
export function refreshRoute(child: FastifyInstance, { grants, limiter, path }: HttpDeps): void {
  // Some HTTP clients send a content type with an empty body. The body is never used.
  child.removeAllContentTypeParsers()
  child.addContentTypeParser('*', { parseAs: 'string' }, (_request, _body, done) => {
    done(null, undefined)
  })
  child.post(
    path('refresh'),
    {
      ...callableBy('anyone'),
      bodyLimit: 4096,
      schema: describeRoute({
        summary: 'A new access token for a refresh token',
        response: { 200: RefreshResponse, '4xx': ErrorResponse, 503: ErrorResponse }
      }),
      onRequest: noStoreHook
    },
    async (request, reply) =>
      await guarded(
        async () =>
          await limiter.countFailure(request, reply, async () => {
            const token = bearerToken(request.headers.authorization)
            if (token === undefined)
              throw missingToken(
                ' Send the refresh token as Authorization: Bearer, or to POST token with grant_type=refresh_token.'
              )
            return await refreshAccessToken(token, { origin: originOf(request) }, grants)
          })
      )
  )
}
