import {
  type BrowserSession,
  MAX_SECRETS,
  REPLACED_SECRET_MS,
  type SessionRenewal,
  type SessionUse,
  type StayingSession
} from '../ports/session-store.ts'
import { rowOf, sessionKey, type View } from './view.ts'
import { type Entry, generationIn, indexIn, recordKeyOf } from './user-index.ts'

type Proved = Pick<BrowserSession, 'authenticatedAt' | 'methods'>

/** A secret of a session, with the proofs of its sign-in. */
interface Secret extends Proved {
  digest: string
  /** The time of its replacement. `null`: the secret is live. `NEVER_AGAIN`: the secret no longer works. */
  replacedAt: number | null
}

/** A browser session and its secrets, oldest first. It has at least one secret. */
interface Held {
  session: Omit<BrowserSession, keyof Proved>
  secrets: Secret[]
}

const NEVER_AGAIN = 0

type PackedSecret = [digest: string, authenticatedAt: number, methods: BrowserSession['methods'], at: number | null]

type PackedSession = [
  userId: string,
  createdAt: number,
  lastUsedAt: number,
  expiresAt: number,
  idleExpiresAt: number,
  userAgent: string | null,
  clientIds: string[],
  generation: string,
  secrets: PackedSecret[]
]

const copiesOf = (methods: BrowserSession['methods']): BrowserSession['methods'] =>
  methods.map((proof) => structuredClone(proof))

const pack = ({ session, secrets }: Held, generation: string): PackedSession => [
  session.userId,
  session.createdAt,
  session.lastUsedAt,
  session.expiresAt,
  session.idleExpiresAt,
  session.userAgent,
  [...session.clientIds],
  generation,
  secrets.map(({ digest, authenticatedAt, methods, replacedAt }) => [
    digest,
    authenticatedAt,
    copiesOf(methods),
    replacedAt
  ])
]

function unpack(sid: string, packed: PackedSession): Held {
  const [userId, createdAt, lastUsedAt, expiresAt, idleExpiresAt, userAgent, clientIds, , secrets] = packed
  const session = {
    sid,
    userId,
    createdAt,
    lastUsedAt,
    expiresAt,
    idleExpiresAt,
    userAgent,
    clientIds: [...clientIds]
  }
  return {
    session,
    secrets: secrets.map(([digest, authenticatedAt, methods, replacedAt]) => ({
      digest,
      authenticatedAt,
      methods: copiesOf(methods),
      replacedAt
    }))
  }
}

/** The session with the proofs of this secret. */
function shownBy({ session }: Held, { authenticatedAt, methods }: Proved): BrowserSession {
  return { ...session, authenticatedAt, methods }
}

/** The session with the proofs of its newest secret. */
const newestOf = (held: Held): BrowserSession => shownBy(held, held.secrets.at(-1) as Secret)

/** `null` if the record is missing or damaged. */
const packedIn = (record: unknown): PackedSession | null => rowOf<PackedSession>(record, 9)

const EXPIRES_AT = 3
const IDLE_EXPIRES_AT = 4
const GENERATION_AT = 7

const isSessionAliveAt =
  (now: number) =>
  (record: unknown): boolean => {
    const packed = packedIn(record)
    return packed !== null && now < packed[EXPIRES_AT] && now < packed[IDLE_EXPIRES_AT]
  }

const entryOf = ({ sid, createdAt, expiresAt }: Held['session']): Entry => ({
  sid,
  kind: 'session',
  createdAt,
  expiresAt,
  sessionSid: null,
  clientId: null
})

function stored(view: View, sid: string): Held | null {
  const record = packedIn(view.get(sessionKey(sid)))
  return record === null || record[GENERATION_AT] !== generationIn(view) ? null : unpack(sid, record)
}

function alive(view: View, sid: string, now: number): Held | null {
  return isSessionAliveAt(now)(view.get(sessionKey(sid))) ? stored(view, sid) : null
}

function put(view: View, held: Held): void {
  const { sid, userId, expiresAt, idleExpiresAt } = held.session
  view.put(sessionKey(sid), {
    kind: 'session',
    userId,
    value: pack(held, generationIn(view) ?? ''),
    expiresAt: Math.min(expiresAt, idleExpiresAt)
  })
}

/** @throws TypeError if the sid is taken */
export function createSession(view: View, session: BrowserSession, digest: string, max: number): void {
  const { sid, userId, createdAt } = session
  if (view.get(sessionKey(sid)) !== null) throw new TypeError('A session with this sid exists.')
  const index = indexIn(view, userId)
  const entry = entryOf(session)
  index.set(entry)
  index.bound(entry, max, createdAt, isSessionAliveAt(createdAt))
  // Writes the index first, because that creates the generation.
  index.save(createdAt)
  put(view, { session, secrets: [liveSecret(digest, session)] })
}

const liveSecret = (digest: string, { authenticatedAt, methods }: Proved): Secret => ({
  digest,
  authenticatedAt,
  methods,
  replacedAt: null
})

