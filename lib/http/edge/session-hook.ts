import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { OAuthError } from '../../errors.ts'
import { contextOf } from '../../protocol/authentication.ts'
import type { Clock } from '../../ports/clock.ts'
import type { BrowserSessions } from '../../sessions/browser-sessions.ts'
import { guarded, sendOAuthError } from './error-reply.ts'
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
}

/** A session is written as used once in this time at most, so that a page with many requests makes one write. */
const USE_EVERY_MS = 60_000

/**
 * The `onRequest` hook that reads the browser session: sets it on the request under `name`, `null` where nobody is signed in, and
 * counts as a use. Refuses nobody; an outage is answered here with 503, alike on every route.
 */
export function readSessionHook ({ browser, browserSessions, clock }: SessionHookDeps, name: string): Hook {
  async function read (request: FastifyRequest): Promise<AuthSession | null> {
    const signedIn = await browser.signedIn(request)
    if (signedIn === null) return null
    const { session } = signedIn
    if (clock.now() - session.lastUsedAt >= USE_EVERY_MS && !await browserSessions.use(session)) return null
    const { acr, amr, authenticatedAt } = contextOf(session)
    return Object.freeze({ sub: session.userId, sid: session.sid, authenticatedAt: new Date(authenticatedAt), acr, amr: Object.freeze(amr) })
  }

  return function readSession (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const accept = (session: AuthSession | null): void => {
      (request as unknown as Record<string, unknown>)[name] = session
      done()
    }
    if (!browser.hasCookie(request)) {
      accept(null)
      return
    }
    guarded(async () => await read(request)).then(accept, (error: unknown) => {
      if (error instanceof OAuthError) sendOAuthError(error, request, reply)
      else done(error as Error)
    })
  }
}
