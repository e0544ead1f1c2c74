import { deepEqual, ok } from 'node:assert/strict'
import {
  MAX_SECRETS,
  type BrowserSession,
  type SessionRenewal,
  type SessionUse
} from '../../../lib/ports/session-store.ts'
import { anything, type Expectation, is, rejected } from './histories.ts'

/** What browser sessions should be, by the prose of their port. */
export interface SessionWorld {
  entries: Entry[]
}

interface Entry {
  session: BrowserSession
  /** Of the secrets that work, oldest first. */
  digests: string[]
}

/** How many browsers a user may be signed in with in the stores that are looked at. */
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
    world.entries.push({ session: { ...session }, digests: [digest] })
    return is(undefined)
  },

  findSession(world: SessionWorld, _now: number, sid: string, digest: string, now: number): Expectation {
    const entry = find(world, sid, now)
    return is(entry?.digests.includes(digest) === true ? entry.session : null)
  },

  useSession(world: SessionWorld, _now: number, { sid, now, idleExpiresAt, clientId }: SessionUse): Expectation {
    const entry = find(world, sid, now)
    if (entry === undefined) return is(false)
    const { expiresAt, clientIds } = entry.session
    Object.assign(entry.session, {
      lastUsedAt: now,
      idleExpiresAt: Math.min(idleExpiresAt, expiresAt),
      clientIds: clientId === undefined ? clientIds : [...new Set([...clientIds, clientId])]
    })
    return is(true)
  },

  /** Of the codes nothing is known here but whether there is one. */
  createCode: (world: SessionWorld, now: number, _code: unknown, use: SessionUse): Expectation =>
    SESSIONS.useSession(world, now, use),

  renewSession(
    world: SessionWorld,
    _now: number,
    { sid, userId, formerDigest, digest, now, methods, expiresAt, idleExpiresAt }: SessionRenewal
  ): Expectation {
    const entry = find(world, sid, now)
    if (entry === undefined || entry.session.userId !== userId) return is(false)
    entry.digests = [...entry.digests.filter((live) => live !== formerDigest), digest].slice(-MAX_SECRETS)
    Object.assign(entry.session, { authenticatedAt: now, lastUsedAt: now, methods, expiresAt, idleExpiresAt })
    return is(true)
  },

  /** What has expired may be named or not, for a store removes it when it likes. */
  revokeSession(world: SessionWorld, now: number, userId: string, sid: string): Expectation {
    const entry = world.entries.find(({ session }) => session.userId === userId && session.sid === sid)
    if (entry !== undefined) remove(world, entry)
    if (entry !== undefined && !isSessionAlive(entry.session, now)) return anything
    return (actual) => {
      deepEqual((actual as { session: unknown }).session, entry?.session ?? null)
    }
  },

  revokeSessionsOfUser(world: SessionWorld, now: number, userId: string, exceptSid?: string): Expectation {
    const ended = world.entries.filter(({ session }) => session.userId === userId && session.sid !== exceptSid)
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
