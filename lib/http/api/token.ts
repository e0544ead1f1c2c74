import type { FastifyInstance } from 'fastify'
import { authenticateClient } from '../../oauth/authenticate-client.ts'
import type { TokenResponse as GrantAnswer } from '../../oauth/deps.ts'
import { checkGrantAllowed, findGrant, GRANT_PARAMS } from '../../oauth/grants/registry.ts'
import type { GuessAtFactor } from '../../oauth/grant.ts'
import { OAuthError } from '../../errors.ts'
import { parseTokenRequest } from '../../protocol/request-params.ts'
import { BODY_LIMIT, registerBodyParsers } from '../edge/body.ts'
import { callableBy } from '../edge/callers.ts'
import { rememberClient } from '../edge/cors.ts'
import { type HttpDeps, originOf } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { traced } from '../../ports/tracing.ts'
import { describeRoute, ErrorResponse, TokenRequest, TokenResponse } from '../edge/schemas.ts'

/** `POST /auth/token`. @see RFC 6749 §3.2 */
export function tokenRoute(child: FastifyInstance, { grants: deps, clientsOf, limiter, path }: HttpDeps): void {
  registerBodyParsers(child, { forms: true })
  child.post(
    path('token'),
    {
      ...callableBy('anyone'),
      bodyLimit: BODY_LIMIT,
      schema: describeRoute({
        summary: 'Token endpoint',
        consumes: ['application/json', 'application/x-www-form-urlencoded'],
        body: TokenRequest,
        response: { 200: TokenResponse, '4xx': ErrorResponse, 503: ErrorResponse }
      }),
      // `parseTokenRequest` checks the parameters, with the error code of RFC 6749 for each mistake.
      validatorCompiler: () => () => true,
      onRequest: noStoreHook
    },
    async (request, reply) =>
      await guarded(async () => {
        const params = parseTokenRequest(request.body, GRANT_PARAMS)
        const grant = findGrant(params.grant_type, deps)
        return await traced('token', { grantType: grant.type }, async () => {
          // The client is authenticated first: a request that fails here has tried no password, and counts as a wrong
          // client secret.
          const client = await limiter.countFailure(
            request,
            reply,
            async () =>
              await authenticateClient(request.headers.authorization, params, originOf(request), {
                clients: clientsOf(request),
                events: deps.accounts.events
              })
          )
          if (client !== null) rememberClient(request, client.clientId)
          checkGrantAllowed(grant, client)
          const handle = async (): Promise<GrantAnswer | GuessAtFactor | OAuthError> =>
            await grant.handle(
              params,
              {
                client,
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
      })
  )
}
