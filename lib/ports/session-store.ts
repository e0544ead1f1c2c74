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
  now: number
  /** The new `idleExpiresAt`, never beyond `expiresAt`. */
  idleExpiresAt: number
  /** The client that takes part from now on. */
  clientId?: string
}

export interface SessionRenewal {
  sid: string
  userId: string
  /** The digest of the secret that ends. */
  formerDigest: string
  digest: string
  /** Becomes `authenticatedAt` and `lastUsedAt`. */
  now: number
  /** Take the place of those that the session had. */
  methods: AuthenticationProof[]
  expiresAt: number
  idleExpiresAt: number
}

/**
 * How many secrets of one session work at once. Parallel sign-ins in one browser leave one each; the cookie holds the
 * last, so few are ever of use.
 */
export const MAX_SECRETS = 4

/**
 * Browser sessions. Every operation is atomic across all instances. Outages reject. An ended session is as one that
 * never was. One session ends by `revokeSession` of the token store, together with what hangs on it.
 */
export interface SessionStore {
  /** At most `maxSessionsPerUser` stay; one more ends the one created first. */
  createSession(session: BrowserSession, digest: string): Promise<void>
  /** The session if it is alive at `now` and `digest` is one of its secrets'. */
  findSession(sid: string, digest: string, now: number): Promise<BrowserSession | null>
  /** Counts as a use. `false`, and nothing is changed, if it is not alive. */
  useSession(use: SessionUse): Promise<boolean>
  /**
   * The user proved again who they are: a new secret takes the former's place, and the lifetimes begin anew. Of two
   * parallel ones both new secrets work, and the former no longer does; the newest four work. `false`, and nothing is
   * changed, if that user's session is not alive.
   */
  renewSession(renewal: SessionRenewal): Promise<boolean>
  /** Ends all of the user's but `exceptSid`; resolves to those it ended. */
  revokeSessionsOfUser(userId: string, exceptSid?: string): Promise<BrowserSession[]>
  /** Alive at `now`, newest first. */
  listSessionsOfUser(userId: string, now: number): Promise<BrowserSession[]>
}
