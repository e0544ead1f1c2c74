/**
 * Any history of calls on families and codes, one at a time and several at once, is answered by every store as the model says: memory,
 * SQLite, Redis and PostgreSQL. Of calls at once, the answers must be those of some order of them.
 */
import Database from 'libsql'
import * as fc from 'fast-check'
import t from 'tap'
import { memoryState } from '../../lib/adapters/memory/state.ts'
import { postgresState } from '../../lib/adapters/postgres/state.ts'
import { redisConnection } from '../../lib/adapters/redis/connection.ts'
import { namesUnder } from '../../lib/adapters/redis/names.ts'
import { redisTokenStore } from '../../lib/adapters/redis/token-store.ts'
import { sqliteState } from '../../lib/adapters/sqlite/state.ts'
import type { State } from '../../lib/ports/state.ts'
import type { RotationUndo } from '../../lib/ports/token-store.ts'
import { partitionOf } from '../../lib/protocol/partition.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { type Call, expect, MAX_PER_USER, type World } from './support/family-model.ts'
import { property } from './support/property.ts'
import { explained } from './support/worlds.ts'

const MINUTE = 60_000
const GRACE = 10_000
const T0 = Date.UTC(2026, 0, 1)

interface Made { sid: string, userId: string, digests: string[] }

/** What a history has brought about so far, to make the next calls of. */
interface History {
  worlds: World[]
  now: number
  users: string[]
  /** With every digest that was given to it, the newest last. */
  made: Made[]
  undos: RotationUndo[]
  outcomes: string[]
}

type MakeCall = (history: History) => Call

const CLIENTS = ['client-1', 'client-2'] as const
const SESSIONS = ['session-1', 'session-2', null] as const
const user = fc.nat(1)
const client = fc.constantFrom(...CLIENTS)
const session = fc.constantFrom(...SESSIONS)
/** Which of what was made, counted from the newest. */
const recent = fc.oneof({ arbitrary: fc.nat(2), weight: 4 }, fc.nat(8))

const lifetime = (now: number): { expiresAt: number, idleExpiresAt: number } => ({ expiresAt: now + 60 * MINUTE, idleExpiresAt: now + 30 * MINUTE })
const nthLast = <Item>(items: readonly Item[], at: number): Item | undefined => items[items.length - 1 - Math.min(at, items.length - 1)]
/** One that is alive and of this kind, where there is one; of high numbers any. */
function madeOf ({ made, users, worlds, now }: History, at: number, kind?: 'code' | 'family'): Made {
  const alive = worlds[0]?.entries.filter(({ family, current }) => now < Math.min(family.expiresAt, family.idleExpiresAt) && (kind === undefined || (current === null) === (kind === 'code')))
  const sids = new Set(alive?.map(({ family }) => family.sid))
  const of = at < 6 ? made.filter(({ sid }) => sids.has(sid)) : made
  return nthLast(of, at) ?? nthLast(made, at) ?? { sid: `${partitionOf(users[0] ?? '')}none`, userId: users[0] ?? '', digests: ['none'] }
}
const familyOf = ({ worlds }: History, sid: string): { clientId: string | null } => worlds[0]?.entries.find(({ family }) => family.sid === sid)?.family ?? { clientId: null }

/** A new family or code, and seldom one whose sid is taken. */
function created (history: History, user: number, isTaken: boolean): { sid: string, userId: string, digest: string } {
  const userId = history.users[user] ?? ''
  const taken = isTaken ? history.worlds[0]?.entries.at(-1)?.family : undefined
  if (taken !== undefined && history.now < Math.min(taken.expiresAt, taken.idleExpiresAt)) return { sid: taken.sid, userId: taken.userId, digest: 'taken' }
  const sid = `${partitionOf(userId)} ${userId} ${history.made.length}`
  history.made.push({ sid, userId, digests: [`${sid} first`] })
  // Of two that were created at the same time, it is nobody's matter which is the older one.
  history.now += 1
  return { sid, userId, digest: `${sid} first` }
}

