import { type BrowserSession, MAX_SECRETS, type SessionRenewal, type SessionUse } from '../ports/session-store.ts'
import { sessionKey } from './keys.ts'
import { type Entry, generationIn, indexIn, recordKeyOf } from './user-index.ts'
import type { View } from './view.ts'

/** A browser session with the digests of the secrets that work, oldest first. */
interface Held {
  session: BrowserSession
  digests: string[]
}

type PackedSession = [
  userId: string,
  authenticatedAt: number,
  methods: BrowserSession['methods'],
  createdAt: number,
  lastUsedAt: number,
  expiresAt: number,
  idleExpiresAt: number,
  userAgent: string | null,
  clientIds: string[],
  generation: string,
  digests: string[]
]

const copiesOf = (methods: BrowserSession['methods']): BrowserSession['methods'] =>
  methods.map((proof) => structuredClone(proof))

const pack = ({ session, digests }: Held, generation: string): PackedSession => [
  session.userId,
  session.authenticatedAt,
  copiesOf(session.methods),
  session.createdAt,
  session.lastUsedAt,
  session.expiresAt,
  session.idleExpiresAt,
  session.userAgent,
  [...session.clientIds],
  generation,
  digests
]

function unpack(sid: string, packed: PackedSession): Held {
  const [userId, authenticatedAt, methods, createdAt, lastUsedAt, expiresAt, idleExpiresAt, ...rest] = packed
  const [userAgent, clientIds, , digests] = rest
  const session = {
    sid,
    userId,
    authenticatedAt,
    methods: copiesOf(methods),
    createdAt,
    lastUsedAt,
    expiresAt,
    idleExpiresAt,
    userAgent,
    clientIds: [...clientIds]
  }
  return { session, digests }
}

const EXPIRES_AT = 5
const IDLE_EXPIRES_AT = 6
const GENERATION_AT = 9

const isSessionAliveAt =
  (now: number) =>
  (record: unknown): boolean => {
    const packed = record as PackedSession | null
    return packed !== null && now < packed[EXPIRES_AT] && now < packed[IDLE_EXPIRES_AT]
  }

const entryOf = ({ sid, createdAt, expiresAt }: BrowserSession): Entry => ({
  sid,
  kind: 'session',
  createdAt,
  expiresAt,
  sessionSid: null,
  clientId: null
})

function stored(view: View, sid: string): Held | null {
  const record = view.get(sessionKey(sid)) as PackedSession | null
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

/** @throws TypeError where the sid is taken */
export function createSession(view: View, session: BrowserSession, digest: string, max: number): void {
  const { sid, userId, createdAt } = session
  if (view.get(sessionKey(sid)) !== null) throw new TypeError('A session with this sid exists.')
  const index = indexIn(view, userId)
  const entry = entryOf(session)
  index.set(entry)
  index.bound(entry, max, createdAt, isSessionAliveAt(createdAt))
  // The index first: it makes the generation.
  index.save(createdAt)
  put(view, { session, digests: [digest] })
}

export function findSession(view: View, sid: string, digest: string, now: number): BrowserSession | null {
  const held = alive(view, sid, now)
  return held?.digests.includes(digest) === true ? held.session : null
}

export function useSession(view: View, { sid, now, idleExpiresAt, clientId }: SessionUse): boolean {
  const held = alive(view, sid, now)
  if (held === null) return false
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
  const { sid, userId, formerDigest, digest, now, methods, expiresAt, idleExpiresAt } = renewal
  const before = alive(view, sid, now)
  if (before === null || before.session.userId !== userId) return false
  const index = indexIn(view, userId)
  // A lost index has just ended it.
  if (alive(view, sid, now) === null) return false
  const session = { ...before.session, authenticatedAt: now, methods, lastUsedAt: now, expiresAt, idleExpiresAt }
  index.set(entryOf(session))
  index.save(now)
  const digests = [...before.digests.filter((live) => live !== formerDigest), digest].slice(-MAX_SECRETS)
  put(view, { session, digests })
  return true
}

/** Ends that user's session, as a part of `revokeSession`; what it was. */
export function endSession(view: View, userId: string, sid: string): BrowserSession | null {
  const held = stored(view, sid)
  if (held === null || held.session.userId !== userId) return null
  const index = indexIn(view, userId)
  index.drop(new Set([sid]))
  index.save()
  view.remove(sessionKey(sid))
  return held.session
}

export function revokeSessionsOfUser(view: View, userId: string, exceptSid?: string): BrowserSession[] {
  const index = indexIn(view, userId)
  const entries = index.entries().filter(({ sid, kind }) => kind === 'session' && sid !== exceptSid)
  const records = view.all(entries.map(recordKeyOf))
  if (entries.length === 0) return []
  for (const entry of entries) view.remove(recordKeyOf(entry))
  index.drop(new Set(entries.map(({ sid }) => sid)))
  index.save()
  return entries.flatMap(({ sid }, at) =>
    records[at] === null ? [] : [unpack(sid, records[at] as PackedSession).session]
  )
}

export function listSessionsOfUser(view: View, userId: string, now: number): BrowserSession[] {
  const entries = indexIn(view, userId)
    .entries()
    .filter(({ kind }) => kind === 'session')
  const records = view.all(entries.map(recordKeyOf))
  const isAlive = isSessionAliveAt(now)
  return entries
    .flatMap(({ sid }, at) => (isAlive(records[at]) ? [unpack(sid, records[at] as PackedSession).session] : []))
    .reverse()
    .sort((a, b) => b.createdAt - a.createdAt)
}
