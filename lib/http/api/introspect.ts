import type { FastifyInstance } from 'fastify'
import { parseTokenQuery } from '../../protocol/request-params.ts'
import { introspect } from '../../oauth/introspect.ts'
import { BODY_LIMIT, registerBodyParsers } from '../edge/body.ts'
import { clientOf } from '../edge/caller-guards.ts'
import { callableBy } from '../edge/callers.ts'
import type { HttpDeps } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { describeRoute, ErrorResponse, IntrospectionResponse, TokenQuery } from '../edge/schemas.ts'

/** `POST /auth/introspect`, for clients with a secret. @see RFC 7662 */
export function introspectRoute(child: FastifyInstance, { grants, path }: HttpDeps): void {
  registerBodyParsers(child, { forms: true })
  child.post(
    path('introspect'),
    {
      ...callableBy('client'),
      bodyLimit: BODY_LIMIT,
      schema: describeRoute({
        summary: 'Look at a token',
        description: 'Needs client authentication by a secret.',
        consumes: ['application/json', 'application/x-www-form-urlencoded'],
        body: TokenQuery,
        response: { 200: IntrospectionResponse, '4xx': ErrorResponse, 503: ErrorResponse }
      }),
      // `parseTokenQuery` reads the parameters.
      validatorCompiler: () => () => true,
      onRequest: noStoreHook
    },
    async (request) =>
      await guarded(async () => {
        const query = parseTokenQuery(request.body)
        return await introspect(query.token, clientOf(request), grants)
      })
  )
}
