import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type AnswerToClient, authorize, type AuthorizeOutcome } from '../../authorize/authorize.ts'
import { type ClientRequest, clientRequest } from '../../authorize/client-request.ts'
import { type AuthorizationParams, carried, fitsAddress } from '../../protocol/authorization-params.ts'
import type { BrowserContext } from '../../authorize/deps.ts'
import { unknownOf, BY_TOKEN } from '../../clients/rights.ts'
import type { Browser } from '../../sessions/browser-sessions.ts'
import { byStranger } from '../edge/cors.ts'
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
    const { asked, browser } = await openRequest(params, request, deps)
    return await follow(await authorize(asked, browser, deps.authorize), params, request, reply, deps)
  }

  child.get(
    deps.path('authorize'),
    pageGet(
      { summary: 'Authorization endpoint', querystring: AuthorizationRequestSchema },
      {
        isProtocol: true,
        what:
          'The authorization endpoint (RFC 6749 §4.1, OpenID Connect Core 1.0 §3.1.2) for the code flow. ' +
          'PKCE by `S256` is required of public clients. The browser comes back to `redirect_uri` with ' +
          '`code`, `state` and `iss` (RFC 9207), in the query or as `response_mode` says. A person who is ' +
          'not signed in gets the sign-in page first. A client with `firstParty: false` leads to the ' +
          'consent page. Nothing is stored before the sign-in: the addresses of the pages contain the ' +
          'request, so several tabs work, and pages that were left open. `redirect_uri` is compared ' +
          'character by character. Only the port of a loopback address may differ (RFC 8252 §7.3). Scopes ' +
          'that cannot be granted are left out, and without `scope` it is `openid`. `max_age`, `prompt`, ' +
          '`id_token_hint` and a `sub` of the parameter `claims` can ask for a new sign-in or another ' +
          'person. `prompt=create` leads to the sign-up page, even if a person is signed in, and is an ' +
          '`invalid_request` if there is no sign-up (Initiating User Registration via OpenID Connect 1.0). ' +
          '`screen_hint=signup` leads there instead of the sign-in page. Unknown parameters are ignored. ' +
          'With `response_mode=form_post` the answer is a page whose form posts to the client. An unknown ' +
          'client, an unregistered redirect URI or a repeated parameter is an error page, and never a ' +
          'redirect. All other errors go to the redirect URI in `error`: `invalid_request`, ' +
          '`invalid_scope`, `unauthorized_client`, `unsupported_response_type`, `login_required`, ' +
          '`interaction_required`, `consent_required`, `access_denied`, `request_not_supported`, ' +
          '`request_uri_not_supported`, `registration_not_supported`, `unmet_authentication_requirements` ' +
          'and `temporarily_unavailable`.'
      }
    ),
    async (request, reply) => await decide(deps.authorize.readRequest(queryParams(request)), request, reply)
  )

  // Redirects to the GET, because another site's form comes without our SameSite=Lax cookie, so that the user would
  // seem signed out. The browser sends the cookie with the GET.
  child.post(
    deps.path('authorize'),
    postFromAnyPage(
      {
        summary: 'Authorization endpoint',
        consumes: ['application/x-www-form-urlencoded'],
        body: AuthorizationRequestSchema
      },
      {
        isProtocol: true,
        what:
          'Takes the same parameters in a form. It redirects to the GET, because the form of another site ' +
          'brings no session cookie.'
      }
    ),
    async (request, reply) => {
      const params = deps.authorize.readRequest(sentForm(request))
      // Refuses a request that is too long for an address here. A refusal needs no cookie.
      if (!fitsAddress(params)) return await decide(params, request, reply)
      return await reply.redirect(`${deps.link('authorize')}?${carried(params)}`, 303)
    }
  )
}

/** The client of an authorization request, and the browser that sent it. */
export async function openRequest(
  params: AuthorizationParams,
  request: FastifyRequest,
  deps: PageDeps
): Promise<{ asked: ClientRequest; browser: BrowserContext & Browser }> {
  const browser = await deps.browser.read(request)
  const asking = browser.session === null ? byStranger(request, deps.limiter) : BY_TOKEN
  const asked = await clientRequest(params, deps.authorize, { ...asking, begins: true })
  return { asked, browser: { ...browser, remembered: deps.cookies.trusted?.read(request) } }
}

const PAGES = {
  consent: 'consent',
  sign_in: 'login',
  sign_up: 'signup',
  second_factor: 'secondFactor',
  enrolment: 'secondFactorSetUp'
} as const

/**
 * Leads the browser to the client, by a redirect or a form page, or to the next page. Instead of the sign-in or sign-up
 * page, the parameter `connection` can lead straight to a provider. Every redirect is 303: a 307 would send a form's
 * password on to the client. @see RFC 9700 §4.12
 */
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
    {
      clientName: client.name ?? client.clientId,
      brand: client.pages,
      formActions: [formActionOf(action, unknownOf(client)?.redirectSchemes)],
      secretAddress: true
    }
  )
}
