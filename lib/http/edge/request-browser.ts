import type { FastifyReply, FastifyRequest } from 'fastify'
import type { User, UserStore } from '../../ports/user-store.ts'
import type { AuthenticationProof } from '../../protocol/authentication.ts'
import { partitionIn } from '../../protocol/partition.ts'
import { userOf } from '../../sessions/active-user.ts'
import type { Browser, BrowserSessions, OpenSession, SignedInPerson } from '../../sessions/browser-sessions.ts'
import type { Sessions, StayingSignIn } from '../../sessions/sessions.ts'
import { type CookieJar, OF_A_USER, UNDER_WAY } from './cookie-jar.ts'
import { originOf } from './deps.ts'
import type { KnownBrowsers } from './known-browsers.ts'
import { localeOf } from './locale.ts'
import type { Cookies } from './session-cookie.ts'

/** The browser behind a request, by its session cookie. Nothing else in `http` reads or sets that cookie. */
export interface RequestBrowser {
  /** Whether the request brought a session cookie, whatever it is worth. */
  hasCookie(request: FastifyRequest): boolean
  /** The value of the session cookie that the browser has after the reply to this request, as far as is known. */
  cookieOf(request: FastifyRequest): string | undefined
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
  ): Promise<OpenSession>
  /**
   * Gives the session that the user has there other proofs, under a new secret. Does nothing where the session has
   * ended, or the secret that the request showed was replaced by another request. The reply must not be sent yet.
   */
  renew(request: FastifyRequest, reply: FastifyReply, userId: string, methods: AuthenticationProof[]): Promise<void>
  /**
   * The sign-in of this id stays when all others of its user end, and the browser is given a new secret where its
   * cookie is of the session that stays. Changes nothing by itself. The reply must not be sent before that end.
   */
  stay(request: FastifyRequest, reply: FastifyReply, sid: string): StayingSignIn
  /** Ends the session, if there is one, and takes its cookie and what was begun out of the browser. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * Gives the browser the cookie of a session that has just begun, or begun anew. What another user began there goes.
   */
  setCookie(reply: FastifyReply, value: string): void
  /** Makes the browser one in which the user has had a session: the next one there is no news. Never rejects. */
  makeKnown(request: FastifyRequest, reply: FastifyReply, user: User): Promise<void>
  /**
   * The id of the browser, where the user of this normalised name has had a session there; `null` of any other, and
   * where the store can't be reached. Nobody is looked up for a browser that is known for no account.
   */
  knownAs(request: FastifyRequest, name: string): Promise<string | null>
  /** Takes the session's cookie and what was begun out of the browser, as far as the request brought them. */
  clearCookie(reply: FastifyReply): void
}

interface RequestBrowserDeps {
  cookies: Pick<Cookies, 'session' | 'enrolment'>
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
  /** The values that replies to these requests bring: with the next request the browser shows them. */
  const given = new WeakMap<FastifyRequest, string>()
  const cookieOf = (request: FastifyRequest): string | undefined => given.get(request) ?? cookie.read(request)
  const setCookie = (reply: FastifyReply, value: string): void => {
    const former = cookieOf(reply.request)
    // Both the session's cookie and that of a pending link begin with the partition of their user.
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