const seldom = fc.integer({ min: 0, max: 15 }).map((number) => number === 0)
const createFamily = fc.record({ user, client: fc.constantFrom(...CLIENTS, null), session, offline: fc.boolean(), isTaken: seldom }).map(({ user, client, session, offline, isTaken }): MakeCall => (history) => {
  const { sid, userId, digest } = created(history, user, isTaken)
  const { now } = history
  return { method: 'createFamily', args: [{ sid, userId, clientId: client, scope: 'read', authenticatedAt: now, acr: 'password', amr: ['pwd'], createdAt: now, lastUsedAt: now, ...lifetime(now), userAgent: null, sessionSid: session, offline, authorization: null, tokenDigest: digest }] }
})
const createCode = fc.record({ user, client, session, offline: fc.boolean(), isTaken: seldom }).map(({ user, client, session, offline, isTaken }): MakeCall => (history) => {
  const { sid, userId, digest } = created(history, user, isTaken)
  const { now } = history
  return { method: 'createCode', args: [{ sid, userId, clientId: client, scope: 'read', authenticatedAt: now, acr: 'password', amr: ['pwd'], createdAt: now, sessionSid: session, offline, authorization: '{}', codeDigest: digest, codeExpiresAt: now + 10 * MINUTE }] }
})
const redeemCode = fc.record({ of: recent, wrong: fc.constantFrom('', '', '', '', '', 'digest', 'client') }).map(({ of, wrong }): MakeCall => (history) => {
  const { sid, digests } = madeOf(history, of, of % 3 === 2 ? 'family' : 'code')
  const clientId = wrong === 'client' ? 'client-x' : familyOf(history, sid).clientId ?? 'client-1'
  const { now } = history
  const tokenDigest = `${sid} ${digests.length} redeemed`
  digests.push(tokenDigest)
  return { method: 'redeemCode', args: [{ sid, digest: wrong === 'digest' ? 'wrong' : digests[0] ?? '', clientId, now, tokenDigest, ...lifetime(now), onlineExpiresAt: now + 15 * MINUTE, userAgent: 'agent' }] }
})

const presented = fc.record({ of: recent, digest: fc.oneof({ arbitrary: fc.constant('current'), weight: 10 }, { arbitrary: fc.constant('replaced'), weight: 6 }, fc.constantFrom('older', 'unknown')), graceMs: fc.constantFrom(0, GRACE, GRACE, GRACE, GRACE), client: fc.constantFrom('any', 'any', 'own', 'own', 'own', 'other', 'none') })
type Presented = typeof presented extends fc.Arbitrary<infer Value> ? Value : never
function useOf (history: History, { of, digest, graceMs, client }: Presented) {
  const { sid, digests } = madeOf(history, of, 'family')
  const entry = history.worlds[0]?.entries.find(({ family }) => family.sid === sid)
  const shown = digest === 'current' ? entry?.current : digest === 'replaced' ? entry?.replaced?.digest : digest === 'older' ? digests[0] : 'unknown'
  const clientId = client === 'own' ? familyOf(history, sid).clientId : client === 'other' ? 'client-x' : null
  return { sid, digest: shown ?? 'unknown', now: history.now, graceMs, idleExpiresAt: history.now + 30 * MINUTE, ...(client === 'any' ? {} : { clientId }) }
}
const useToken = presented.map((which): MakeCall => (history) => ({ method: 'useToken', args: [useOf(history, which)] }))
const peekToken = presented.map((which): MakeCall => (history) => {
  const { sid, digest, now, graceMs } = useOf(history, which)
  return { method: 'peekToken', args: [{ sid, digest, now, graceMs }] }
})
const rotateToken = presented.map((which): MakeCall => (history) => {
  const { digests } = madeOf(history, which.of, 'family')
  const use = useOf(history, which)
  const digest = `${use.sid} ${digests.length}`
  digests.push(digest)
  return { method: 'rotateToken', args: [use, { digest, sealed: `sealed ${digest}` }] }
})
const undo = (at: number): MakeCall => ({ undos }) => ({ method: 'undoRotation', args: [nthLast(undos, at) ?? { sid: 'none', digest: 'none', replacedDigest: 'none', former: null }] })
const undoRotation = recent.map(undo)
const findFamily = recent.map((of): MakeCall => (history) => ({ method: 'findFamily', args: [madeOf(history, of).sid, history.now] }))
const listFamilies = user.map((user): MakeCall => ({ users, now }) => ({ method: 'listFamiliesOfUser', args: [users[user] ?? '', now] }))
const revokeFamily = fc.record({ of: recent, whose: fc.constantFrom('', 'own', 'other') }).map(({ of, whose }): MakeCall => (history) => {
  const { sid, userId } = madeOf(history, of)
  return { method: 'revokeFamily', args: whose === '' ? [sid] : [sid, whose === 'own' ? userId : 'somebody'] }
})
const revokeOfUser = fc.record({ user, except: fc.option(recent) }).map(({ user, except }): MakeCall => (history) => ({ method: 'revokeFamiliesOfUser', args: except === null ? [history.users[user] ?? ''] : [history.users[user] ?? '', madeOf(history, except).sid] }))
const revokeOfSession = fc.record({ user, session: fc.constantFrom('session-1', 'session-2'), client: fc.option(client) }).map(({ user, session, client }): MakeCall => ({ users }) => ({ method: 'revokeSession', args: client === null ? [users[user] ?? '', session] : [users[user] ?? '', session, client] }))
const revokeOfClient = fc.record({ user, client }).map(({ user, client }): MakeCall => ({ users }) => ({ method: 'revokeFamiliesOfClient', args: [users[user] ?? '', client] }))

