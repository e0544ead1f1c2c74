import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { logout } from '../authorize/logout.ts'
import { OAuthError } from '../errors.ts'
import { type LogoutParams, readLogoutParams } from '../protocol/logout-request.ts'
import { formActionOf } from '../protocol/redirect-uri.ts'
import { serializeParams } from '../protocol/request-params.ts'
import { isSameOrigin } from '../protocol/same-origin.ts'
import { contextOf } from './authorize.ts'
import { noStoreHook } from './error-reply.ts'
import type { PageDeps } from './page-deps.ts'
import { FORM_LIMIT, formOf, pageGet, queryParams } from './page-forms.ts'
import { describeRoute, LogoutRequestSchema } from './schemas.ts'

/** `GET` and `POST /auth/logout`. @see OpenID Connect RP-Initiated Logout 1.0 §2 */
export function logoutRoutes (child: FastifyInstance, deps: PageDeps): void {
  child.get(deps.path('logout'), pageGet({ summary: 'Sign out', querystring: LogoutRequestSchema }), async (request, reply) =>
    await answer(request, reply, { params: readLogoutParams(queryParams(request)), confirmed: false }, deps))

  child.post(deps.path('logout'), {
    bodyLimit: FORM_LIMIT,
    onRequest: noStoreHook,
    validatorCompiler: () => () => true,
    schema: describeRoute({ summary: 'Sign out', consumes: ['application/x-www-form-urlencoded'], body: LogoutRequestSchema })
  }, async (request, reply) => {
    const form = formOf(request)
    // A client's own form: posted from another site it brings no SameSite=Lax cookie, and the GET that it becomes does.
    if (form.decision === undefined) return await reply.redirect(withParams(deps.link('logout'), readLogoutParams(form)), 303)
    if (!isSameOrigin(request.headers, deps.authorize.issuer)) throw new OAuthError('access_denied', 'The form was not sent from a page of this site.', { reason: 'cross_site', detail: 'Sec-Fetch-Site and Origin' })
    return await answer(request, reply, { params: readLogoutParams(queryParams(request)), confirmed: form.decision === 'sign_out' }, deps)
  })
}

async function answer (request: FastifyRequest, reply: FastifyReply, { params, confirmed }: { params: LogoutParams, confirmed: boolean }, deps: PageDeps): Promise<FastifyReply> {
  const { authorize, cookie, homeUrl, link, pages } = deps
  const result = await logout(params, { ...await contextOf(request, deps), confirmed }, authorize)
  const uiLocales = params.ui_locales?.split(' ').filter((word) => word !== '') ?? []
  if (result.outcome === 'confirm') {
    const user = await authorize.grants.accounts.users.findById(result.session.userId)
    return await pages.send(request, reply, 'logout', { action: withParams(link('logout'), params), error: null, username: user?.username ?? null }, {
      clientName: result.client?.name ?? null,
      uiLocales,
      formActions: result.redirectUri === null ? [] : [formActionOf(result.redirectUri)]
    })
  }
  // Only where the request brought one: what another site embeds asks without it, and must not take it out of the browser.
  if (cookie.read(request) !== undefined) cookie.clear(reply)
  if (result.outcome === 'redirect') return await reply.redirect(result.location, 303)
  return await pages.send(request, reply, 'signed_out', { homeUrl, loginUrl: link('login') }, { clientName: result.client?.name ?? null, uiLocales })
}

function withParams (url: string, params: LogoutParams): string {
  const query = serializeParams(params)
  return query === '' ? url : `${url}?${query}`
}
