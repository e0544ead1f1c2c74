import type { Clock } from '../ports/clock.ts'
import type { Random } from '../ports/cryptography.ts'
import type { BrowserSession, SessionStore, SessionUse } from '../ports/session-store.ts'
import { type AuthenticationProof, provedSince } from '../protocol/authentication.ts'
import { digest } from '../protocol/digest.ts'
import { formatCredential, newCredentialId, parseCredential, sidOf } from '../protocol/credential.ts'
import type { Origin, Sessions, StayingSignIn } from './sessions.ts'
import type { User } from '../ports/user-store.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'

/** A browser session, and the secret in the cookie of the request. `methods` are the proofs given with that secret. */
export interface OpenSession extends BrowserSession {
  /** The digest of the secret. */
  secretDigest: string
}

/** The browser behind one request. */
export interface Browser {
  /** The value of the session cookie. */
  cookie: string | undefined
  /** The live session that this cookie proves. */
  session: OpenSession | null
  /**
   * The cookie of accounts that need no second factor in this browser. Absent without such a cookie, or if this sign-in
   * must prove every factor again.
   */
  remembered?: string | undefined
  /** The cookie of a link to set up a second factor, not yet verified. Absent without the option `factors`. */
  invitation?: string | undefined
  /** True if the user had a session in this browser before, with the present password. Reads cookies only. */
  isKnown(user: User): boolean
  /** The language of messages that this request causes. */
  locale?(): string | undefined
  origin: Origin
}

/** The user who is signed in in a browser, with the session. */
export interface SignedInPerson {
  session: OpenSession
  user: User
}

/** Begins, finds and renews the browser sessions of the hosted pages. `sessions` ends them, as it ends all sign-ins. */
export interface BrowserSessions {
  /** Finds the live session of a cookie. Does not count as a use. */
  find(cookie: string | undefined): Promise<OpenSession | null>
  /**
   * Signs in a user who has just given these proofs, always with a new cookie value. If the browser showed the live
   * secret of a session of the same user, that session continues under a new secret with these proofs only. A session
   * of another user ends.
   */
  start(
    userId: string,
    methods: AuthenticationProof[],
    browser: Pick<Browser, 'cookie' | 'session' | 'origin'>
  ): Promise<StartedSession>
  /**
   * Replaces the proofs of this browser's session, under a new secret. Returns `null` if the session has ended or its
   * secret was replaced meanwhile. No new session begins then, because a running request must not outlive the end of
   * all sign-ins of its user.
   */
  renew(methods: AuthenticationProof[], browser: Pick<Browser, 'cookie' | 'session'>): Promise<StartedSession | null>
  /**
   * Prepares the sign-in `sid` to stay when all others of its user end, with a new secret for the session of this
   * browser. Calls `replaced` with the new cookie each time that the new secret may have replaced the former secret.
   */
  stay(sid: string, browser: Pick<Browser, 'cookie'>, replaced: (cookie: string) => void): StayingSignIn
  /** Counts a use, by `clientId` if a client takes part. Returns `false` if the session has ended meanwhile. */
  use(session: OpenSession, clientId?: string): Promise<boolean>
  /** The use as a value, for a store operation that commits it together with another change. */
  useOf(session: OpenSession, clientId?: string): SessionUse
}

interface StartedSession {
  session: OpenSession
  cookie: string
}

interface BrowserSessionPolicy {
  /**
   * Absolute lifetime, counted from the oldest proof of the session. A new sign-in restarts it, a second factor does
   * not.
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
      // A session is renewed only by its live secret. If another tab has replaced the secret meanwhile, the sign-in
      // gets a session of its own, because anyone may hold the replaced secret.
      const renewed = isTheirs ? await renew(methods, browser) : null
      if (renewed !== null) return renewed
      // Ends the session of the other user first, so that the browser keeps it if this fails.
      if (former !== null && !isTheirs)
        await sessions.revokeBrowserSession(former.userId, former.sid, 'user', { origin })
      // Makes the id here instead of taking it from a cookie, so that a planted cookie names no session. @see ASVS
      // 7.2.4
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
        userAgent: origin.userAgent ?? null,
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

/** One sign-in of a user. `revokeSession` takes its `id`, and its access tokens or ID tokens contain it as `sid`. */
export interface Session {
  id: string
  /** `browser`: a session of the hosted pages; `token`: the tokens that one device was given. */
  kind: 'browser' | 'token'
  /** `null` for a browser session. */
  clientId: string | null
  /** Granted scope, space separated; `''` for a browser session. */
  scope: string
  userAgent: string | null
  createdAt: Date
  lastUsedAt: Date
  /** The time at which the sign-in ends if it is not used again. */
  expiresAt: Date
}

/** A user's sign-ins of both kinds that are alive now, newest first. */
export async function listSessions(
  userId: string,
  sessions: Pick<Sessions, 'list' | 'listBrowserSessions'>
): Promise<Session[]> {
  const [families, browserSessions] = await Promise.all([sessions.list(userId), sessions.listBrowserSessions(userId)])
  return [
    ...families.map((family): Session => ({
      id: family.sid,
      kind: 'token',
      clientId: family.clientId,
      scope: family.scope,
      ...commonFields(family)
    })),
    ...browserSessions.map((session): Session => ({
      id: session.sid,
      kind: 'browser',
      clientId: null,
      scope: '',
      ...commonFields(session)
    }))
  ].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
}

function commonFields({
  userAgent,
  createdAt,
  lastUsedAt,
  expiresAt,
  idleExpiresAt
}: RefreshTokenFamily | BrowserSession): Pick<Session, 'userAgent' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> {
  return {
    userAgent,
    createdAt: new Date(createdAt),
    lastUsedAt: new Date(lastUsedAt),
    expiresAt: new Date(Math.min(expiresAt, idleExpiresAt))
  }
}
