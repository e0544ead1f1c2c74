import { adminGuard } from './admin-guard.ts'
import { isPublic, unknownOf, requireFirstParty } from '../../clients/rights.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { authenticateClient } from '../../oauth/authenticate-client.ts'
import type { GrantDeps } from '../../oauth/deps.ts'
import type { Client } from '../../ports/client-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { AccessTokenClaims } from '../../protocol/access-token.ts'
import { type AuthenticationContext, freshContextOf } from '../../protocol/authentication.ts'
import { hasToken, headerOrFormToken, insufficientScope, missingToken, withoutActor } from '../../protocol/bearer.ts'
import { invalidClient } from '../../protocol/client-authentication.ts'
import { isFromOwnPage } from '../../protocol/same-origin.ts'
import { parseTokenQuery } from '../../protocol/request-params.ts'
import type { StayingSignIn } from '../../sessions/sessions.ts'
import { liveSession } from '../../sessions/active-user.ts'
import type { RequestBrowser } from './request-browser.ts'
import { callerFact, type Callers, type Guard } from './callers.ts'
import { type ClientsOf, rememberClient } from './cors.ts'
import { crossSite, ownPageHook } from './origin-guard.ts'
import { originOf } from './request-origin.ts'
import { guarded } from './error-reply.ts'
import { type Check, foundBy } from './hook.ts'
import { verifiedClaims } from './possession.ts'
import type { RequestLimiter } from './limit.ts'

/** The signed-in user who calls a route with `callers: 'account'`. */
interface AccountCaller {
  user: User
  /** The client of the access token. `null`: a token without a client, or the browser session. */
  client: Client | null
  /** The id of the refresh token family, or of the browser session. */
  sid: string
  /** The level, the methods and the time of the user's sign-in. */
  authentication: AuthenticationContext
  /**
   * The id of the browser session of the request, or of the browser session in which the family began. `null`: there is
   * none.
   */
  sessionSid: string | null
  /** Keeps the sign-in of this request when all other sign-ins of the user end. */
  stay(reply: FastifyReply): StayingSignIn
}

export interface GuardDeps {
  grants: GrantDeps
  clientsOf: ClientsOf
  token: Check<AccessTokenClaims>
  browser: Pick<RequestBrowser, 'hasCookie' | 'signedIn' | 'stay'>
  limiter: RequestLimiter
}

const accounts = callerFact<AccountCaller>()
const clients = callerFact<Client>()
const tokens = callerFact<AccessTokenClaims>()

export const accountOf = accounts.of
export const clientOf = clients.of
export const tokenOf = tokens.of

/**
 * Returns the guard for a kind of callers. Returns the same hooks each time, so that `useCallers` can tell whether a
 * route has them already.
 */
export function createGuards(deps: GuardDeps): (callers: Callers) => Guard {
  const ownPage: Guard = { onRequest: ownPageHook(deps.grants.accounts) }
  const account: Guard = {
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      accounts.set(request, await guarded(async () => await accountCaller(request, reply, deps)))
    }
  }
  const client: Guard = {
    preHandler: async (request, reply) => {
      clients.set(request, await guarded(async () => await confidentialClient(request, reply, deps)))
    }
  }
  const withScope = new Map<string, Guard>()
  const guardWith = (name: string, make: () => Guard): Guard => {
    const guard = withScope.get(name) ?? make()
    withScope.set(name, guard)
    return guard
  }
  return (callers) => {
    if (callers === 'anyone') return {}
    if (callers === 'own_page') return ownPage
    if (callers === 'account') return account
    if (callers === 'client') return client
    // The space keeps this key apart from the scopes, which contain no space.
    if ('admin' in callers) return guardWith(`admin ${callers.admin}`, () => adminGuard(callers.admin, deps))
    const { scope } = callers
    return guardWith(scope, () => ({
      preHandler: async (request, reply) => {
        tokens.set(request, await guarded(async () => await tokenWith(scope, [request, reply], deps)))
      }
    }))
  }
}

/** If a request has both a token and a session cookie, the token decides. */
async function accountCaller(request: FastifyRequest, reply: FastifyReply, deps: GuardDeps): Promise<AccountCaller> {
  return !hasToken(request.headers.authorization) && deps.browser.hasCookie(request)
    ? await accountOfBrowser(request, deps)
    : await accountOfToken(await foundBy(deps.token, request, reply), request, deps)
}

async function accountOfToken(
  claims: AccessTokenClaims,
  request: FastifyRequest,
  { grants, browser }: GuardDeps
): Promise<AccountCaller> {
  // Refuses a token with `act`, because nobody may manage an account on behalf of its user.
  if (claims['act'] !== undefined) throw withoutActor()
  const client = await requireFirstParty(claims, grants.clients)
  const { user, family } = await liveSession(claims, { sessions: grants.sessions, users: grants.accounts.users })
  return {
    user,
    client,
    sid: family.sid,
    authentication: { acr: family.acr, amr: family.amr, authenticatedAt: family.authenticatedAt },
    sessionSid: family.sessionSid,
    stay: (reply) => browser.stay(request, reply, family.sid)
  }
}

/** Checks the sender first, so that another site does not even learn whether its visitor is signed in. */
async function accountOfBrowser(request: FastifyRequest, { grants, browser }: GuardDeps): Promise<AccountCaller> {
  if (!isFromOwnPage(request, grants.accounts.issuer)) throw crossSite()
  const signedIn = await browser.signedIn(request)
  if (signedIn === null) throw missingToken()
  const { user, session } = signedIn
  return {
    user,
    client: null,
    sid: session.sid,
    authentication: freshContextOf(session),
    sessionSid: session.sid,
    stay: (reply) => browser.stay(request, reply, session.sid)
  }
}

async function confidentialClient(
  request: FastifyRequest,
  reply: FastifyReply,
  { grants, clientsOf, limiter }: GuardDeps
): Promise<Client> {
  const query = parseTokenQuery(request.body)
  // Only client authentication counts here. If bad tokens counted too, anybody could lock an API out by sending it bad
  // tokens to check.
  return await limiter.countFailure(request, reply, async () => {
    const origin = originOf(request)
    const client = await authenticateClient(request.headers.authorization, query, origin, {
      clients: clientsOf(request),
      grants
    })
    if (client === null || isPublic(client) || unknownOf(client) !== null) {
      grants.accounts.events.emit(
        'client_authentication_failed',
        { reason: 'no_secret', clientId: client?.clientId ?? null, method: 'none' },
        origin
      )
      throw invalidClient('client_secret_basic')
    }
    return client
  })
}

/** @see RFC 6750 §2, §3 */
async function tokenWith(
  scope: string,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  { grants }: GuardDeps
): Promise<AccessTokenClaims> {
  const sent = headerOrFormToken(request.headers.authorization, isForm(request) ? request.body : undefined)
  if (sent === undefined) throw missingToken()
  const claims = await verifiedClaims(sent, [request, reply], grants)
  if (claims.client_id !== undefined) rememberClient(request, claims.client_id)
  if (claims.scope?.split(' ').includes(scope) !== true) throw insufficientScope([scope])
  return claims
}

function isForm({ headers }: FastifyRequest): boolean {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() === 'application/x-www-form-urlencoded'
}
