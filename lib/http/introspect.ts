import type { FastifyInstance } from 'fastify'
import { authenticateClient } from '../grants/authenticate-client.ts'
import type { Client } from '../ports/client-store.ts'
import { invalidClient } from '../protocol/client-authentication.ts'
import { parseTokenQuery } from '../protocol/token-query.ts'
import { introspect } from '../tokens/introspect.ts'
import { registerBodyParsers } from './body.ts'
import type { HttpDeps } from './deps.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import { describeRoute, ErrorResponse, IntrospectionResponse, TokenQuery } from './schemas.ts'

const BODY_LIMIT = 16_384

/** `POST /auth/introspect`, for clients with a secret. @see RFC 7662 */
export function introspectRoute (child: FastifyInstance, { grants, limiter, path }: HttpDeps): void {
  const { accounts, sessions, accessTokens, tokens, clients, refreshToken } = grants
  registerBodyParsers(child, { forms: true })
  child.post(path('introspect'), {
    bodyLimit: BODY_LIMIT,
    schema: describeRoute({
      summary: 'Look at a token',
      description: 'Needs client authentication by a secret.',
      consumes: ['application/json', 'application/x-www-form-urlencoded'],
      body: TokenQuery,
      response: { 200: IntrospectionResponse, '4xx': ErrorResponse, 503: ErrorResponse }
    }),
    // The protocol room reads the parameters.
    validatorCompiler: () => () => true,
    onRequest: noStoreHook
  }, async (request, reply) => await guarded(async () => {
    const query = parseTokenQuery(request.body)
    // A token that is not active is no failed attempt: whoever floods an API with such tokens must not lock the API out here.
    const client = await limiter.run(request, reply, { rule: 'refresh' }, async (): Promise<Client> => {
      const authenticated = await authenticateClient(request.headers.authorization, query, clients)
      if (authenticated?.clientSecret === undefined) throw invalidClient('client_secret_basic')
      return authenticated
    })
    return await introspect(query.token, client, { issuer: accounts.issuer, accessTokens, sessions, tokens, users: accounts.users, clock: accounts.clock, graceMs: refreshToken.graceMs })
  }))
}
