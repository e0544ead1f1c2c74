import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { OAuthError } from '../../errors.ts'
import { contextOf, wasProvedJustNow } from '../../protocol/authentication.ts'
import { serializeParams } from '../../protocol/request-params.ts'
import { localPath } from '../../protocol/return-to.ts'
import { isSameOrigin } from '../../protocol/same-origin.ts'
import { isEnough, type StepUp } from '../../protocol/step-up.ts'
import type { Clock } from '../../ports/clock.ts'
import type { BrowserSession } from '../../ports/session-store.ts'
import type { BrowserSessions, SignedInPerson } from '../../sessions/browser-sessions.ts'
import { crossSite } from './caller-guards.ts'
import { guarded, noStore, sendOAuthError } from './error-reply.ts'
import type { Hook } from './guard.ts'
import type { RequestBrowser } from './request-browser.ts'

/** Who is signed in in the browser that sent a request. */
export interface AuthSession {
  readonly sub: string
  /** Public name of the browser session, as ID tokens have it. */
  readonly sid: string
  /** When the user proved who they are: the oldest of the proofs that `acr` rests on. */
  readonly authenticatedAt: Date
  /** What the sign-in was worth: `password`; `null` where the host signed the user in and did not say how. */
  readonly acr: string | null
  /** How the user was authenticated, such as `pwd`; empty where nobody said. @see RFC 8176 §2 */
  readonly amr: readonly string[]
}

interface SessionHookDeps {
  browser: Pick<RequestBrowser, 'hasCookie' | 'signedIn'>
  browserSessions: Pick<BrowserSessions, 'use'>
  clock: Clock
  issuer: string
  /** The path of the sign-in page. */
  loginPath: string
  /** Where who is signed in proves it anew; `null`: on the sign-in page, which is the host's own. */
  reauthenticatePath: string | null
  /**
   * The page that adds what is missing to a sign-in; `null`: a new sign-in is all that can help; `never`: nor can that.
   */
  stepPath(person: SignedInPerson, acr: string): Promise<{ path: string } | 'never' | null>
  /** Sends an error as a page of ours, in the person's language; `null`: there are no pages. */
  sendErrorPage: ((error: OAuthError, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>) | null
}

interface SessionHooks {
  /** Reads the browser session: sets it on the request, `null` where nobody is signed in. Refuses nobody. */
  readSession: Hook
  /** The same for pages that need somebody; all others are led to the sign-in page and back. */
  requireSession(required: StepUp): Hook
}

/** A session is written as used once in this time at most, so that a page with many requests makes one write. */
const USE_EVERY_MS = 60_000

/**
 * The `onRequest` hooks for a host's own pages. Both count as a use; an outage is answered here with 503, alike on
 * every route.
 */
export function sessionHooks(
  { browser, browserSessions, clock, issuer, loginPath, reauthenticatePath, stepPath, sendErrorPage }: SessionHookDeps,
  name: string
): SessionHooks {
  async function find(request: FastifyRequest): Promise<SignedInPerson | null> {
    const person = browser.hasCookie(request) ? await browser.signedIn(request) : null
    return person === null ||
      clock.now() - person.session.lastUsedAt < USE_EVERY_MS ||
      (await browserSessions.use(person.session))
      ? person
      : null
  }

  function keep(request: FastifyRequest, session: BrowserSession | null): void {
    ;(request as unknown as Record<string, unknown>)[name] = session === null ? null : shown(session)
  }

  /** @returns whether the request goes on; else the reply is sent. */
  async function admit(request: FastifyRequest, reply: FastifyReply, required: StepUp): Promise<boolean> {
    // The cookie comes with the posts of sibling subdomains, too.
    if (!isSafe(request) && !isSameOrigin(request.headers, issuer)) throw crossSite()
    const person = await find(request)
    const session = person?.session ?? null
    const now = clock.now()
    const context = session === null ? null : contextOf(session, required.acr === null ? [] : [required.acr])
    if (session !== null && context !== null && isEnough(context, required, now)) {
      keep(request, session)
      return true
    }
    const step =
      person !== null && context === null && required.acr !== null ? await stepPath(person, required.acr) : null
    if (step !== null && step !== 'never') {
      noStore(reply)
      reply.redirect(`${step.path}?${serializeParams({ return_to: wayBack(request, issuer) })}`, 303)
      return false
    }
    if (session !== null && context === null && (step === 'never' || wasProvedJustNow(session, now)))
      throw new OAuthError(
        'unmet_authentication_requirements',
        'The sign-in of this account is not worth what the page asks for.',
        { statusCode: 403, reason: 'sign_in_too_weak' }
      )
    noStore(reply)
    const page = session === null ? null : reauthenticatePath
    const prompt = session === null || page !== null ? undefined : 'login'
    reply.redirect(`${page ?? loginPath}?${serializeParams({ return_to: wayBack(request, issuer), prompt })}`, 303)
    return false
  }

  return {
    readSession(request, reply, done) {
      if (browser.hasCookie(request)) {
        run(request, reply, done, async () => {
          keep(request, (await find(request))?.session ?? null)
          return true
        })
        return
      }
      keep(request, null)
      done()
    },
    requireSession: (required) =>
      function requireSession(request, reply, done) {
        run(
          request,
          reply,
          done,
          async () => await admit(request, reply, required),
          (wantsPage(request) ? sendErrorPage : null) ?? sendOAuthError
        )
      }
  }
}

/**
 * Browsers ask for HTML when somebody goes to a page; scripts don't, unless they say so. What has the weight 0 is
 * refused. @see RFC 9110 §12.4.2
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

function run(
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
  work: () => Promise<boolean>,
  send: (...refused: Parameters<typeof sendOAuthError>) => unknown = sendOAuthError
): void {
  guarded(work).then(
    (goesOn) => {
      if (goesOn) done()
    },
    (error: unknown) => {
      if (error instanceof OAuthError) void send(error, request, reply)
      else done(error as Error)
    }
  )
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
 * Where the sign-in leads back to, a path of this origin. The sign-in page checks it again. A form is not carried: its
 * page is shown again, where the browser says which.
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