/** True if the secret is live, or was replaced less than `REPLACED_SECRET_MS` ago. */
const worksAt =
  (now: number) =>
  ({ replacedAt }: Secret): boolean =>
    replacedAt === null || now < replacedAt + REPLACED_SECRET_MS

/** The session with the secret of this digest, if both are alive. */
function opened(view: View, sid: string, digest: string, now: number): { held: Held; secret: Secret } | null {
  const held = alive(view, sid, now)
  const secret = held?.secrets.find((one) => one.digest === digest)
  return held === null || secret === undefined || !worksAt(now)(secret) ? null : { held, secret }
}

export function findSession(view: View, sid: string, digest: string, now: number): BrowserSession | null {
  const found = opened(view, sid, digest, now)
  return found === null ? null : shownBy(found.held, found.secret)
}

export function useSession(view: View, { sid, digest, now, idleExpiresAt, clientId }: SessionUse): boolean {
  const found = opened(view, sid, digest, now)
  if (found === null) return false
  const { held } = found
  const { session } = held
  const isNew = clientId !== undefined && !session.clientIds.includes(clientId)
  put(view, {
    ...held,
    session: {
      ...session,
      lastUsedAt: now,
      idleExpiresAt: Math.min(idleExpiresAt, session.expiresAt),
      clientIds: isNew ? [...session.clientIds, clientId] : session.clientIds
    }
  })
  return true
}

export function renewSession(view: View, renewal: SessionRenewal): boolean {
  const { sid, userId, formerDigest, digest, now, authenticatedAt, methods, expiresAt, idleExpiresAt } = renewal
  const found = opened(view, sid, formerDigest, now)
  if (found === null || found.held.session.userId !== userId || found.secret.replacedAt !== null) return false
  const index = indexIn(view, userId)
  // `indexIn` ends the session if the index was lost.
  if (alive(view, sid, now) === null) return false
  const session = { ...found.held.session, lastUsedAt: now, expiresAt, idleExpiresAt }
  index.set(entryOf(session))
  index.save(now)
  const replaced = found.held.secrets
    .filter(worksAt(now))
    .map((secret) => (secret.replacedAt === null ? { ...secret, replacedAt: now } : secret))
  put(view, { session, secrets: [...replaced, liveSecret(digest, { authenticatedAt, methods })].slice(-MAX_SECRETS) })
  return true
}

/**
 * Ends the user's session, as a part of `revokeSession`, and returns its former value. `null`: the user has no such
 * session, or only its index entry was left.
 */
export function endSession(view: View, userId: string, sid: string): BrowserSession | null {
  const held = stored(view, sid)
  if (held !== null && held.session.userId !== userId) return null
  const index = indexIn(view, userId)
  const entry = index.entries().find((one) => one.kind === 'session' && one.sid === sid)
  // Ends sessions that the index names even if their records are damaged or gone.
  if (held === null && entry === undefined) return null
  if (entry !== undefined) index.drop([entry])
  index.save()
  view.remove(sessionKey(sid))
  return held === null ? null : newestOf(held)
}

export function revokeSessionsOfUser(view: View, userId: string, stays?: StayingSession): BrowserSession[] {
  const index = indexIn(view, userId)
  const all = index.entries().filter(({ kind }) => kind === 'session')
  const records = view.all(all.map(recordKeyOf))
  const kept = all.find(({ sid }) => sid === stays?.sid && keepsOne(view, stays))
  const ended = all.flatMap((entry, at) => (entry === kept ? [] : [{ entry, record: packedIn(records[at]) }]))
  if (ended.length === 0) return []
  for (const { entry } of ended) view.remove(recordKeyOf(entry))
  index.drop(ended.map(({ entry }) => entry))
  index.save()
  return ended.flatMap(({ entry, record }) => (record === null ? [] : [newestOf(unpack(entry.sid, record))]))
}

/**
 * Keeps the session that stays, and replaces all its secrets by the new secret. `secret: null` makes all secrets stop
 * working. `false`: the session is gone, or the caller's secret is no longer live.
 */
function keepsOne(view: View, { sid, secret: next }: StayingSession): boolean {
  const held = stored(view, sid)
  if (held === null) return false
  if (next === null) {
    put(view, { ...held, secrets: held.secrets.slice(-1).map((one) => ({ ...one, replacedAt: NEVER_AGAIN })) })
    return true
  }
  const live = held.secrets.find(({ replacedAt }) => replacedAt === null)
  if (live === undefined || ![next.formerDigest, next.digest].includes(live.digest)) return false
  put(view, { ...held, secrets: [liveSecret(next.digest, live)] })
  return true
}

export function listSessionsOfUser(view: View, userId: string, now: number): BrowserSession[] {
  const entries = indexIn(view, userId)
    .entries()
    .filter(({ kind }) => kind === 'session')
  const records = view.all(entries.map(recordKeyOf))
  const isAlive = isSessionAliveAt(now)
  return entries
    .flatMap(({ sid }, at) => (isAlive(records[at]) ? [newestOf(unpack(sid, records[at] as PackedSession))] : []))
    .reverse()
    .sort((a, b) => b.createdAt - a.createdAt)
}
