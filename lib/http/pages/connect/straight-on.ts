import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AuthorizationParams, carried } from '../../../protocol/authorization-params.ts'
import { beginConnect, type ConnectPageDeps, isFromOurPage, isLookingAhead } from './begin.ts'
import { failConnect } from './failure.ts'

/**
 * Leads an authorization request that names a connection to the provider, past the sign-in page. Only by a GET, because
 * a form may not be redirected there. If a user is signed in, a page of ours must have led here, so that no other site
 * replaces their session, and the request itself must ask for another sign-in: a session that lacks something else
 * would be sent round for ever. Another site leads a person who has begun a second step, a code or a link here to no
 * provider, because a sign-in would end that. `null`: show the sign-in page.
 */
export async function straightOn(
  deps: ConnectPageDeps,
  params: AuthorizationParams,
  request: FastifyRequest,
  reply: FastifyReply
): Promise<FastifyReply | null> {
  const {
    authorize: { issuer },
    browser,
    connect: { connections, cookies },
    journeys
  } = deps
  const connection = connections.get(params.connection ?? '')
  if (connection === undefined || request.method !== 'GET' || isLookingAhead(request) || !(await connection.enabled()))
    return null
  const isBusy =
    deps.cookies.step.read(request) !== undefined ||
    deps.sealed.read(request, 'email') !== null ||
    cookies.read(request, 'link', '') !== null
  if (isBusy && !isFromOurPage(request, issuer)) return null
  const asksAgain = params.prompt !== undefined || params.max_age !== undefined
  if (!(asksAgain && isFromOurPage(request, issuer)) && (await browser.signedIn(request)) !== null) return null
  const journey = await journeys.from(`?${carried(params)}`)
  try {
    return await reply.redirect(
      await beginConnect({ connection, journey, asked: params, linkTo: null, onlyAs: null }, request, reply, deps),
      303
    )
  } catch (error) {
    return await failConnect(
      error,
      { connection: connection.id, query: journey.query, counted: false },
      request,
      reply,
      deps
    )
  }
}
