import type { FastifyInstance } from 'fastify'
import { refreshAccessToken } from '../grants/refresh.ts'
import { bearerToken, missingToken } from '../protocol/bearer.ts'
import { type HttpDeps, originOf } from './deps.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import { describeRoute, ErrorResponse, RefreshResponse } from './schemas.ts'

/** `POST /auth/refresh`: the refresh token is the Bearer token; there is no body. */
export function refreshRoute (child: FastifyInstance, { grants, limiter, path }: HttpDeps): void {
  // Some HTTP clients send a content type with their empty body. Whatever body there is, nobody reads it.
  child.removeAllContentTypeParsers()
  child.addContentTypeParser('*', { parseAs: 'string' }, (_request, _body, done) => { done(null, undefined) })
  child.post(path('refresh'), {
    bodyLimit: 4096,
    schema: describeRoute({
      summary: 'A new access token for a refresh token',
      response: { 200: RefreshResponse, '4xx': ErrorResponse, 503: ErrorResponse }
    }),
    onRequest: noStoreHook
  }, async (request, reply) => await guarded(async () => await limiter.run(request, reply, { rule: 'refresh', byStore: true }, async (attempt) => {
    const token = bearerToken(request.headers.authorization)
    if (token === undefined) throw missingToken()
    return await refreshAccessToken(token, { origin: originOf(request), attempt }, grants)
  })))
}
