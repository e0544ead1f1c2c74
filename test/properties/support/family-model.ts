import { deepEqual, ok } from 'node:assert/strict'
import type {
  CodeRedemption,
  NewAuthorizationCode,
  NewRefreshTokenFamily,
  RefreshTokenFamily,
  ReplacedToken,
  RotationUndo,
  Successor,
  TokenUse
} from '../../../lib/ports/token-store.ts'
import { anything, type Expectation, is, rejected } from './histories.ts'

/** A model of a `TokenStore`, written from the port's prose and without regard to speed. */
export interface World {
  entries: Entry[]
}

interface Entry {
  family: RefreshTokenFamily
  codeDigest: string | null
  /** `null`: an unredeemed code. */
  current: string | null
  replaced: ReplacedToken | null
  holders: number
}

const isAlive = ({ family }: Entry, now: number): boolean => now < family.expiresAt && now < family.idleExpiresAt
const find = ({ entries }: World, sid: string, now: number): Entry | undefined =>
  entries.find((entry) => entry.family.sid === sid && isAlive(entry, now))
const findFamily = (world: World, sid: string, now: number): Entry | undefined =>
  [find(world, sid, now)].find((entry) => entry?.current !== null)
const remove = (world: World, ended: Entry): void => {
  world.entries = world.entries.filter((entry) => entry !== ended)
}
const kindOf = ({ current, family }: Entry): string =>
  current === null ? 'code' : family.offline ? 'offline' : 'online'

/** The maximum number of each kind per user in the tested stores. */
export const MAX_PER_USER = 3

/** Ends the oldest of this kind if the user has more than the maximum. */
function bound(world: World, kept: Entry, now: number): void {
  const others = world.entries.filter(
    (entry) =>
      entry !== kept &&
      entry.family.userId === kept.family.userId &&
      kindOf(entry) === kindOf(kept) &&
      isAlive(entry, now)
  )
  for (const entry of others
    .toSorted((one, other) => other.family.createdAt - one.family.createdAt)
    .slice(MAX_PER_USER - 1))
    remove(world, entry)
}

function add(world: World, entry: Entry, answer?: true): Expectation {
  if (find(world, entry.family.sid, entry.family.createdAt) !== undefined) return rejected
  world.entries.push(entry)
  bound(world, entry, entry.family.createdAt)
  return is(answer)
}

const isReplaced = ({ replaced }: Entry, use: Pick<TokenUse, 'digest' | 'now' | 'graceMs'>): boolean =>
  replaced !== null && replaced.digest === use.digest && use.graceMs > 0 && use.now - replaced.rotatedAt <= use.graceMs

/** The common part of both ways to present a token: `null` if the token is good, else the answer. */
function refused(world: World, use: TokenUse): Expectation | null {
  const entry = findFamily(world, use.sid, use.now)
  if (entry === undefined || (use.clientId !== undefined && use.clientId !== entry.family.clientId))
    return is({ outcome: 'unknown' })
  if (entry.current === use.digest || isReplaced(entry, use)) return null
  remove(world, entry)
  return is({ outcome: 'replayed', family: entry.family })
}

function touched(entry: Entry, use: TokenUse): RefreshTokenFamily {
  entry.family = {
    ...entry.family,
    lastUsedAt: use.now,
    idleExpiresAt: Math.min(use.idleExpiresAt, entry.family.expiresAt)
  }
  return entry.family
}

/** Ends live families. Expired families may be reported or not, because a store removes them at any time. */
function endThose(world: World, now: number, doesEnd: (entry: Entry) => boolean): Expectation {
  const ended = world.entries.filter(doesEnd)
  for (const entry of ended) remove(world, entry)
  return (actual) => {
    ok(Array.isArray(actual))
    const expired = new Set(ended.filter((entry) => !isAlive(entry, now)).map(({ family }) => family.sid))
    deepEqual(
      (actual as string[]).filter((sid) => !expired.has(sid)).toSorted(),
      ended
        .map(({ family }) => family.sid)
        .filter((sid) => !expired.has(sid))
        .toSorted()
    )
  }
}

