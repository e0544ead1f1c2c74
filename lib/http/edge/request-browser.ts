import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BrowserSession } from '../../ports/session-store.ts'
import type { User, UserStore } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import { userOf } from '../../sessions/active-user.ts'
import type { Browser, BrowserSessions, SignedInPerson } from '../../sessions/browser-sessions.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { originOf } from './deps.ts'
import type { KnownBrowsers } from './known-browsers.ts'
import { localeOf } from './locale.ts'
import type { Cookies } from './session-cookie.ts'

/** The browser behind a request, by its session cookie. Nothing else in `http` reads or sets that cookie. */
export interface RequestBrowser {
  /** Whether the request brought a session cookie, whatever it is worth. */
  hasCookie(request: FastifyRequest): boolean
  /** What the request shows of its browser. Does not count as a use of the session. */
  read(request: FastifyRequest): Promise<Browser>
  /** Who is signed in there, by the stores of now. Does not count as a use of the session. */
  signedIn(request: FastifyRequest): Promise<SignedInPerson | null>
  /**
   * Signs the user in, who was authenticated so, and tells nobody. Does not ask whether there is such a user. The reply
   * must not be sent yet.
   */
  signIn(
    request: FastifyRequest,
    reply: FastifyReply,
    userId: string,
    methods: AuthenticationProof[]
  ): Promise<BrowserSession>
  /**
   * Gives the session that the user has there other proofs. Does nothing where it has ended meanwhile. The reply must
   * not be sent yet.
   */
  renew(request: FastifyRequest, reply: FastifyReply, userId: string, methods: AuthenticationProof[]): Promise<void>
  /** Ends the session, if there is one, and takes the cookie out of the browser. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Gives the browser the cookie of a session that has just begun, or begun anew. */
  setCookie(reply: FastifyReply, value: string): void
  /** Makes the browser one in which the user has had a session: the next one there is no news. Never rejects. */
  makeKnown(request: FastifyRequest, reply: FastifyReply, user: User): Promise<void>
  /**
   * The id of the browser, where the user of this normalised name has had a session there; `null` of any other, and
   * where the store can't be reached. Nobody is looked up for a browser that is known for no account.
   */
  knownAs(request: FastifyRequest, name: string): Promise<string | null>
  clearCookie(reply: FastifyReply): void
}

interface RequestBrowserDeps {
  cookies: Pick<Cookies, 'session' | 'enrolment'>
  browserSessions: BrowserSessions
  sessions: Sessions
  users: UserStore
  known: KnownBrowsers
}

export function requestBrowser({
  cookies: { session: cookie, enrolment },
  browserSessions,
  sessions,
  users,
  known
}: RequestBrowserDeps): RequestBrowser {
  async function read(request: FastifyRequest): Promise<Browser> {
    const value = cookie.read(request)
    return {
      cookie: value,
      session: await browserSessions.find(value),
      isKnown: (user) => known.idOf(request, user) !== null,
      locale: () => localeOf(request),
      invitation: enrolment?.read(request),
      origin: originOf(request)
    }
  }

  return {
    hasCookie: (request) => cookie.read(request) !== undefined,
    read,
    async signedIn(request) {
      const { session } = await read(request)
      const user = session === null ? null : await userOf(session, { users, sessions })
      return session === null || user === null ? null : { session, user }
    },
    async signIn(request, reply, userId, methods) {
      const started = await browserSessions.start(userId, methods, await read(request))
      cookie.set(reply, started.cookie)
      return started.session
    },
    async renew(request, reply, userId, methods) {
      const renewed = await browserSessions.renew(userId, methods, await read(request))
      if (renewed !== null) cookie.set(reply, renewed.cookie)
    },
    async signOut(request, reply) {
      const { session, origin } = await read(request)
      if (session !== null) await sessions.revokeBrowserSession(session.userId, session.sid, 'user', { origin })
      cookie.clear(reply)
    },
    setCookie: cookie.set,
    makeKnown: known.add,
    async knownAs(request, name) {
      const user = known.mayKnow(request) ? await users.findByUsername(name).catch(() => null) : null
      return user === null ? null : known.idOf(request, user)
    },
    clearCookie: cookie.clear
  }
}
