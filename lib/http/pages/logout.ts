import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { logout, type LogoutOutcome } from '../../authorize/logout.ts'
import { crossSiteForm } from '../edge/origin-guard.ts'
import { type LogoutParams, readLogoutParams } from '../../protocol/request-params.ts'
import { formActionOf } from '../../protocol/redirect-uri.ts'
import { isSameOrigin } from '../../protocol/same-origin.ts'
import type { PageDeps } from './deps.ts'
import { withQuery } from './form-page.ts'
import { pageGet, postFromAnyPage, queryParams, sentForm } from './page-routes.ts'
import { LogoutRequestSchema } from '../edge/schemas.ts'

/** `GET` and `POST /auth/logout`. @see OpenID Connect RP-Initiated Logout 1.0 §2 */
export function logoutRoutes(child: FastifyInstance, deps: PageDeps): void {
  child.get(
    deps.path('logout'),
    pageGet(
      { summary: 'Sign out', querystring: LogoutRequestSchema },
      {
        isProtocol: true,
        what:
          'Signs out (OpenID Connect RP-Initiated Logout 1.0). With an `id_token_hint` of this session it ' +
          'does so at once. Otherwise a page asks first. The browser session ends with its tokens, except ' +
          'those with `offline_access` of other clients. Clients that took part and have a ' +
          '`backchannelLogoutUri` are told. The browser goes on to `post_logout_redirect_uri` if that is ' +
          'registered for the client, compared character by character. Nobody is signed out after an ' +
          '`invalid_request`: a hint of another issuer or client, an unknown client, or a URI that is not ' +
          'registered.'
      }
    ),
    async (request, reply) =>
      await answer(request, reply, { params: readLogoutParams(queryParams(request)), confirmed: false }, deps)
  )

  // Declares no body schema, because the API document would call the body required, although an empty request is
  // complete.
  child.post(
    deps.path('logout'),
    postFromAnyPage(
      { summary: 'Sign out', description: 'The parameters of the GET, as a form.' },
      {
        isProtocol: true,
        errors: { 403: { access_denied: 'a form of another site' } },
        what:
          'Takes the parameters of the GET from the form of a client, or from its server. With an ' +
          '`id_token_hint` of a live session it signs out at once. Any other request is redirected to the ' +
          'GET. `decision=sign_out` of our own page signs out.'
      }
    ),
    async (request, reply) => {
      const form = sentForm(request)
      if (form.decision === undefined) return await answerClient(request, reply, readLogoutParams(form), deps)
      if (!isSameOrigin(request.headers, deps.authorize.issuer)) throw crossSiteForm(request, deps.authorize.accounts)
      return await answer(
        request,
        reply,
        { params: readLogoutParams(queryParams(request)), confirmed: form.decision === 'sign_out' },
        deps
      )
    }
  )
}

/**
 * Answers a client's own form, or its server. A post from another site comes without our SameSite=Lax cookie. So the
 * browser is redirected to the GET, with which the cookie comes. There is no redirect if the `id_token_hint` has ended
 * a session, or if the cookie came with the post and the page must ask.
 */
async function answerClient(
  request: FastifyRequest,
  reply: FastifyReply,
  params: LogoutParams,
  deps: PageDeps
): Promise<FastifyReply> {
  const context = await deps.browser.read(request)
  const result =
    context.session === null && params.id_token_hint === undefined
      ? null
      : await logout(params, { ...context, confirmed: false }, deps.authorize)
  if (result !== null && (result.outcome === 'confirm' || result.ended))
    return await send(result, params, request, reply, deps)
  return await reply.redirect(withQuery(deps.link('logout'), params), 303)
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { params, confirmed }: { params: LogoutParams; confirmed: boolean },
  deps: PageDeps
): Promise<FastifyReply> {
  return await send(
    await logout(params, { ...(await deps.browser.read(request)), confirmed }, deps.authorize),
    params,
    request,
    reply,
    deps
  )
}

async function send(
  result: LogoutOutcome,
  params: LogoutParams,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: PageDeps
): Promise<FastifyReply> {
  const { authorize, browser, homeUrl, link, pages } = deps
  const uiLocales = params.ui_locales?.split(' ').filter((word) => word !== '') ?? []
  if (result.outcome === 'confirm') {
    const user = await authorize.accounts.users.findById(result.session.userId)
    return await pages.send(
      request,
      reply,
      'logout',
      { action: withQuery(link('logout'), params), error: null, username: user?.username ?? null },
      {
        clientName: result.client?.name ?? null,
        brand: result.client?.pages,
        uiLocales,
        formActions: result.redirectUri === null ? [] : [formActionOf(result.redirectUri)]
      }
    )
  }
  // Removes only cookies that the request brought. A request that another site embeds comes without cookies, and must
  // not remove any.
  browser.clearCookie(reply)
  if (result.outcome === 'redirect') return await reply.redirect(result.location, 303)
  return await pages.send(
    request,
    reply,
    'signed_out',
    { ended: result.ended, homeUrl, loginUrl: link('login') },
    { clientName: result.client?.name ?? null, brand: result.client?.pages, uiLocales }
  )
}
