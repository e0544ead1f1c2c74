import type { Clock } from '../ports/clock.ts'
import type { Random } from '../ports/random.ts'
import type { BrowserSession, SessionStore } from '../ports/session-store.ts'
import { digest } from '../protocol/digest.ts'
import { formatSessionCookie, parseSessionCookie } from '../protocol/session-cookie-value.ts'
import { newTokenId, sidOf } from '../protocol/two-part-token.ts'
import type { Origin, Sessions } from './sessions.ts'

/** The browser sessions of the hosted pages, by the value of their cookie. */
export interface BrowserSessions {
  /** The live session of this cookie. Looks, and does not count as a use. */
  find(cookie: string | undefined): Promise<BrowserSession | null>
  /**
   * Signs a user in: a new cookie value, whatever the browser had before. Where `former` is a live session of the same user it
   * goes on under a new secret; one of another user ends.
   */
  start(userId: string, former: BrowserSession | null, formerCookie: string | undefined, origin: Origin): Promise<{ session: BrowserSession, cookie: string }>
  /** Counts as a use, by `clientId` where a client takes part. `false`: it has ended meanwhile. */
  use(session: BrowserSession, clientId?: string): Promise<boolean>
  /** Ends it and what hangs on it: codes, families that are not offline, and those of `clientId`. Tells its clients. */
  end(session: BrowserSession, options: { clientId?: string, origin: Origin }): Promise<void>
}

export interface BrowserSessionPolicy {
  /** Absolute lifetime; a new sign-in begins it anew. */
  expiresInMs: number
  idleTimeoutMs: number
}

export interface BrowserSessionDeps {
  store: SessionStore
  sessions: Sessions
  clock: Clock
  random: Random
}

export function browserSessions ({ expiresInMs, idleTimeoutMs }: BrowserSessionPolicy, { store, sessions, clock, random }: BrowserSessionDeps): BrowserSessions {
  const lifetimes = (now: number): { expiresAt: number, idleExpiresAt: number } => ({ expiresAt: now + expiresInMs, idleExpiresAt: now + Math.min(expiresInMs, idleTimeoutMs) })

  async function renew (former: BrowserSession, formerCookie: string | undefined): Promise<{ session: BrowserSession, cookie: string } | null> {
    const presented = parseSessionCookie(formerCookie ?? '')
    if (presented === null || presented.sid !== former.sid) return null
    const now = clock.now()
    const secret = random.secret()
    const times = lifetimes(now)
    const renewed = await store.renewSession({ sid: former.sid, userId: former.userId, formerDigest: presented.digest, digest: digest(secret), now, ...times })
    if (!renewed) return null
    return { session: { ...former, authenticatedAt: now, lastUsedAt: now, ...times }, cookie: formatSessionCookie(presented.sessionId, secret) }
  }

  return {
    async find (cookie) {
      const presented = parseSessionCookie(cookie ?? '')
      return presented === null ? null : await store.findSession(presented.sid, presented.digest, clock.now())
    },

    async start (userId, former, formerCookie, origin) {
      const renewed = former?.userId === userId ? await renew(former, formerCookie) : null
      if (renewed !== null) return renewed
      // Before the new one begins: where this fails nobody has changed places.
      if (former !== null) await sessions.revokeBrowserSession(former.userId, former.sid, 'user', { origin })
      // The id is made here and never taken from a cookie, so one that was planted names no session. @see ASVS 7.2.4
      const sessionId = newTokenId(userId, random.id())
      const secret = random.secret()
      const now = clock.now()
      const session: BrowserSession = {
        sid: sidOf(sessionId),
        userId,
        authenticatedAt: now,
        createdAt: now,
        lastUsedAt: now,
        ...lifetimes(now),
        userAgent: origin.userAgent?.slice(0, 256) ?? null,
        clientIds: []
      }
      await store.createSession(session, digest(secret))
      return { session, cookie: formatSessionCookie(sessionId, secret) }
    },

    async use ({ sid, expiresAt }, clientId) {
      const now = clock.now()
      return await store.useSession({ sid, now, idleExpiresAt: Math.min(expiresAt, now + idleTimeoutMs), ...(clientId === undefined ? {} : { clientId }) })
    },

    async end ({ userId, sid }, { clientId, origin }) {
      await sessions.revokeBrowserSession(userId, sid, 'user', { clientId, origin })
    }
  }
}
