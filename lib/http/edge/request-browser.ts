import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User, UserStore } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import { partitionIn } from '../../protocol/digest.ts'
import { userOf } from '../../sessions/active-user.ts'
import type { Browser, BrowserSessions, OpenSession, SignedInPerson } from '../../sessions/browser-sessions.ts'
import type { Sessions, StayingSignIn } from '../../sessions/sessions.ts'
import { type CookieJar, OF_A_USER, UNDER_WAY } from './cookie-jar.ts'
import { localeOf, originOf } from './request-origin.ts'
import type { KnownBrowsers } from './known-browsers.ts'
import type { PlainCookies } from './sealed-cookies.ts'

/** The browser behind a request, identified by its session cookie. Only this file reads and sets that cookie. */
export interface RequestBrowser {
  /** True if the request has a session cookie, valid or not. */
  hasCookie(request: FastifyRequest): boolean
  /**
   * The session cookie that the reply to this request sets, else the session cookie of the request, even if the reply
   * removes it. `undefined`: none, or more than one in the request.
   */
  cookieOf(request: FastifyRequest): string | undefined
  /** The browser of the request. Does not count as a use of the session. */
  read(request: FastifyRequest): Promise<Browser>
  /**
   * The user who is signed in in this browser, as the stores say now. `null`: nobody is. Does not count as a use of the
   * session.
   */
  signedIn(request: FastifyRequest): Promise<SignedInPerson | null>
  /**
   * Signs in an authenticated user. Emits no event about the sign-in, and does not check that the user exists. The
   * reply must not be sent yet.
   */
  signIn(
    request: FastifyRequest,
    reply: FastifyReply,
    userId: string,
    methods: AuthenticationProof[]
  ): Promise<OpenSession>
  /**
   * Replaces the proofs of the user's session in this browser, and gives the session a new secret. Does nothing if the
   * user has no live session here, or if another request replaced the shown secret. The reply must not be sent yet.
   */
  renew(request: FastifyRequest, reply: FastifyReply, userId: string, methods: AuthenticationProof[]): Promise<void>
  /**
   * Describes the sign-in that stays while all other sign-ins of its user end. The browser gets a new secret if its
   * cookie belongs to that session. Changes nothing by itself. The reply must not be sent before the other sign-ins
   * end.
   */
  stay(request: FastifyRequest, reply: FastifyReply, sid: string): StayingSignIn
  /** Ends the session, if there is one. Removes its cookie and the cookies of unfinished tasks from the browser. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /** Sets the cookie of a new or renewed session. Removes the cookies of unfinished tasks of another user. */
  setCookie(reply: FastifyReply, value: string): void
  /** Marks the browser as known to the user, so that its next session is not reported as new. Never rejects. */
  makeKnown(reply: FastifyReply, user: User): Promise<void>
  /**
   * The id of a browser in which the user of this normalized username had a session. `null` for any other browser, and
   * if the store is unreachable. Reads the store only if the browser has a device cookie.
   */
  knownAs(request: FastifyRequest, name: string): Promise<string | null>
  /** Removes the request's session cookie and its cookies of unfinished tasks from the browser. */
  clearCookie(reply: FastifyReply): void
}

interface RequestBrowserDeps {
  cookies: Pick<PlainCookies, 'session' | 'enrolment'>
  jar: CookieJar
  browserSessions: BrowserSessions
  sessions: Sessions
  users: UserStore
  known: KnownBrowsers
}

export function requestBrowser({
  cookies: { session: cookie, enrolment },
  jar,
  browserSessions,
  sessions,
  users,
  known
}: RequestBrowserDeps): RequestBrowser {
  /** The session cookie that the reply to each request sets, which the browser shows in its next request. */
  const given = new WeakMap<FastifyRequest, string>()
  const cookieOf = (request: FastifyRequest): string | undefined => given.get(request) ?? cookie.read(request)
  const setCookie = (reply: FastifyReply, value: string): void => {
    const former = cookieOf(reply.request)
    // The cookies of a session and of a pending link begin with the same prefix if their user is the same.
    const user = partitionIn(value)
    if (former === undefined || partitionIn(former) !== user)
      jar.forget(reply, former === undefined ? OF_A_USER : UNDER_WAY, user)
    given.set(reply.request, value)
    cookie.set(reply, value)
  }
  const clearCookie = (reply: FastifyReply): void => {
    jar.forget(reply, ['session', ...UNDER_WAY])
    if (cookie.pending(reply) !== undefined) cookie.clear(reply)
  }

  async function read(request: FastifyRequest): Promise<Browser> {
    const value = cookieOf(request)
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
    cookieOf,
    read,
    async signedIn(request) {
      const { session } = await read(request)
      const user = session === null ? null : await userOf(session, { users, sessions })
      return session === null || user === null ? null : { session, user }
    },
    async signIn(request, reply, userId, methods) {
      const started = await browserSessions.start(userId, methods, await read(request))
      setCookie(reply, started.cookie)
      return started.session
    },
    async renew(request, reply, userId, methods) {
      const shown = await read(request)
      const renewed = shown.session?.userId === userId ? await browserSessions.renew(methods, shown) : null
      if (renewed !== null) setCookie(reply, renewed.cookie)
    },
    stay: (request, reply, sid) =>
      browserSessions.stay(sid, { cookie: cookieOf(request) }, (value) => {
        setCookie(reply, value)
      }),
    async signOut(request, reply) {
      const { session, origin } = await read(request)
      if (session !== null) await sessions.revokeBrowserSession(session.userId, session.sid, 'user', { origin })
      clearCookie(reply)
      cookie.clear(reply)
    },
    setCookie,
    makeKnown: known.add,
    async knownAs(request, name) {
      const user = known.mayKnow(request) ? await users.findByUsername(name).catch(() => null) : null
      return user === null ? null : known.idOf(request, user)
    },
    clearCookie
  }
}
