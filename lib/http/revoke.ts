import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../errors.ts'
import { authenticateClient } from '../grants/authenticate-client.ts'
import { parseTokenQuery } from '../protocol/token-query.ts'
import { revokeToken } from '../tokens/revoke-token.ts'
import { registerBodyParsers } from './body.ts'
import { rememberClient } from './cors.ts'
import { type HttpDeps, originOf } from './deps.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import { describeRoute, ErrorResponse, Nothing, TokenQuery } from './schemas.ts'

const BODY_LIMIT = 16_384

/** `POST /auth/revoke`. @see RFC 7009 */
export function revokeRoute (child: FastifyInstance, { grants, limiter, path }: HttpDeps): void {
  registerBodyParsers(child, { forms: true })
  child.post(path('revoke'), {
    bodyLimit: BODY_LIMIT,
    schema: describeRoute({
      summary: 'Revoke a token and its session',
      consumes: ['application/json', 'application/x-www-form-urlencoded'],
      body: TokenQuery,
      response: { 200: Nothing, '4xx': ErrorResponse, 503: ErrorResponse }
    }),
    // The protocol room reads the parameters.
    validatorCompiler: () => () => true,
    onRequest: noStoreHook
  }, async (request, reply) => await guarded(async () => {
    const query = parseTokenQuery(request.body)
    try {
      await limiter.run(request, reply, { rule: 'refresh' }, async () => {
        const client = await authenticateClient(request.headers.authorization, query, grants.clients)
        if (client !== null) rememberClient(request, client)
        await revokeToken(query.token, client, originOf(request), grants)
      })
    } catch (error) {
      // A failed attempt for the limiter, whose count a guesser shall not get back; to the caller the token is gone, as wished.
      if (!(error instanceof OAuthError) || error.error !== 'invalid_token') throw error
    }
    return {}
  }))
}
