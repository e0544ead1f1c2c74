import type { FastifyInstance } from 'fastify'
import { authenticateClient } from '../grants/authenticate-client.ts'
import { checkGrantAllowed, findGrant } from '../grants/registry.ts'
import { parseTokenRequest } from '../protocol/token-request.ts'
import { registerBodyParsers } from './body.ts'
import { rememberClient } from './cors.ts'
import { type HttpDeps, originOf } from './deps.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import { describeRoute, ErrorResponse, TokenRequest, TokenResponse } from './schemas.ts'

const BODY_LIMIT = 16_384

/** `POST /auth/token`. @see RFC 6749 §3.2 */
export function tokenRoute (child: FastifyInstance, { grants: deps, limiter, path }: HttpDeps): void {
  registerBodyParsers(child, { forms: true })
  child.post(path('token'), {
    bodyLimit: BODY_LIMIT,
    schema: describeRoute({
      summary: 'Token endpoint',
      consumes: ['application/json', 'application/x-www-form-urlencoded'],
      body: TokenRequest,
      response: { 200: TokenResponse, '4xx': ErrorResponse, 503: ErrorResponse }
    }),
    // The protocol room reads the parameters, for it knows which error each mistake is.
    validatorCompiler: () => () => true,
    onRequest: noStoreHook
  }, async (request, reply) => await guarded(async () => {
    const params = parseTokenRequest(request.body)
    const grant = findGrant(params.grant_type, deps)
    return await limiter.run(request, reply, grant.attempt(params), async (attempt) => {
      const client = await authenticateClient(request.headers.authorization, params, deps.clients)
      if (client !== null) rememberClient(request, client)
      checkGrantAllowed(grant, client)
      return await grant.handle(params, { client, origin: originOf(request), attempt }, deps)
    })
  }))
}