/** Each method of the port. */
export const FAMILIES = {
  createFamily(world: World, _now: number, { tokenDigest, ...family }: NewRefreshTokenFamily): Expectation {
    return add(world, { family, codeDigest: null, current: tokenDigest, replaced: null, holders: 0 })
  },

  createCode(world: World, _now: number, { codeDigest, codeExpiresAt, ...code }: NewAuthorizationCode): Expectation {
    return add(
      world,
      {
        family: {
          ...code,
          lastUsedAt: code.createdAt,
          expiresAt: codeExpiresAt,
          idleExpiresAt: codeExpiresAt,
          userAgent: null
        },
        codeDigest,
        current: null,
        replaced: null,
        holders: 0
      },
      true
    )
  },

  redeemCode(world: World, _now: number, asked: CodeRedemption): Expectation {
    const entry = find(world, asked.sid, asked.now)
    if (entry === undefined || entry.codeDigest === null || entry.family.clientId !== asked.clientId)
      return is({ outcome: 'unknown' })
    if (entry.current !== null || entry.codeDigest !== asked.digest) {
      remove(world, entry)
      return is({ outcome: 'replayed', family: entry.family })
    }
    const [expiresAt, idleExpiresAt] = entry.family.offline
      ? [asked.expiresAt, asked.idleExpiresAt]
      : [asked.onlineExpiresAt, asked.onlineExpiresAt]
    entry.current = asked.tokenDigest
    entry.family = { ...entry.family, lastUsedAt: asked.now, expiresAt, idleExpiresAt, userAgent: asked.userAgent }
    bound(world, entry, asked.now)
    return is({ outcome: 'redeemed', family: entry.family })
  },

  findFamily: (world: World, _now: number, sid: string, now: number): Expectation =>
    is(findFamily(world, sid, now)?.family ?? null),

  peekToken(world: World, _now: number, use: Pick<TokenUse, 'sid' | 'digest' | 'now' | 'graceMs'>): Expectation {
    const entry = findFamily(world, use.sid, use.now)
    return is(entry !== undefined && (entry.current === use.digest || isReplaced(entry, use)) ? entry.family : null)
  },

  useToken(world: World, _now: number, use: TokenUse): Expectation {
    return (
      refused(world, use) ?? is({ outcome: 'used', family: touched(findFamily(world, use.sid, use.now) as Entry, use) })
    )
  },

  rotateToken(world: World, _now: number, use: TokenUse, next: Successor): Expectation {
    const refusal = refused(world, use)
    if (refusal !== null) return refusal
    const entry = findFamily(world, use.sid, use.now) as Entry
    if (entry.current === use.digest) {
      const undo = { sid: use.sid, digest: next.digest, replacedDigest: use.digest, former: entry.replaced }
      Object.assign(entry, {
        current: next.digest,
        replaced: { digest: use.digest, rotatedAt: use.now, sealed: next.sealed },
        holders: 1
      })
      return is({ outcome: 'rotated', family: touched(entry, use), undo })
    }
    if (entry.holders > 0) entry.holders += 1
    return is({
      outcome: 'repeated',
      family: entry.family,
      sealed: entry.replaced?.sealed,
      undo: { sid: use.sid, digest: entry.current, replacedDigest: use.digest, former: null }
    })
  },

  undoRotation(world: World, _now: number, { sid, digest, replacedDigest, former }: RotationUndo): Expectation {
    const entry = world.entries.find(({ family }) => family.sid === sid)
    if (entry !== undefined && entry.current === digest && entry.holders > 0) {
      entry.holders -= 1
      if (entry.holders === 0) Object.assign(entry, { current: replacedDigest, replaced: former })
    }
    return is(undefined)
  },

  revokeFamily(world: World, now: number, sid: string, userId?: string): Expectation {
    const entry = world.entries.find(
      ({ family }) => family.sid === sid && (userId === undefined || family.userId === userId)
    )
    if (entry === undefined) return is(false)
    remove(world, entry)
    return isAlive(entry, now) ? is(true) : anything
  },

  revokeFamiliesOfUser: (world: World, now: number, userId: string, exceptSid?: string): Expectation =>
    endThose(world, now, ({ family }) => family.userId === userId && family.sid !== exceptSid),

  /** This model has no browser sessions, only the families and codes of one. */
  revokeSession(world: World, now: number, userId: string, sessionSid: string, clientId?: string): Expectation {
    const expectSids = endThose(
      world,
      now,
      ({ family, current }) =>
        family.userId === userId &&
        family.sessionSid === sessionSid &&
        (current === null || !family.offline || family.clientId === clientId)
    )
    return (actual) => {
      const { session, sids } = actual as { session: unknown; sids: unknown }
      deepEqual(session, null)
      expectSids(sids)
    }
  },

  revokeFamiliesOfClient: (world: World, now: number, userId: string, clientId: string): Expectation =>
    endThose(world, now, ({ family }) => family.userId === userId && family.clientId === clientId),

  listFamiliesOfUser: (world: World, _now: number, userId: string, now: number): Expectation =>
    is(
      world.entries
        .filter((entry) => entry.family.userId === userId && entry.current !== null && isAlive(entry, now))
        .map(({ family }) => family)
        .toSorted((one, other) => other.createdAt - one.createdAt)
    )
}
