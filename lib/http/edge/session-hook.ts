import type { FastifyReply, FastifyRequest } from 'fastify'
import { OAuthError } from '../../errors.ts'
import { contextOf, wasProvedJustNow } from '../../protocol/authentication.ts'
import { serializeParams } from '../../protocol/request-params.ts'
import { isFromOwnPage, isSameOrigin, localPath } from '../../protocol/same-origin.ts'
import { hasToken, isEnough, missingToken, type StepUp } from '../../protocol/bearer.ts'
import type { AccessTokenClaims } from '../../protocol/access-token.ts'
import { requireFirstParty } from '../../clients/rights.ts'
import type { ClientStore } from '../../ports/client-store.ts'
import type { Clock } from '../../ports/clock.ts'
import type { BrowserSession } from '../../ports/session-store.ts'
import type { BrowserSessions, SignedInPerson } from '../../sessions/browser-sessions.ts'
import { crossSite } from './origin-guard.ts'
import { noStore } from './error-reply.ts'
import { type Check, foundBy, type Hook, hookOf, withoutUser } from './hook.ts'
import { challenged } from './possession.ts'
import type { RequestBrowser } from './request-browser.ts'

/** The user who is signed in in the browser that sent a request. */
export interface AuthSession {
  readonly sub: string
  /** Public name of the browser session, as ID tokens have it. */
  readonly sid: string
  /** The time when the user proved their identity: the oldest of the proofs behind `acr`. */
  readonly authenticatedAt: Date
  /** The level of the sign-in, such as `password`; `null` if the host signed the user in without a level. */
  readonly acr: string | null
  /** How the user was authenticated, such as `pwd`; empty if the host named no method. @see RFC 8176 §2 */
  readonly amr: readonly string[]
}

