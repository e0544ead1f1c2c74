import { deepEqual, ok } from 'node:assert/strict'
import {
  MAX_SECRETS,
  REPLACED_SECRET_MS,
  type BrowserSession,
  type SessionRenewal,
  type SessionUse,
  type StayingSession
} from '../../../lib/ports/session-store.ts'
import { anything, type Expectation, is, rejected } from './histories.ts'

/** A model of browser sessions, by the prose of their port. */
export interface SessionWorld {
  entries: Entry[]
}

interface Secret {
  digest: string
  proved: Pick<BrowserSession, 'authenticatedAt' | 'methods'>
  replacedAt: number | null
}

interface Entry {
  session: BrowserSession
  /** The oldest is first. At most one is live. */
  secrets: Secret[]
}

/** The maximum number of browser sessions of a user in the tested stores. */
export const MAX_SESSIONS = 3

export const isSessionAlive = ({ expiresAt, idleExpiresAt }: BrowserSession, now: number): boolean =>
  now < expiresAt && now < idleExpiresAt
const find = ({ entries }: SessionWorld, sid: string, now: number): Entry | undefined =>
  entries.find(({ session }) => session.sid === sid && isSessionAlive(session, now))
const remove = (world: SessionWorld, ended: Entry): void => {
  world.entries = world.entries.filter((entry) => entry !== ended)
}
const bySid = (sessions: readonly BrowserSession[]): BrowserSession[] =>
  sessions.toSorted((one, other) => (one.sid < other.sid ? -1 : 1))

const secretIn = ({ secrets }: Entry, wanted: string, now: number): Secret | undefined =>
  secrets.find(
    ({ digest, replacedAt }) => digest === wanted && (replacedAt === null || now < replacedAt + REPLACED_SECRET_MS)
  )
/** True if the session is the one to keep, with its live secret or without a secret. */
function keepsOne(entry: Entry, { secret }: StayingSession): boolean {
  const live = entry.secrets.find(({ replacedAt }) => replacedAt === null)
  if (secret !== null && live?.digest !== secret.formerDigest && live?.digest !== secret.digest) return false
  entry.secrets = secret === null || live === undefined ? [] : [{ ...live, digest: secret.digest }]
  return true
}

/** Each method of the port, and the methods of the token store that begin with a use of a session, or end one. */
export const SESSIONS = {
  createSession(world: SessionWorld, _now: number, session: BrowserSession, digest: string): Expectation {
    if (find(world, session.sid, session.createdAt) !== undefined) return rejected
    const others = world.entries.filter(
      (entry) => entry.session.userId === session.userId && isSessionAlive(entry.session, session.createdAt)
    )
    for (const entry of others
      .toSorted((one, other) => other.session.createdAt - one.session.createdAt)
      .slice(MAX_SESSIONS - 1))
      remove(world, entry)
    const { authenticatedAt, methods } = session
    world.entries.push({
      session: { ...session },
      secrets: [{ digest, proved: { authenticatedAt, methods }, replacedAt: null }]
    })
    return is(undefined)
  },

  findSession(world: SessionWorld, _now: number, sid: string, digest: string, now: number): Expectation {
    const entry = find(world, sid, now)
    const secret = entry === undefined ? undefined : secretIn(entry, digest, now)
    return is(entry === undefined || secret === undefined ? null : { ...entry.session, ...secret.proved })
  },

  useSession(
    world: SessionWorld,
    _now: number,
    { sid, digest, now, idleExpiresAt, clientId }: SessionUse
  ): Expectation {
    const entry = find(world, sid, now)
    if (entry === undefined || secretIn(entry, digest, now) === undefined) return is(false)
    const { expiresAt, clientIds } = entry.session
    Object.assign(entry.session, {
      lastUsedAt: now,
      idleExpiresAt: Math.min(idleExpiresAt, expiresAt),
      clientIds: clientId === undefined ? clientIds : [...new Set([...clientIds, clientId])]
    })
    return is(true)
  },

  /** The model of a code contains only its existence. */
  createCode: (world: SessionWorld, now: number, _code: unknown, use: SessionUse): Expectation =>
    SESSIONS.useSession(world, now, use),

  renewSession(
    world: SessionWorld,
    _now: number,
    { sid, userId, formerDigest, digest, now, authenticatedAt, methods, expiresAt, idleExpiresAt }: SessionRenewal
  ): Expectation {
    const entry = find(world, sid, now)
    if (entry === undefined || entry.session.userId !== userId) return is(false)
    const live = entry.secrets.find(({ replacedAt }) => replacedAt === null)
    if (live?.digest !== formerDigest) return is(false)
    live.replacedAt = now
    const proved = { authenticatedAt, methods }
    entry.secrets = [...entry.secrets, { digest, proved, replacedAt: null }].slice(-MAX_SECRETS)
    Object.assign(entry.session, { ...proved, lastUsedAt: now, expiresAt, idleExpiresAt })
    return is(true)
  },

  /** An expired session may be listed or not, because a store removes it at any time. */
  revokeSession(world: SessionWorld, now: number, userId: string, sid: string): Expectation {
    const entry = world.entries.find(({ session }) => session.userId === userId && session.sid === sid)
    if (entry !== undefined) remove(world, entry)
    if (entry !== undefined && !isSessionAlive(entry.session, now)) return anything
    return (actual) => {
      deepEqual((actual as { session: unknown }).session, entry?.session ?? null)
    }
  },

  revokeSessionsOfUser(world: SessionWorld, now: number, userId: string, stays?: StayingSession): Expectation {
    const ended = world.entries.filter(
      (entry) => entry.session.userId === userId && !(entry.session.sid === stays?.sid && keepsOne(entry, stays))
    )
    for (const entry of ended) remove(world, entry)
    const expired = new Set(
      ended.filter(({ session }) => !isSessionAlive(session, now)).map(({ session }) => session.sid)
    )
    const living = (sessions: readonly BrowserSession[]): BrowserSession[] =>
      bySid(sessions).filter(({ sid }) => !expired.has(sid))
    return (actual) => {
      ok(Array.isArray(actual))
      deepEqual(living(actual as BrowserSession[]), living(ended.map(({ session }) => session)))
    }
  },

  listSessionsOfUser: (world: SessionWorld, _now: number, userId: string, now: number): Expectation =>
    is(
      world.entries
        .map(({ session }) => session)
        .filter((session) => session.userId === userId && isSessionAlive(session, now))
        .toSorted((one, other) => other.createdAt - one.createdAt)
    )
}
