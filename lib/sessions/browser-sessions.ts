import type { Clock } from '../ports/clock.ts'
import type { Random } from '../ports/random.ts'
import type { BrowserSession, SessionStore, SessionUse } from '../ports/session-store.ts'
import { type AuthenticationProof, provedSince } from '../protocol/authentication.ts'
import { digest } from '../protocol/digest.ts'
import { formatCredential, newCredentialId, parseCredential, sidOf } from '../protocol/credential.ts'
import type { Origin, Sessions } from './sessions.ts'
import type { User } from '../ports/user-store.ts'

/** A browser as one request shows it. */
export interface Browser {
  /** The value of its session cookie. */
  cookie: string | undefined
  /** The live session that this cookie proves. */
  session: BrowserSession | null
  /**
   * What it has of earlier sign-ins after which it was to be remembered; absent also where the sign-in of now is to be
   * a full one.
   */
  remembered?: string | undefined
  /**
   * What it was given by a link that has the user set up a second factor, whatever that is worth; absent where there
   * are no factors.
   */
  invitation?: string | undefined
  /** Whether the user had a session there before. Asks no store. */
  isKnown(user: User): boolean
  /** The language of what the request makes be sent. */
  locale?(): string | undefined
  origin: Origin
}

/** Who is signed in in a browser. */
export interface SignedInPerson {
  session: BrowserSession
  user: User
}

/**
 * The browser sessions of the hosted pages, by the value of their cookie. They end in `sessions`, as all sign-ins do.
 */
export interface BrowserSessions {
  /** The live session of this cookie. Looks, and does not count as a use. */
  find(cookie: string | undefined): Promise<BrowserSession | null>
  /**
   * Signs a user in who has just given these proofs: a new cookie value, whatever the browser had before. Where that
   * was a live session of the same user, it goes on under a new secret, and rests on these proofs alone; one of another
   * user ends.
   */
  start(
    userId: string,
    methods: AuthenticationProof[],
    browser: Pick<Browser, 'cookie' | 'session' | 'origin'>
  ): Promise<{ session: BrowserSession; cookie: string }>
  /**
   * Gives the live session of this user in this browser other proofs, under a new secret. `null`: it has ended, and no
   * other begins: what somebody does while they are signed in must not outlast that all their sign-ins were ended
   * meanwhile.
   */
  renew(
    userId: string,
    methods: AuthenticationProof[],
    browser: Pick<Browser, 'cookie' | 'session'>
  ): Promise<{ session: BrowserSession; cookie: string } | null>
  /** Counts as a use, by `clientId` where a client takes part. `false`: it has ended meanwhile. */
  use(session: BrowserSession, clientId?: string): Promise<boolean>
  /** That use as a value, for an operation of the store that commits it together with something else. */
  useOf(session: BrowserSession, clientId?: string): SessionUse
}

interface BrowserSessionPolicy {
  /**
   * Absolute lifetime, from the oldest proof that the session rests on: a new sign-in begins it anew, a second factor
   * alone does not.
   */
  expiresInMs: number
  idleTimeoutMs: number
}

interface BrowserSessionDeps {
  store: SessionStore
  sessions: Sessions
  clock: Clock
  random: Random
}

export function browserSessions(
  { expiresInMs, idleTimeoutMs }: BrowserSessionPolicy,
  { store, sessions, clock, random }: BrowserSessionDeps
): BrowserSessions {
  const lifetimes = (now: number, methods: AuthenticationProof[]): { expiresAt: number; idleExpiresAt: number } => {
    const expiresAt = provedSince({ methods, authenticatedAt: now }) + expiresInMs
    return { expiresAt, idleExpiresAt: Math.min(expiresAt, now + idleTimeoutMs) }
  }

  async function renew(
    userId: string,
    methods: AuthenticationProof[],
    { cookie, session: former }: Pick<Browser, 'cookie' | 'session'>
  ): Promise<{ session: BrowserSession; cookie: string } | null> {
    const presented = parseCredential(cookie ?? '')
    if (presented === null) return null
    const now = clock.now()
    const secret = random.secret()
    const times = lifetimes(now, methods)
    if (
      !(await store.renewSession({
        sid: presented.sid,
        userId,
        formerDigest: presented.digest,
        digest: digest(secret),
        now,
        methods,
        ...times
      }))
    )
      return null
    const session =
      former === null
        ? await store.findSession(presented.sid, digest(secret), now)
        : { ...former, authenticatedAt: now, methods, lastUsedAt: now, ...times }
    return session === null ? null : { session, cookie: formatCredential(presented.id, secret) }
  }

  function useOf({ sid, expiresAt }: BrowserSession, clientId?: string): SessionUse {
    const now = clock.now()
    return {
      sid,
      now,
      idleExpiresAt: Math.min(expiresAt, now + idleTimeoutMs),
      ...(clientId === undefined ? {} : { clientId })
    }
  }

  return {
    async find(cookie) {
      const presented = parseCredential(cookie ?? '')
      return presented === null ? null : await store.findSession(presented.sid, presented.digest, clock.now())
    },

    async start(userId, methods, browser) {
      const { session: former, origin } = browser
      // No session may be known because another tab has signed in since this request was sent, and the cookie has a new
      // secret by now: the browser still has one session. It is renewed for its own user alone, so a planted cookie
      // brings nobody into another person's session.
      const renewed = former === null || former.userId === userId ? await renew(userId, methods, browser) : null
      if (renewed !== null) return renewed
      // Before the new session begins, so that where this fails, the browser still has the former one.
      if (former !== null) await sessions.revokeBrowserSession(former.userId, former.sid, 'user', { origin })
      // The id is made here and never taken from a cookie, so one that was planted names no session. @see ASVS 7.2.4
      const sessionId = newCredentialId(userId, random.id())
      const secret = random.secret()
      const now = clock.now()
      const session: BrowserSession = {
        sid: sidOf(sessionId),
        userId,
        authenticatedAt: now,
        methods,
        createdAt: now,
        lastUsedAt: now,
        ...lifetimes(now, methods),
        userAgent: origin.userAgent?.slice(0, 256) ?? null,
        clientIds: []
      }
      await store.createSession(session, digest(secret))
      return { session, cookie: formatCredential(sessionId, secret) }
    },

    renew,
    use: async (session, clientId) => await store.useSession(useOf(session, clientId)),
    useOf
  }
}