interface SessionHookDeps {
  browser: Pick<RequestBrowser, 'hasCookie' | 'signedIn'>
  browserSessions: Pick<BrowserSessions, 'use'>
  clients: ClientStore
  token: Check<AccessTokenClaims>
  /** The algorithms of proofs. Empty: no token is bound to a key. */
  dpopAlgs: readonly string[]
  clock: Clock
  issuer: string
  /** The path of the sign-in page. */
  loginPath: string
  /**
   * The page on which a signed-in user proves their identity again. `null`: the host has its own sign-in page, which is
   * used instead.
   */
  reauthenticatePath: string | null
  /** The page that adds the missing proof to a sign-in; `null`: only a new sign-in can help; `never`: nothing can. */
  stepPath(person: SignedInPerson, acr: string): Promise<{ path: string } | 'never' | null>
  /** Sends an error as a hosted page, in the person's language; `null`: there are no pages. */
  sendErrorPage: ((error: OAuthError, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) | null
}

interface SessionHooks {
  /** Reads the browser session: sets it on the request, `null` where nobody is signed in. Refuses nobody. */
  readSession: Hook
  /**
   * Like `readSession`, for pages that need a user whose sign-in meets `required`. Redirects all other visitors to the
   * page that can help (sign-in, second factor or new proof) and back. Refuses with 403 if no sign-in can help, and
   * refuses a post from another origin.
   */
  requireSession(required: StepUp): Hook
  /**
   * For routes of the host's own front end. Accepts a user's access token (without a client or of a first-party
   * client), or the browser session from a page of this origin. Sets claims of the same form on the request for both.
   */
  requireUser: Hook
}

/** Records the use of a session at most once in this time, so that a page with many requests causes one write. */
const USE_EVERY_MS = 60_000

/**
 * The `onRequest` hooks for a host's own pages and front ends. Each hook that reads the browser session records a use
 * of it, at most once a minute.
 */
export function sessionHooks(
  {
    browser,
    browserSessions,
    clients,
    token,
    dpopAlgs,
    clock,
    issuer,
    loginPath,
    reauthenticatePath,
    stepPath,
    sendErrorPage
  }: SessionHookDeps,
  names: { auth: string; authSession: string }
): SessionHooks {
  async function find(request: FastifyRequest): Promise<SignedInPerson | null> {
    const person = browser.hasCookie(request) ? await browser.signedIn(request) : null
    return person === null ||
      clock.now() - person.session.lastUsedAt < USE_EVERY_MS ||
      (await browserSessions.use(person.session))
      ? person
      : null
  }

  async function sessionFor(request: FastifyRequest, required: StepUp): Promise<AuthSession> {
    // Browsers send the cookie with posts from sibling subdomains too, so the cookie alone does not show that a page of
    // ours sent the request.
    if (!isSafe(request) && !isSameOrigin(request.headers, issuer)) throw crossSite()
    const person = await find(request)
    const session = person?.session ?? null
    const now = clock.now()
    const context = session === null ? null : contextOf(session, required.acr === null ? [] : [required.acr])
    if (session !== null && context !== null && isEnough(context, required, now)) return shown(session)
    const step =
      person !== null && context === null && required.acr !== null ? await stepPath(person, required.acr) : null
    const back = wayBack(request, issuer)
    if (step !== null && step !== 'never') throw signInNeeded(step.path, { return_to: back })
    if (session !== null && context === null && (step === 'never' || wasProvedJustNow(session, now)))
      throw new OAuthError(
        'unmet_authentication_requirements',
        'The sign-in of this account is not worth what the page asks for.',
        { statusCode: 403, reason: 'sign_in_too_weak' }
      )
    const page = session === null ? null : reauthenticatePath
    const prompt = session === null || page !== null ? undefined : 'login'
    throw signInNeeded(page ?? loginPath, { return_to: back, prompt })
  }

  /** If a request has both a token and a session cookie, the token decides. */
  async function claimsOfUser(request: FastifyRequest, reply?: FastifyReply): Promise<AccessTokenClaims> {
    if (!hasToken(request.headers.authorization)) {
      // Checks the sender first, so that another site does not learn whether its visitor is signed in.
      if (!isFromOwnPage(request, issuer))
        throw missingToken(` A session cookie counts on requests from ${new URL(issuer).origin} alone.`)
      if (!browser.hasCookie(request)) throw missingToken()
      const session = (await find(request))?.session
      if (session === undefined) throw missingToken()
      return claimsOfSession(session, issuer)
    }
    const claims = await foundBy(token, request, reply)
    if (claims.sid === undefined) throw withoutUser()
    await requireFirstParty(claims, clients)
    return claims
  }

  async function read(request: FastifyRequest): Promise<AuthSession | null> {
    const session = (await find(request))?.session
    return session === undefined ? null : shown(session)
  }

  return {
    readSession: hookOf(
      (request): ReturnType<typeof read> | null => (browser.hasCookie(request) ? read(request) : null),
      names.authSession
    ),
    requireSession: (required) =>
      hookOf(
        async (request) => await sessionFor(request, required),
        names.authSession,
        (error, request, reply) => {
          if (error.redirectTo !== undefined) {
            noStore(reply)
            reply.redirect(error.redirectTo, 303)
            return true
          }
          if (sendErrorPage === null || !wantsPage(request)) return false
          void sendErrorPage(error, request, reply)
          return true
        }
      ),
    requireUser: hookOf(dpopAlgs.length === 0 ? claimsOfUser : challenged(claimsOfUser, { dpopAlgs }), names.auth)
  }
}

function signInNeeded(page: string, params: Parameters<typeof serializeParams>[0]): OAuthError {
  return new OAuthError('login_required', 'A sign-in is needed.', {
    statusCode: 401,
    withoutStack: true,
    redirectTo: `${page}?${serializeParams(params)}`
  })
}

/**
 * Describes a browser session as the claims of an access token. There is no scope, because users may do anything with
 * their own data.
 */
function claimsOfSession(session: BrowserSession, issuer: string): AccessTokenClaims {
  const { acr, amr, authenticatedAt } = contextOf(session)
  const { userId, sid, createdAt, expiresAt } = session
  return Object.freeze({
    iss: issuer,
    sub: userId,
    aud: issuer,
    exp: Math.floor(expiresAt / 1000),
    iat: Math.floor(createdAt / 1000),
    jti: sid,
    sid,
    auth_time: Math.floor(authenticatedAt / 1000),
    ...(acr === null ? {} : { acr }),
    ...(amr.length === 0 ? {} : { amr: Object.freeze(amr) })
  })
}

/**
 * True if the request asks for HTML, as when a person opens a page. Scripts do so only if they set `Accept`. A type
 * with the weight 0 counts as refused. @see RFC 9110 §12.4.2
 */
function wantsPage({ headers: { accept = '' } }: FastifyRequest): boolean {
  const wanted = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([, ...parameters]) => !parameters.some(isZeroWeight))
    .map(([type]) => type)
  return wanted.includes('text/html') && !wanted.includes('application/json')
}

function isZeroWeight(parameter: string): boolean {
  const [name, value] = parameter.split('=')
  return name === 'q' && Number(value) === 0
}

function shown(session: BrowserSession): AuthSession {
  const { acr, amr, authenticatedAt } = contextOf(session)
  return Object.freeze({
    sub: session.userId,
    sid: session.sid,
    authenticatedAt: new Date(authenticatedAt),
    acr,
    amr: Object.freeze(amr)
  })
}

/**
 * The path of this origin to which the sign-in leads back. The sign-in page checks the path again. A posted form can't
 * be repeated after a sign-in, so the path is then that of the form's page, from `Referer`. `undefined`: unknown.
 */
function wayBack(request: FastifyRequest, issuer: string): string | undefined {
  if (isSafe(request)) return localPath(request.originalUrl, issuer) ?? undefined
  const { referer = '' } = request.headers
  const page = URL.canParse(referer) ? new URL(referer) : null
  return page?.origin === new URL(issuer).origin
    ? (localPath(`${page.pathname}${page.search}`, issuer) ?? undefined)
    : undefined
}

function isSafe({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}
