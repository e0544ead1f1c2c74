import type { FastifyInstance, FastifyRequest } from 'fastify'
import { headerOrFormToken, missingToken } from '../protocol/bearer.ts'
import { userInfo } from '../tokens/user-info.ts'
import { registerBodyParsers } from './body.ts'
import { rememberClient } from './cors.ts'
import type { HttpDeps } from './deps.ts'
import { guarded, noStoreHook } from './error-reply.ts'
import { describeRoute, ErrorResponse, NEEDS_ACCESS_TOKEN, UserInfo, UserInfoForm } from './schemas.ts'

const BODY_LIMIT = 16_384

/**
 * `GET` and `POST /auth/userinfo`. A token in the query is never looked at.
 * @see OpenID Connect Core 1.0 §5.3, RFC 6750 §2, §3
 */
export function userinfoRoute (child: FastifyInstance, { grants, path }: HttpDeps): void {
  registerBodyParsers(child, { forms: true })
  const described = {
    summary: 'Claims about me',
    description: `${NEEDS_ACCESS_TOKEN} It must grant the scope openid.`,
    response: { 200: UserInfo, '4xx': ErrorResponse, 503: ErrorResponse }
  }
  const handler = async (request: FastifyRequest): Promise<Record<string, unknown>> => await guarded(async () => {
    const token = headerOrFormToken(request.headers.authorization, isForm(request) ? request.body : undefined)
    if (token === undefined) throw missingToken()
    const claims = await grants.accessTokens.verify(token)
    if (claims.client_id !== undefined) rememberClient(request, claims.client_id)
    return await userInfo(claims, { sessions: grants.sessions, users: grants.accounts.users, clients: grants.clients, claims: grants.claims })
  })
  child.get(path('userinfo'), { schema: describeRoute(described), onRequest: noStoreHook }, handler)
  child.post(path('userinfo'), {
    bodyLimit: BODY_LIMIT,
    schema: describeRoute({ ...described, consumes: ['application/x-www-form-urlencoded'], body: UserInfoForm }),
    // The body is read by hand, for the header alone is a whole request.
    validatorCompiler: () => () => true,
    onRequest: noStoreHook
  }, handler)
}

function isForm ({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded'
}
