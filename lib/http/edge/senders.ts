import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { OAuthError } from '../../errors.ts'
import type { Advise } from '../../ports/log.ts'
import { isFromOtherOrigin } from '../../protocol/same-origin.ts'
import type { CallersConfig } from './callers.ts'
import { type IsRegistered, removeCorsHeaders } from './cors.ts'
import { guarded } from './error-reply.ts'

export interface SendersDeps {
  issuer: string
  advise: Advise
  isRegistered: IsRegistered
  /** True if `isRegistered` reads the body. */
  needsBody: boolean
  /** True if the host answers preflights of these routes. */
  hostAnswersPreflights: boolean
}

const CHANGE_NOTHING: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Guards every route that is registered in `child` afterwards and takes a method other than GET, HEAD and OPTIONS,
 * unless it has `fromAnyPage`. Refuses a request before its handler runs if the browser says that a page of another
 * origin sent it, and no client has registered that origin. A website can make its visitors' browsers send requests,
 * and those must cost the visitors no attempt, no token and no session.
 *
 * Programs other than browsers send neither `Sec-Fetch-Site` nor `Origin`, and pass.
 */
export function guardSenders(
  child: FastifyInstance,
  { issuer, advise, isRegistered, needsBody, hostAnswersPreflights }: SendersDeps
): void {
  const { origin: ownOrigin } = new URL(issuer)
  // Requests to routes whose preflights the host answers name no client for a lookup. A page can add an `Authorization`
  // header only after a preflight. So a request with the header comes from an origin that the host allows.
  const hostJudges = needsBody && hostAnswersPreflights

  function isAllowed(request: FastifyRequest): boolean | Promise<boolean> {
    const { authorization, origin } = request.headers
    if (!isFromOtherOrigin(request.headers, ownOrigin)) return true
    if (hostJudges) return authorization !== undefined
    return origin !== undefined && isRegistered(request, origin)
  }

  const refuseOthers: onRequestHookHandler = (request, reply, done) => {
    const { fastifyAuthority }: Partial<CallersConfig> = request.routeOptions.config
    const judged = (allowed: boolean): void => {
      if (allowed) return done()
      removeCorsHeaders(reply)
      if (fastifyAuthority?.callers === 'own_page') tellOfOrigin(request, issuer, advise)
      done(
        new OAuthError('access_denied', 'A page of another site sent this, and no client has registered its origin.', {
          withoutStack: true,
          reason: 'cross_site',
          detail: 'Sec-Fetch-Site and Origin'
        })
      )
    }
    const allowed = isAllowed(request)
    if (typeof allowed === 'boolean') judged(allowed)
    // If the client store is down, the answer is 503 and not a refusal.
    else guarded(async () => await allowed).then(judged, done)
  }

  child.addHook('onRoute', (route) => {
    const { fastifyAuthority }: Partial<CallersConfig> = route.config ?? {}
    if (
      [route.method].flat().every((method) => CHANGE_NOTHING.includes(method)) ||
      fastifyAuthority?.fromAnyPage === true
    )
      return
    // Runs the check first. If the check needs the body, it comes before the `preValidation` hooks of the route,
    // otherwise before the `onRequest` hooks.
    if (needsBody && !hostJudges) route.preValidation = [refuseOthers, route.preValidation ?? []].flat()
    else route.onRequest = [refuseOthers, route.onRequest ?? []].flat()
  })
}

/** Characters. A host name has at most 253. */
const LONGEST_ORIGIN = 280

/**
 * Advises the developer if one of our forms was refused because its page was opened at another origin than the
 * issuer's. Ignores a cross-site form, because any site can make its visitors send one.
 */
export function tellOfOrigin({ headers }: FastifyRequest, issuer: string, advise: Advise): void {
  const { 'sec-fetch-site': site, origin = '' } = headers
  if (site === 'cross-site' || origin.length > LONGEST_ORIGIN || !URL.canParse(origin)) return
  const own = new URL(issuer).origin
  const came = new URL(origin).origin
  if (came === own || came === 'null') return
  advise({
    code: 'FST_AUTHORITY_ORIGIN_MISFIT',
    cause: came,
    text: `a form came from ${came}, the issuer is ${own}: open the pages there, or set issuer.`
  })
}
