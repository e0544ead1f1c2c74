import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BrowserSession } from '../../ports/session-store.ts'
import type { BrowserSessions } from '../../sessions/browser-sessions.ts'
import { originOf } from './deps.ts'
import type { SessionCookie } from './session-cookie.ts'

/** Browser sessions as a route sees them: by a request's cookie, and on a reply that is not sent yet. */
export interface BrowserSignIn {
  /** The live session of the request's browser. Does not count as a use. */
  find(request: FastifyRequest): Promise<BrowserSession | null>
  /** Whether the request brought a session cookie, whatever it is worth. */
  hasCookie(request: FastifyRequest): boolean
  /** Signs the user in. Does not ask whether there is such a user. */
  signIn(request: FastifyRequest, reply: FastifyReply, userId: string): Promise<void>
  /** Gives the browser the cookie of a session that has just begun, or begun anew. */
  setCookie(reply: FastifyReply, value: string): void
  /** Ends the session of the request's browser, if there is one, and takes the cookie out of the browser. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

export function browserSignIn ({ cookie, browserSessions }: { cookie: SessionCookie, browserSessions: BrowserSessions }): BrowserSignIn {
  const find = async (request: FastifyRequest): Promise<BrowserSession | null> => await browserSessions.find(cookie.read(request))
  return {
    find,
    hasCookie: (request) => cookie.read(request) !== undefined,
    async signIn (request, reply, userId) {
      const former = await find(request)
      const { cookie: value } = await browserSessions.start(userId, former, cookie.read(request), originOf(request))
      cookie.set(reply, value)
    },
    setCookie: cookie.set,
    async signOut (request, reply) {
      const session = await find(request)
      if (session !== null) await browserSessions.end(session, { origin: originOf(request) })
      cookie.clear(reply)
    }
  }
}
