import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type AnswerToClient, authorize, type AuthorizeOutcome, clientRequest } from '../../authorize/authorize.ts'
import {
  type AuthorizationParams,
  carried,
  fitsAddress,
  readAuthorizationParams
} from '../../protocol/authorization-params.ts'
import { formActionOf } from '../../protocol/redirect-uri.ts'
import type { PageDeps } from './deps.ts'
import { pageGet, postFromAnyPage, queryParams, sentForm } from './page-routes.ts'
import { AuthorizationRequestSchema } from '../edge/schemas.ts'

/** `GET` and `POST /auth/authorize`. @see RFC 6749 §3.1, OpenID Connect Core 1.0 §3.1.2.1 */
export function authorizeRoutes(child: FastifyInstance, deps: PageDeps): void {
  async function decide(
    params: AuthorizationParams,
    request: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> {
    const asked = await clientRequest(params, deps.authorize)
    return await follow(
      await authorize(
        asked,
        { ...(await deps.browser.read(request)), remembered: deps.cookies.trusted?.read(request) },
        deps.authorize
      ),
      params,
      request,
      reply,
      deps
    )
  }

  child.get(
    deps.path('authorize'),
    pageGet({ summary: 'Authorization endpoint', querystring: AuthorizationRequestSchema }, { isProtocol: true }),
    async (request, reply) => await decide(readAuthorizationParams(queryParams(request)), request, reply)
  )

  // Another site's form brings no SameSite=Lax cookie, and the answer would be that nobody is signed in. The redirect
  // brings it.
  child.post(
    deps.path('authorize'),
    postFromAnyPage(
      {
        summary: 'Authorization endpoint',
        consumes: ['application/x-www-form-urlencoded'],
        body: AuthorizationRequestSchema
      },
      { isProtocol: true }
    ),
    async (request, reply) => {
      const params = readAuthorizationParams(sentForm(request))
      // A refusal needs no cookie.
      if (!fitsAddress(params)) return await decide(params, request, reply)
      return await reply.redirect(`${deps.link('authorize')}?${carried(params)}`, 303)
    }
  )
}

const PAGES = {
  consent: 'consent',
  sign_in: 'login',
  sign_up: 'signup',
  second_factor: 'secondFactor',
  enrolment: 'secondFactorSetUp'
} as const

/** Leads the browser on. Always 303: a 307 would send a form's password on to the client. @see RFC 9700 §4.12 */
export async function follow(
  outcome: AuthorizeOutcome,
  params: AuthorizationParams,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: PageDeps
): Promise<FastifyReply> {
  if (outcome.to === 'client') return await sendToClient(outcome, request, reply, deps)
  if ((outcome.to === 'sign_in' || outcome.to === 'sign_up') && params.connection !== undefined) {
    for (const { straightOn } of deps.parts) {
      const led = (await straightOn?.(params, request, reply)) ?? null
      if (led !== null) return led
    }
  }
  const page = outcome.to === 'sign_up' && !deps.offers.signup ? 'login' : PAGES[outcome.to]
  return await reply.redirect(`${deps.link(page)}?${carried(params)}`, 303)
}

export async function sendToClient(
  { client, response }: AnswerToClient,
  request: FastifyRequest,
  reply: FastifyReply,
  { pages }: Pick<PageDeps, 'pages'>
): Promise<FastifyReply> {
  if (response.kind === 'redirect') return await reply.redirect(response.location, 303)
  const { action, params } = response
  return await pages.send(
    request,
    reply,
    'form_post',
    { action, params },
    { clientName: client.name ?? client.clientId, formActions: [formActionOf(action)], secretAddress: true }
  )
}
