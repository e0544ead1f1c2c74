import { MAX_SECRETS, type BrowserSession, type SessionStore, type SessionUse } from '../../ports/session-store.ts'
import { createRecords } from './records.ts'

interface Entry {
  session: BrowserSession
  /** The digests of the secrets that work, oldest first. */
  digests: string[]
}

export interface MemorySessionStore extends SessionStore {
  /** The synchronous form of `useSession`: `createCode` calls it so that the use and the code are made in one step. */
  useNow(use: SessionUse): boolean
  /** Ends that user's session, as a part of `revokeSession` of the token store; what it was, or `null`. */
  revokeNow(sid: string, userId: string): BrowserSession | null
  /** Every `sid`, to sweep by. */
  sids(): Iterable<string>
  /** Removes the session if it has ended at `now`. */
  sweepSession(sid: string, now: number): void
}

function copyOf({
  sid,
  userId,
  authenticatedAt,
  methods,
  createdAt,
  lastUsedAt,
  expiresAt,
  idleExpiresAt,
  userAgent,
  clientIds
}: BrowserSession): BrowserSession {
  return {
    sid,
    userId,
    authenticatedAt,
    methods: structuredClone(methods),
    createdAt,
    lastUsedAt,
    expiresAt,
    idleExpiresAt,
    userAgent,
    clientIds: [...clientIds]
  }
}

/** Browser sessions in memory. No method awaits before it has done its work: that is what makes each of them atomic. */
export function memorySessionStore(maxSessionsPerUser: number): MemorySessionStore {
  const entries = createRecords(({ session }: Entry) => session)

  function useNow({ sid, now, idleExpiresAt, clientId }: SessionUse): boolean {
    const session = entries.alive(sid, now)?.session
    if (session === undefined) return false
    session.lastUsedAt = now
    session.idleExpiresAt = Math.min(idleExpiresAt, session.expiresAt)
    if (clientId !== undefined && !session.clientIds.includes(clientId)) session.clientIds.push(clientId)
    return true
  }

  return {
    async createSession(session, digest) {
      const entry: Entry = { session: copyOf(session), digests: [digest] }
      entries.add(entry)
      entries.bound(entry, maxSessionsPerUser, session.createdAt)
    },

    async findSession(sid, digest, now) {
      const entry = entries.alive(sid, now)
      return entry?.digests.includes(digest) === true ? copyOf(entry.session) : null
    },

    useSession: async (use) => useNow(use),
    useNow,

    async renewSession({ sid, userId, formerDigest, digest, now, methods, expiresAt, idleExpiresAt }) {
      const entry = entries.alive(sid, now)
      if (entry === undefined || entry.session.userId !== userId) return false
      entry.digests = [...entry.digests.filter((live) => live !== formerDigest), digest].slice(-MAX_SECRETS)
      Object.assign(entry.session, {
        authenticatedAt: now,
        methods: structuredClone(methods),
        lastUsedAt: now,
        expiresAt,
        idleExpiresAt
      })
      return true
    },

    revokeNow(sid, userId) {
      const entry = entries.get(sid)
      if (entry === undefined || entry.session.userId !== userId) return null
      entries.remove(entry)
      return entry.session
    },

    async revokeSessionsOfUser(userId, exceptSid) {
      const ended = entries.ofUser(userId).filter(({ session }) => session.sid !== exceptSid)
      for (const entry of ended) entries.remove(entry)
      return ended.map(({ session }) => session)
    },

    async listSessionsOfUser(userId, now) {
      return entries.listOfUser(userId, now).map(({ session }) => copyOf(session))
    },

    sids: entries.sids,
    sweepSession(sid, now) {
      entries.alive(sid, now)
    }
  }
}
