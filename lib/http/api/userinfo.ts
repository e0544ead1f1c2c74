import type { FastifyInstance, FastifyRequest } from 'fastify'
import { userInfo } from '../../oauth/user-info.ts'
import { BODY_LIMIT, registerBodyParsers } from '../edge/body.ts'
import { tokenOf } from '../edge/caller-guards.ts'
import { callableBy } from '../edge/callers.ts'
import type { HttpDeps } from '../edge/deps.ts'
import { guarded, noStoreHook } from '../edge/error-reply.ts'
import { describeRoute, ErrorResponse, NEEDS_ACCESS_TOKEN, UserInfo } from '../edge/schemas.ts'

/**
 * `GET` and `POST /auth/userinfo`. A token in the query is never looked at.
 * @see OpenID Connect Core 1.0 §5.3, RFC 6750 §2, §3
 */
export function userinfoRoute(child: FastifyInstance, { grants, clientsOf, path }: HttpDeps): void {
  registerBodyParsers(child, { forms: true })
  const described = {
    summary: 'Claims about me',
    description: `${NEEDS_ACCESS_TOKEN} It must grant the scope openid.`,
    response: { 200: UserInfo, '4xx': ErrorResponse, 503: ErrorResponse }
  }
  const handler = async (request: FastifyRequest): Promise<Record<string, unknown>> =>
    await guarded(async () => {
      return await userInfo(tokenOf(request), { ...grants, clients: clientsOf(request) })
    })
  child.get(
    path('userinfo'),
    { ...callableBy({ scope: 'openid' }), schema: describeRoute(described), onRequest: noStoreHook },
    handler
  )
  child.post(
    path('userinfo'),
    {
      ...callableBy({ scope: 'openid' }, { fromAnyPage: true }),
      bodyLimit: BODY_LIMIT,
      // The schema has no body, because the document would call it required, and the header alone is enough.
      schema: describeRoute({
        ...described,
        description: `${described.description} It may also come as access_token in a form.`
      }),
      // The guard of the scope reads the token from the header or the form.
      validatorCompiler: () => () => true,
      onRequest: noStoreHook
    },
    handler
  )
}
