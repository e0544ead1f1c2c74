import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify'
import { originsOf } from '../../clients/rights.ts'
import { OAuthError } from '../../errors.ts'
import type { Client } from '../../ports/client-store.ts'
import type { Advise } from '../../ports/log.ts'
import { isFromOtherOrigin, isFromOwnPage } from '../../protocol/same-origin.ts'
import type { CallersConfig } from './callers.ts'
import { claimedClientId, type ClientsOf, removeCorsHeaders } from './cors.ts'
import { guarded } from './error-reply.ts'

/**
 * True if a registered client has this origin, so that its page may have sent the request. Rejects if a client store
 * rejects.
 */
type IsRegistered = (request: FastifyRequest, origin: string) => boolean | Promise<boolean>

export interface OriginGuardDeps {
  issuer: string
  isRegistered: IsRegistered
  /** True if `isRegistered` reads the body. */
  needsBody: boolean
  /** True if the host answers preflights of these routes. */
  hostAnswersPreflights: boolean
}

const CHANGE_NOTHING: readonly string[] = ['GET', 'HEAD', 'OPTIONS']

/**
 * Guards every route that is registered in `child` afterwards and has a method other than GET, HEAD and OPTIONS. Skips
 * routes with `fromAnyPage`, and those for our own pages, which `ownPageHook` guards. Refuses a request before its
 * handler runs if the browser says that a page of another origin sent it. Exception: a client has registered that
 * origin. A website can make its visitors' browsers send requests, and those must cost the visitors no attempt, no
 * token and no session.
 *
 * Programs other than browsers pass, because they usually send neither `Sec-Fetch-Site` nor `Origin`.
 */
export function guardOrigins(
  child: FastifyInstance,
  { issuer, isRegistered, needsBody, hostAnswersPreflights }: OriginGuardDeps
): void {
  const { origin: ownOrigin } = new URL(issuer)
  // Requests to routes without our CORS policy name no client to look up, so only listed clients count there. A page of
  // another origin can send `Authorization` only after a preflight, which the host answers. So a request with that
  // header has the host's consent.
  const hostJudges = needsBody && hostAnswersPreflights

  function isAllowed(request: FastifyRequest): boolean | Promise<boolean> {
    const { authorization, origin } = request.headers
    if (!isFromOtherOrigin(request.headers, ownOrigin)) return true
    if (hostJudges && authorization !== undefined) return true
    return origin !== undefined && isRegistered(request, origin)
  }

  // Also used as `preValidation`, whose type is the same.
  const refuseOthers: onRequestHookHandler = (request, reply, done) => {
    const judged = (allowed: boolean): void => {
      if (allowed) return done()
      removeCorsHeaders(reply)
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
      fastifyAuthority?.fromAnyPage === true ||
      fastifyAuthority?.callers === 'own_page'
    )
      return
    // Runs the check first. If the check needs the body, it comes before the `preValidation` hooks of the route,
    // otherwise before the `onRequest` hooks.
    if (needsBody && !hostJudges) route.preValidation = [refuseOthers, route.preValidation ?? []].flat()
    else route.onRequest = [refuseOthers, route.onRequest ?? []].flat()
  })
}

/**
 * Computes the origins of `listed` clients once. Other clients cannot be found by origin, so the origin must belong to
 * the client that the request names in its header or body.
 */
export function registeredOrigins(
  listed: readonly Client[],
  others: ClientsOf | null = null
): { isRegistered: IsRegistered; needsBody: boolean } {
  const known = new Set(listed.flatMap(originsOf))
  if (others === null) return { isRegistered: (_request, origin) => known.has(origin), needsBody: false }
  return {
    async isRegistered(request, origin) {
      if (known.has(origin)) return true
      const clientId = claimedClientId(request)
      const client = clientId === undefined ? null : await others(request).findById(clientId)
      return client !== null && originsOf(client).includes(origin)
    },
    needsBody: true
  }
}

interface FormDeps {
  issuer: string
  advise: Advise
}

/** Maximum length of an origin, in characters. A host name has at most 253. */
const LONGEST_ORIGIN = 280

/**
 * Returns the refusal of a form that no page of ours sent. Advises the developer if the form's page was opened at
 * another origin than the issuer's. Gives no advice about a cross-site form, because any site can make its visitors
 * send one.
 */
export function crossSiteForm({ headers }: FastifyRequest, { issuer, advise }: FormDeps): OAuthError {
  const { 'sec-fetch-site': site, origin = '' } = headers
  const came = origin.length <= LONGEST_ORIGIN && URL.canParse(origin) ? new URL(origin).origin : 'null'
  const own = new URL(issuer).origin
  if (site !== 'cross-site' && came !== own && came !== 'null')
    advise({
      code: 'FST_AUTHORITY_ORIGIN_MISFIT',
      cause: came,
      text: `a form came from ${came}, the issuer is ${own}: open the pages there, or set issuer.`
    })
  return crossSite()
}

/**
 * Lets in only requests from our own pages. A request of another site is not even parsed, and counts under no limit,
 * because otherwise any site could use up its visitor's attempts.
 */
export function ownPageHook(deps: FormDeps): onRequestHookHandler {
  return (request, _reply, done) => {
    if (isFromOwnPage(request, deps.issuer)) done()
    else done(CHANGE_NOTHING.includes(request.method) ? crossSite() : crossSiteForm(request, deps))
  }
}

export function crossSite(): OAuthError {
  return new OAuthError('access_denied', 'The request was not sent from a page of this site.', {
    withoutStack: true,
    reason: 'cross_site',
    detail: 'Sec-Fetch-Site and Origin'
  })
}
