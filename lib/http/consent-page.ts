import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from '@sinclair/typebox'
import { authorize, denyAuthorization } from '../authorize/authorize.ts'
import type { Facts } from '../authorize/checks.ts'
import { grantConsent } from '../authorize/consent.ts'
import { type AuthorizationParams, readAuthorizationParams, satisfied, serializeParams } from '../protocol/authorization-request.ts'
import { scopeDescription } from '../pages/messages.ts'
import { formActionOf } from '../protocol/redirect-uri.ts'
import { contextOf, follow, sendToClient } from './authorize.ts'
import type { PageDeps } from './page-deps.ts'
import { formOf, formPost, pageGet, queryParam, queryParams } from './page-forms.ts'
import { AuthorizationRequestSchema } from './schemas.ts'

/**
 * `GET` and `POST /auth/consent`: what a client that is not the host's own may do. Its address carries the authorization request,
 * which is decided anew each time: what is shown and what is allowed is never what the address says.
 */
export function consentPage (child: FastifyInstance, deps: PageDeps): void {
  child.get(deps.path('consent'), pageGet({ summary: 'Consent page', querystring: AuthorizationRequestSchema }), async (request, reply) => {
    const params = readAuthorizationParams(queryParams(request))
    const outcome = await authorize(params, await contextOf(request, deps), deps.authorize)
    return outcome.to === 'consent' ? await ask(outcome.facts, params, request, reply, deps) : await follow(outcome, params, request, reply, deps)
  })

  const decision = Type.Union([Type.Literal('allow'), Type.Literal('deny')])
  child.post(deps.path('consent'), formPost(deps.authorize.issuer, { summary: 'Allow or deny a client', body: Type.Object({ decision }) }), async (request, reply) => {
    const params = readAuthorizationParams(queryParams(request))
    const outcome = await authorize(params, await contextOf(request, deps), deps.authorize)
    if (outcome.to !== 'consent') return await follow(outcome, params, request, reply, deps)
    // Somebody else signed in meanwhile, in another tab: what the page said was said to another person.
    const samePerson = outcome.facts.session?.sid === queryParam(request, 'session')
    const decided = samePerson ? formOf(request).decision : undefined
    if (decided === 'deny') return await sendToClient(await denyAuthorization(params, deps.authorize), request, reply, deps)
    if (decided !== 'allow') return await ask(outcome.facts, params, request, reply, deps)
    await grantConsent(outcome.facts, deps.authorize)
    return await reply.redirect(`${deps.link('authorize')}?${serializeParams(satisfied(params, 'consent'))}`, 303)
  })
}

async function ask ({ client, redirectUri, scopes, user, session, request: { uiLocales } }: Facts, params: AuthorizationParams, request: FastifyRequest, reply: FastifyReply, { authorize: { grants }, link, pages }: PageDeps): Promise<FastifyReply> {
  const name = client.name ?? client.clientId
  const { host, protocol } = new URL(redirectUri)
  return await pages.send(request, reply, 'consent', {
    action: `${link('consent')}?${serializeParams({ ...params, session: session?.sid })}`,
    error: null,
    username: user?.username ?? '',
    client: { name, id: client.clientId, redirectHost: host === '' ? protocol : host },
    scopes: scopes.map((scope) => ({ name: scope, description: scopeDescription(scope) })),
    lifetimeSeconds: scopes.includes('offline_access') ? grants.refreshToken.expiresInMs / 1000 : grants.accessTokens.expiresInSeconds
  }, { clientName: name, uiLocales, formActions: [formActionOf(redirectUri)] })
}