const anyCall = fc.oneof(
  { arbitrary: fc.oneof(createFamily, createCode), weight: 4 }, { arbitrary: redeemCode, weight: 3 }, { arbitrary: rotateToken, weight: 6 }, { arbitrary: fc.oneof(useToken, peekToken), weight: 2 },
  { arbitrary: undoRotation, weight: 3 }, { arbitrary: fc.oneof(findFamily, listFamilies), weight: 2 }, { arbitrary: fc.oneof(revokeFamily, revokeOfUser, revokeOfSession, revokeOfSession, revokeOfClient), weight: 2 }
)

type Store = Pick<State, 'kind' | 'tokens' | 'sweep'>
type Command = fc.AsyncCommand<History, Store>

/** These calls at once. */
const called = (makes: readonly MakeCall[]): Command => {
  let shown = 'not called'
  return {
    check: () => true,
    async run (history, { tokens }) {
      const calls = makes.map((make) => make(history))
      shown = calls.map(({ method, args }) => `${method}(${JSON.stringify(args).slice(1, -1)})`).join(' at once with ')
      const answers = await Promise.all(calls.map(async ({ method, args }) => await (tokens[method] as (...args: unknown[]) => Promise<unknown>)(...args).then((answer) => plain(answer), (error: unknown) => error)))
      history.worlds = explained(history.worlds, calls.length, (world, at) => { expect(world, calls[at] as Call, answers[at], history.now) })
      for (const answer of answers) {
        const { outcome, undo } = (answer ?? {}) as { outcome?: string, undo?: RotationUndo }
        if (undo !== undefined) history.undos.push(undo)
        if (outcome !== undefined) history.outcomes.push(outcome)
      }
    },
    toString: () => shown
  }
}

/** Without the prototype that a driver's rows may have, and without fields that are `undefined`. */
function plain (answer: unknown): unknown {
  return answer === undefined ? undefined : JSON.parse(JSON.stringify(answer)) as unknown
}

const passed = (ms: number): Command => ({ check: () => true, async run (history) { history.now += ms }, toString: () => `${ms} ms pass` })
const swept: Command = { check: () => true, async run (history, store) { await store.sweep(history.now) }, toString: () => 'sweep' }

/** Every history begins with something to do things to. */
const beginning = fc.array(fc.oneof({ arbitrary: createFamily, weight: 2 }, createCode), { minLength: 3, maxLength: 6 }).map((makes) => makes.map((make) => called([make])))
const histories = fc.commands([
  anyCall.map((make) => called([make])),
  anyCall.map((make) => called([make])),
  anyCall.map((make) => called([make])),
  fc.array(anyCall, { minLength: 2, maxLength: 3 }).map(called),
  // The same thing twice or thrice at once is where races are.
  fc.tuple(fc.oneof(rotateToken, redeemCode, revokeFamily, undoRotation), fc.integer({ min: 2, max: 3 })).map(([make, times]) => called(Array.from({ length: times }, () => make))),
  // All who got a successor give it back, or all but one.
  fc.constantFrom([0, 1], [1, 0], [0, 1, 2]).map((last) => called(last.map(undo))),
  fc.constantFrom(1, 1, GRACE, GRACE, GRACE + 1, MINUTE, 20 * MINUTE).map(passed),
  fc.constant(swept)
], { maxCommands: 60, size: 'max' })

const redis = await startRedis()
const postgres = await startPostgres()
t.teardown(() => Promise.all([redis.stop(), postgres.stop()]))
const max = { maxFamiliesPerUser: MAX_PER_USER }
const onPostgres = postgresState((await postgres.database()).pool({ max: 6 }), max)
await onPostgres.prepare()
// As `redisState` has it, but that a busy machine has all the time it needs.
const connection = redisConnection(redis.client(), { timeoutMs: 30_000 })
const onRedis = { kind: 'redis', tokens: redisTokenStore(connection, namesUnder('authority:'), MAX_PER_USER), sweep () {} }

const STORES: Array<[store: Store, share: number]> = [
  [memoryState(max), 0.2],
  [sqliteState(new Database(':memory:'), max), 0.1],
  [onRedis, 0.1],
  [onPostgres, 0.1]
]
let runs = 0
for (const [store, share] of STORES) {
  property(`every history of families and codes goes as the model says (${store.kind})`, [beginning, histories], { share, cases: ['rotated', 'repeated', 'replayed', 'redeemed', 'used', 'unknown'] }, async (first, then) => {
    runs += 1
    const history: History = { worlds: [{ entries: [] }], now: T0, users: [`ann-${runs}`, `bob-${runs}`], made: [], undos: [], outcomes: [] }
    await fc.asyncModelRun(() => ({ model: history, real: store }), [...first, ...then])
    return history.outcomes
  })
}
