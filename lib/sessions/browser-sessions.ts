import type { Clock } from '../ports/clock.ts'
import type { Random } from '../ports/random.ts'
import type { BrowserSession, SessionStore, SessionUse } from '../ports/session-store.ts'
import { type AuthenticationProof, provedSince } from '../protocol/authentication.ts'
import { digest } from '../protocol/digest.ts'
import { formatCredential, newCredentialId, parseCredential, sidOf } from '../protocol/credential.ts'
import type { Origin, Sessions, StayingSignIn } from './sessions.ts'
import type { User } from '../ports/user-store.ts'

/** A browser session with the secret that a request showed. The proofs are those of that secret. */
export interface OpenSession extends BrowserSession {
  /** The digest of the secret. */
  secretDigest: string
}

/** A browser as one request shows it. */
export interface Browser {
  /** The value of its session cookie. */
  cookie: string | undefined
  /** The live session that this cookie proves. */
  session: OpenSession | null
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
  session: OpenSession
  user: User
}

/**
 * The browser sessions of the hosted pages, by the value of their cookie. They end in `sessions`, as all sign-ins do.
 */
export interface BrowserSessions {
  /** The live session of this cookie. Looks, and does not count as a use. */
  find(cookie: string | undefined): Promise<OpenSession | null>
  /**
   * Signs a user in who has just given these proofs: a new cookie value, whatever the browser had before. Where that
   * was the live secret of a session of the same user, the session goes on under a new secret, and rests on these
   * proofs alone. A session of another user ends.
   */
  start(
    userId: string,
    methods: AuthenticationProof[],
    browser: Pick<Browser, 'cookie' | 'session' | 'origin'>
  ): Promise<StartedSession>
  /**
   * Gives the session of this browser other proofs, under a new secret. `null`: the session has ended, or its secret
   * was replaced meanwhile, and no other begins: what somebody does while they are signed in must not outlast that all
   * their sign-ins were ended.
   */
  renew(methods: AuthenticationProof[], browser: Pick<Browser, 'cookie' | 'session'>): Promise<StartedSession | null>
  /**
   * Has the session of this browser stay when all others of its user end. `replaced` is called with the cookie of the
   * new secret, each time that it may have taken the place of the former one.
   */
  stay(sid: string, browser: Pick<Browser, 'cookie'>, replaced: (cookie: string) => void): StayingSignIn
  /** Counts as a use, by `clientId` where a client takes part. `false`: it has ended meanwhile. */
  use(session: OpenSession, clientId?: string): Promise<boolean>
  /** That use as a value, for an operation of the store that commits it together with something else. */
  useOf(session: OpenSession, clientId?: string): SessionUse
}

interface StartedSession {
  session: OpenSession
  cookie: string
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
    methods: AuthenticationProof[],
    { cookie, session: former }: Pick<Browser, 'cookie' | 'session'>
  ): Promise<StartedSession | null> {
    const presented = parseCredential(cookie ?? '')
    if (presented === null || former === null) return null
    const now = clock.now()
    const secret = random.secret()
    const proved = { authenticatedAt: now, methods, ...lifetimes(now, methods) }
    const secretDigest = digest(secret)
    const renewed = await store.renewSession({
      sid: presented.sid,
      userId: former.userId,
      formerDigest: presented.digest,
      digest: secretDigest,
      now,
      ...proved
    })
    return renewed
      ? {
          session: { ...former, ...proved, lastUsedAt: now, secretDigest },
          cookie: formatCredential(presented.id, secret)
        }
      : null
  }

  function useOf({ sid, secretDigest, expiresAt }: OpenSession, clientId?: string): SessionUse {
    const now = clock.now()
    return {
      sid,
      digest: secretDigest,
      now,
      idleExpiresAt: Math.min(expiresAt, now + idleTimeoutMs),
      ...(clientId === undefined ? {} : { clientId })
    }
  }

  return {
    async find(cookie) {
      const presented = parseCredential(cookie ?? '')
      if (presented === null) return null
      const found = await store.findSession(presented.sid, presented.digest, clock.now())
      return found === null ? null : { ...found, secretDigest: presented.digest }
    },

    async start(userId, methods, browser) {
      const { session: former, origin } = browser
      const isTheirs = former?.userId === userId
      // A session is renewed by its live secret alone. Where another tab has replaced it meanwhile, the sign-in gets a
      // session of its own, because anyone may hold what was replaced.
      const renewed = isTheirs ? await renew(methods, browser) : null
      if (renewed !== null) return renewed
      // Before the new session begins, so that where this fails, the browser still has the former one.
      if (former !== null && !isTheirs)
        await sessions.revokeBrowserSession(former.userId, former.sid, 'user', { origin })
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
      const secretDigest = digest(secret)
      await store.createSession(session, secretDigest)
      return { session: { ...session, secretDigest }, cookie: formatCredential(sessionId, secret) }
    },

    renew,
    stay(sid, { cookie }, replaced) {
      const presented = parseCredential(cookie ?? '')
      const secret = random.secret()
      return {
        sid,
        browser:
          presented === null
            ? null
            : {
                sid: presented.sid,
                formerDigest: presented.digest,
                digest: digest(secret),
                replaced: () => {
                  replaced(formatCredential(presented.id, secret))
                }
              }
      }
    },
    use: async (session, clientId) => await store.useSession(useOf(session, clientId)),
    useOf
  }
}
