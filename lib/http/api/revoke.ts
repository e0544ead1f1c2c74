import type { FastifyInstance } from 'fastify'
import { OAuthError } from '../../errors.ts'
import { authenticateClient } from '../../oauth/authenticate-client.ts'
import { parseTokenQuery } from '../../protocol/request-params.ts'
import { revokeToken } from '../../oauth/revoke-token.ts'
import { BODY_LIMIT, registerBodyParsers } from '../edge/body.ts'
import { callableBy } from '../edge/callers.ts'
import { rememberClient } from '../edge/cors.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { describeRoute, ErrorResponse, Nothing, TokenQuery } from '../edge/schemas.ts'

/** `POST /auth/revoke`. @see RFC 7009 */
export function revokeRoute(child: FastifyInstance, { grants, clientsOf, limiter, path }: HttpDeps): void {
  registerBodyParsers(child, { forms: true })
  child.post(
    path('revoke'),
    {
      ...callableBy('anyone'),
      bodyLimit: BODY_LIMIT,
      schema: describeRoute({
        summary: 'Revoke a token and its session',
        consumes: ['application/json', 'application/x-www-form-urlencoded'],
        body: TokenQuery,
        response: { 200: Nothing, '4xx': ErrorResponse, 503: ErrorResponse }
      }),
      // `parseTokenQuery` reads the parameters.
      validatorCompiler: () => () => true,
      onRequest: noStoreHook
    },
    async (request, reply) =>
      await guarded(async () => {
        const query = parseTokenQuery(request.body)
        try {
          await limiter.countFailure(request, reply, async () => {
            const origin = originOf(request)
            const client = await authenticateClient(request.headers.authorization, query, origin, {
              clients: clientsOf(request),
              events: grants.accounts.events
            })
            if (client !== null) rememberClient(request, client.clientId)
            await revokeToken(query.token, client, origin, grants)
          })
        } catch (error) {
          // RFC 7009 §2.2: an invalid token is a success. The limiter has already counted it as a failed attempt.
          if (!(error instanceof OAuthError) || error.error !== 'invalid_token') throw error
        }
        return {}
      })
  )
}
