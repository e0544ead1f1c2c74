import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { isActive } from '../../sessions/active-user.ts'
import { OAuthError } from '../../errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { UserStore } from '../../ports/user-store.ts'
import type { BrowserSessions } from '../../sessions/browser-sessions.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { guarded, sendOAuthError } from './error-reply.ts'
import type { Hook } from './guard.ts'
import type { SessionCookie } from './session-cookie.ts'

/** Who is signed in in the browser that sent a request. */
export interface AuthSession {
  readonly sub: string
  /** Public name of the browser session, as ID tokens have it. */
  readonly sid: string
  /** When the user last proved who they are. */
  readonly authenticatedAt: Date
}

interface SessionHookDeps {
  cookie: SessionCookie
  browserSessions: BrowserSessions
  users: UserStore
  sessions: Pick<Sessions, 'isOver'>
  clock: Clock
}

/** A page of many requests writes once: the idle timeout is counted in minutes. */
const USE_EVERY_MS = 60_000

/**
 * The `onRequest` hook that reads the browser session: sets it on the request under `name`, `null` where nobody is signed in, and
 * counts as a use. Refuses nobody; an outage is answered here with 503, alike on every route.
 */
export function readSessionHook ({ cookie, browserSessions, users, sessions, clock }: SessionHookDeps, name: string): Hook {
  async function read (value: string): Promise<AuthSession | null> {
    const session = await browserSessions.find(value)
    const user = session === null ? null : await users.findById(session.userId)
    if (session === null || !isActive(user) || await sessions.isOver(user, session)) return null
    if (clock.now() - session.lastUsedAt >= USE_EVERY_MS && !await browserSessions.use(session)) return null
    return Object.freeze({ sub: session.userId, sid: session.sid, authenticatedAt: new Date(session.authenticatedAt) })
  }

  return function readSession (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
    const accept = (session: AuthSession | null): void => {
      (request as unknown as Record<string, unknown>)[name] = session
      done()
    }
    const value = cookie.read(request)
    if (value === undefined) {
      accept(null)
      return
    }
    guarded(async () => await read(value)).then(accept, (error: unknown) => {
      if (error instanceof OAuthError) sendOAuthError(error, request, reply)
      else done(error as Error)
    })
  }
}
