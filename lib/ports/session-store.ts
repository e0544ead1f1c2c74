import type { AuthenticationProof } from '../protocol/authentication.ts'

/**
 * A browser session of the hosted pages: one person signed in in one browser. Its cookie is `<sessionId>.<secret>`;
 * `sid` is the digest of the first part, and only a digest of the second is kept. Times are milliseconds since the
 * epoch.
 */
export interface BrowserSession {
  /**
   * Public name of the session and the `sid` claim of ID tokens; begins with the user's partition. Not a credential.
   */
  sid: string
  userId: string
  /** When the user last proved who they are. */
  authenticatedAt: number
  /** How they did, each method once with its time: what was proved last is not all that a session rests on. */
  methods: AuthenticationProof[]
  createdAt: number
  lastUsedAt: number
  /** Absolute end: no use moves it, a new sign-in does. */
  expiresAt: number
  /** Moves with every use; the session ends at the earlier of both. */
  idleExpiresAt: number
  userAgent: string | null
  /** The clients that took part, in the order they came: who has to hear of its end. */
  clientIds: string[]
}

export interface SessionUse {
  sid: string
  /** The digest of the secret by which the session is used. */
  digest: string
  now: number
  /** The new `idleExpiresAt`, never beyond `expiresAt`. */
  idleExpiresAt: number
  /** The client that takes part from now on. */
  clientId?: string
}

export interface SessionRenewal {
  sid: string
  userId: string
  /** The digest of the live secret, which is replaced. */
  formerDigest: string
  digest: string
  /** Becomes `lastUsedAt`. */
  now: number
  /** Of the new secret, like `methods`: what was proved with the former one stays with that. */
  authenticatedAt: number
  methods: AuthenticationProof[]
  expiresAt: number
  idleExpiresAt: number
}

/** The session that stays when all others of its user end. */
export interface StayingSession {
  sid: string
  /**
   * The live secret, which dies at once, and the one that takes its place with the same proofs. `null`: nobody can be
   * given a new secret, so no secret of the session works any more.
   */
  secret: { formerDigest: string; digest: string } | null
}

/**
 * How long a replaced secret goes on working, with its own proofs, for what another tab of the browser has sent
 * already.
 */
export const REPLACED_SECRET_MS = 10_000

/** How many secrets of one session are kept: the live one and those that were replaced last. */
export const MAX_SECRETS = 4

/**
 * Browser sessions. Each secret of a session has its own proofs, and one secret is live at most. Every operation is
 * atomic across all instances. Outages reject. An ended session is as one that never was. One session ends by
 * `revokeSession` of the token store, together with what hangs on it.
 */
export interface SessionStore {
  /** At most `maxSessionsPerUser` stay; one more ends the one created first. */
  createSession(session: BrowserSession, digest: string): Promise<void>
  /**
   * The session if it is alive at `now`, with the proofs of the secret of this digest. That secret is the live one, or
   * was replaced less than `REPLACED_SECRET_MS` ago.
   */
  findSession(sid: string, digest: string, now: number): Promise<BrowserSession | null>
  /** Counts as a use. `false`, and nothing is changed, if `findSession` would not find it. */
  useSession(use: SessionUse): Promise<boolean>
  /**
   * Gives the session a new live secret with proofs of its own, and starts its lifetimes again. `false`, and nothing is
   * changed, unless `formerDigest` is the live secret of a live session of that user. So of two parallel renewals one
   * succeeds, and a replaced or unknown secret renews nothing.
   */
  renewSession(renewal: SessionRenewal): Promise<boolean>
  /**
   * Ends all of the user's but `stays`; resolves to those it ended. The session that stays has no secret afterwards but
   * `stays.secret.digest`. It ends too where neither that nor `formerDigest` is its live secret.
   */
  revokeSessionsOfUser(userId: string, stays?: StayingSession): Promise<BrowserSession[]>
  /** Alive at `now`, newest first, each with the proofs of its newest secret. */
  listSessionsOfUser(userId: string, now: number): Promise<BrowserSession[]>
}
