import type { AuthenticationProof } from '../protocol/authentication.ts'

/**
 * A browser session of the hosted pages: one person signed in in one browser. Its cookie is `<sessionId>.<secret>`.
 * `sid` is derived from `sessionId` (`sidOf`), and the store keeps only a digest of the secret. Times are milliseconds
 * since the epoch.
 */
export interface BrowserSession {
  /**
   * Public name of the session and the `sid` claim of ID tokens; begins with the user's partition. Not a credential.
   */
  sid: string
  userId: string
  /** The time of the user's last authentication in this session. */
  authenticatedAt: number
  /**
   * The proofs of the session: each method once, with its time. The session rests on all of them, not only the newest.
   */
  methods: AuthenticationProof[]
  createdAt: number
  lastUsedAt: number
  /** The absolute end. Use does not extend it; a new sign-in does. */
  expiresAt: number
  /** The end without further use, moved by every use. The session ends at the earlier of both. */
  idleExpiresAt: number
  userAgent: string | null
  /** The clients that took part, in the order of their first use. The end of the session is reported to them. */
  clientIds: string[]
}

export interface SessionUse {
  sid: string
  /** The digest of the secret in the session's cookie. */
  digest: string
  now: number
  /** The new `idleExpiresAt`, never beyond `expiresAt`. */
  idleExpiresAt: number
  /** A client that takes part in the session from now on. */
  clientId?: string
}

export interface SessionRenewal {
  sid: string
  userId: string
  /** The digest of the live secret, which is replaced. */
  formerDigest: string
  digest: string
  /** The new `lastUsedAt`. */
  now: number
  /** The time and the proofs of the new secret. Proofs under the former secret stay with that secret. */
  authenticatedAt: number
  methods: AuthenticationProof[]
  expiresAt: number
  idleExpiresAt: number
}

/** The session that stays when all other sessions of its user end. */
export interface StayingSession {
  sid: string
  /**
   * The live secret, which ends at once, and its successor with the same proofs. `null`: no browser can receive a new
   * secret, so no secret of the session works any more.
   */
  secret: { formerDigest: string; digest: string } | null
}

/**
 * The time for which a replaced secret still works, with its own proofs. Other tabs of the browser may have sent
 * requests with this secret before they got the new secret.
 */
export const REPLACED_SECRET_MS = 10_000

/** The number of secrets kept per session: the live secret, and the last secrets that were replaced. */
export const MAX_SECRETS = 4

/**
 * Browser sessions. Each secret of a session has its own proofs, and at most one secret is live. Every operation is
 * atomic across all instances. A method rejects during an outage. An ended session counts as missing. `revokeSession`
 * of the token store ends one session together with its codes and families.
 */
export interface SessionStore {
  /** Adds a session. If the user then has more than `maxSessionsPerUser` sessions, the oldest session ends. */
  createSession(session: BrowserSession, digest: string): Promise<void>
  /**
   * The session if it is alive at `now`, with the proofs of the secret of this digest. That secret is the live one, or
   * was replaced less than `REPLACED_SECRET_MS` ago.
   */
  findSession(sid: string, digest: string, now: number): Promise<BrowserSession | null>
  /** Records a use of the session. `false`, and nothing is changed, if `findSession` would not find it. */
  useSession(use: SessionUse): Promise<boolean>
  /**
   * Gives the session a new live secret with proofs of its own, and sets both ends of the session. `false`, and nothing
   * is changed, unless `formerDigest` is the live secret of a live session of that user. So one of two parallel
   * renewals succeeds, and a replaced or unknown secret renews nothing.
   */
  renewSession(renewal: SessionRenewal): Promise<boolean>
  /**
   * Ends all sessions of the user except `stays`, and resolves to the ended sessions. The session that stays has only
   * the secret `stays.secret.digest` afterwards, or no working secret if `stays.secret` is `null`. With a secret, the
   * session ends too if its live secret is neither `formerDigest` nor `digest`.
   */
  revokeSessionsOfUser(userId: string, stays?: StayingSession): Promise<BrowserSession[]>
  /** The user's sessions that are alive at `now`, newest first, each with the proofs of its newest secret. */
  listSessionsOfUser(userId: string, now: number): Promise<BrowserSession[]>
}
