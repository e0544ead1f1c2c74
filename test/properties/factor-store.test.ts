/**
 * Any history of calls on second factors is answered by every store as the model says: memory, SQLite, Redis and
 * PostgreSQL.
 */
import Database from 'libsql'
import * as fc from 'fast-check'
import t from '../support/tap.ts'
import { memoryFactorStore, memoryRecords } from '../../lib/adapters/memory/record-store.ts'
import { postgresRecords } from '../../lib/adapters/postgres/record-store.ts'
import { redisRecords } from '../../lib/adapters/redis/record-store.ts'
import { sqliteRecords } from '../../lib/adapters/sqlite/record-store.ts'
import type { FactorStore } from '../../lib/ports/factor-store.ts'
import type { RecordStore } from '../../lib/ports/record-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { digestOf, passkey, totp } from '../contract/suites/factor-fixtures.ts'
import { factorInstances, losingFactors } from '../support/factor-instances.ts'
import { startRedis } from '../support/redis-server.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'
import { FACTORS, type FactorWorld } from './support/factor-model.ts'
import { type CallOf, commandsOf, type History, nthLast, recent, seldom } from './support/histories.ts'
import { property } from './support/property.ts'

const MINUTE = 60_000
const T0 = Date.UTC(2026, 0, 1)
/** The number of wrong codes that disables an app. */
const MAX_FAILURES = 3

interface FactorHistory extends History<FactorWorld> {
  users: string[]
  /** The number of digests made so far. */
  digests: number
}
type MakeCall = (history: FactorHistory) => CallOf<typeof FACTORS>

const { called, passed, usual } = commandsOf<FactorWorld, FactorHistory, typeof FACTORS>(
  FACTORS,
  (history, { method }, answer) => {
    const { outcome = answer } = (answer ?? {}) as { outcome?: unknown }
    const isNamed = typeof outcome === 'string' && method !== 'claimHandle'
    const isNo = outcome === null || outcome === false || outcome === 0
    history.outcomes.push(`${method} ${isNamed ? outcome : isNo ? 'no' : 'yes'}`)
  }
)

/** Prefers the first user, because rare cases need many factors of one user. */
const user = fc.constantFrom(0, 0, 0, 1)
const userOf = ({ users }: FactorHistory, user: number): string => users[user] ?? ''
const heldBy = ({ worlds }: FactorHistory, userId: string): Partial<FactorWorld['users'][string]> =>
  worlds[0]?.users[userId] ?? {}
const idsOf = (history: FactorHistory, userId: string): string[] => {
  const { totp = [], passkeys = [] } = heldBy(history, userId)
  return [...totp, ...passkeys].toSorted((one, other) => one.createdAt - other.createdAt).map(({ id }) => id)
}
const newDigests = (history: FactorHistory, count: number): string[] =>
  Array.from({ length: count }, () => digestOf(`${history.users[0]} ${++history.digests}`))
const some = (one: number): fc.Arbitrary<number> => fc.oneof({ arbitrary: fc.constant(one), weight: 5 }, fc.nat(4))

const id = fc.constantFrom('a', 'b', 'c', 'd')
const limit = fc.constantFrom(0, 1, 2, 3, 3)
const codes = fc.constantFrom(0, 0, 2, 3)
const addTotp = fc.record({ user, id, limit, codes }).map(({ user, id, limit, codes }): MakeCall => (history) => ({
  method: 'addTotp',
  args: [
    {
      userId: userOf(history, user),
      factor: totp({ id, createdAt: history.now, lastStep: 10 }),
      limit,
      ...(codes === 0 ? {} : { recoveryDigests: newDigests(history, codes) })
    }
  ]
}))
const addPasskey = fc
  .record({
    user,
    id,
    credential: fc.constantFrom('x', 'y', 'z'),
    limit,
    codes,
    signCount: fc.constantFrom(0, 3),
    backupEligible: fc.boolean()
  })
  .map(({ user, id, credential, limit, codes, signCount, backupEligible }): MakeCall => (history) => ({
    method: 'addPasskey',
    args: [
      {
        userId: userOf(history, user),
        factor: passkey({ id, credentialId: credential, createdAt: history.now, signCount, backupEligible }),
        limit,
        ...(codes === 0 ? {} : { recoveryDigests: newDigests(history, codes) })
      }
    ]
  }))
const findFactors = user.map((user): MakeCall => (history) => ({
  method: 'findFactors',
  args: [userOf(history, user)]
}))
const findByHandle = fc
  .record({ user, credential: fc.constantFrom('x', 'y') })
  .map(({ user, credential }): MakeCall => (history) => {
    const userId = userOf(history, user)
    return {
      method: 'findByHandle',
      args: [heldBy(history, userId).handle ?? `${partitionOf(userId)}${digestOf('none')}`, credential]
    }
  })
const claimHandle = user.map((user): MakeCall => (history) => {
  const userId = userOf(history, user)
  return { method: 'claimHandle', args: [userId, `${partitionOf(userId)}${newDigests(history, 1)[0]}`] }
})
const useTotp = fc
  .record({
    user,
    of: recent,
    newer: fc.constantFrom(-1, 0, 1, 1, 1, 2),
    isSealedAnew: fc.boolean(),
    isKnown: fc.boolean()
  })
  .map(({ user, of, newer, isSealedAnew, isKnown }): MakeCall => (history) => {
    const userId = userOf(history, user)
    const app = nthLast(heldBy(history, userId).totp ?? [], of)
    return {
      method: 'useTotp',
      args: [
        {
          userId,
          factorId: app?.id ?? 'none',
          step: (app?.lastStep ?? 10) + newer,
          now: history.now,
          isKnown,
          ...(isSealedAnew ? { sealedSecret: `sealed ${history.now}` } : {})
        }
      ]
    }
  })
const usePasskey = fc
  .record({
    user,
    of: recent,
    more: fc.constantFrom(-1, 0, 1, 1),
    counts: fc.boolean(),
    backedUp: fc.boolean(),
    isClaimedBefore: fc.constantFrom(false, false, true)
  })
  .map(({ user, of, more, counts, backedUp, isClaimedBefore }): MakeCall => (history) => {
    const userId = userOf(history, user)
    const passkey = nthLast(heldBy(history, userId).passkeys ?? [], of)
    // No challenge lives as long as a history, so a claimed one is never claimed again.
    const [claim = ''] = isClaimedBefore ? [digestOf(`${history.users[0]} ${history.digests}`)] : newDigests(history, 1)
    return {
      method: 'usePasskey',
      args: [
        {
          userId,
          credentialId: passkey?.credentialId ?? 'none',
          claim,
          claimExpiresAt: T0 + 1000 * MINUTE,
          signCount: counts ? Math.max(0, (passkey?.signCount ?? 0) + more) : 0,
          backedUp,
          now: history.now
        }
      ]
    }
  })
const useRecoveryCode = fc
  .record({ user, at: some(0), isSpent: seldom })
  .map(({ user, at, isSpent }): MakeCall => (history) => {
    const userId = userOf(history, user)
    return {
      method: 'useRecoveryCode',
      args: [
        {
          userId,
          digest:
            (isSpent ? undefined : heldBy(history, userId).codes?.[at]) ??
            digestOf(`${history.users[0]} ${Math.max(1, history.digests - at)}`)
        }
      ]
    }
  })
const replaceCodes = fc.record({ user, codes }).map(({ user, codes }): MakeCall => (history) => ({
  method: 'replaceRecoveryCodes',
  args: [userOf(history, user), newDigests(history, codes)]
}))
const countFailure = user.map((user): MakeCall => (history) => ({
  method: 'countFailure',
  args: [{ userId: userOf(history, user), max: MAX_FAILURES }]
}))
const ofOne = fc.record({ user, of: recent, keepOne: fc.boolean(), name: fc.constantFrom('phone', null) })
const removeFactor = ofOne.map(({ user, of, keepOne }): MakeCall => (history) => {
  const userId = userOf(history, user)
  return {
    method: 'removeFactor',
    args: [{ userId, factorId: nthLast(idsOf(history, userId), of) ?? 'none', keepOne }]
  }
})
const renameFactor = ofOne.map(({ user, of, name }): MakeCall => (history) => {
  const userId = userOf(history, user)
  return { method: 'renameFactor', args: [{ userId, factorId: nthLast(idsOf(history, userId), of) ?? 'none', name }] }
})
const forgetDevices = user.map((user): MakeCall => (history) => ({
  method: 'forgetDevices',
  args: [userOf(history, user)]
}))
const removeAll = user.map((user): MakeCall => (history) => ({
  method: 'removeFactorsOfUser',
  args: [userOf(history, user)]
}))

const anyCall = fc.oneof(
  { arbitrary: fc.oneof(addTotp, addPasskey), weight: 8 },
  { arbitrary: useTotp, weight: 5 },
  { arbitrary: usePasskey, weight: 4 },
  { arbitrary: countFailure, weight: 4 },
  { arbitrary: useRecoveryCode, weight: 4 },
  { arbitrary: removeFactor, weight: 3 },
  { arbitrary: findFactors, weight: 2 },
  { arbitrary: fc.oneof(claimHandle, findByHandle, renameFactor, forgetDevices, replaceCodes), weight: 3 },
  removeAll
)
/** Every history starts with some records. */
const beginning = fc
  .array(fc.oneof(addTotp, addPasskey), { minLength: 2, maxLength: 4 })
  .map((makes) => makes.map((make) => called([make])))
const histories = fc.commands(
  usual(
    anyCall,
    fc.oneof(useTotp, usePasskey, useRecoveryCode, countFailure, addTotp, addPasskey, removeFactor, claimHandle),
    // Reads the whole state, because other results reveal little of it.
    findFactors.map((make) => called([make])),
    fc.constantFrom(1, MINUTE).map(passed)
  ),
  { maxCommands: 40, size: 'max' }
)

const redis = await startRedis()
const postgres = await sharedPostgres(t)
t.teardown(() => redis.stop())
const pool = (await postgres.database()).pool({ max: 6 })
const table = 'factor_records'

const twice = (records: RecordStore): Required<FactorStore> => factorInstances([records, records])

/** The share of runs: less for slower stores. */
const STORES: Array<[on: string, store: Required<FactorStore>, share: number]> = [
  ['memory', memoryFactorStore(), 0.15],
  ['lost answers, memory', losingFactors(memoryRecords()), 0.1],
  ['two instances, memory', twice(memoryRecords()), 0.1],
  ['two instances, sqlite', twice(sqliteRecords(new Database(':memory:'), { table })), 0.08],
  ['two instances, redis', twice(redisRecords(redis.client(), { prefix: 'factors:' })), 0.08],
  ['two instances, postgres', twice(postgresRecords(pool, { what: 'the factors', table })), 0.05]
]
let runs = 0
for (const [on, store, share] of STORES) {
  property(
    `answers calls on second factors as the model does (${on})`,
    [beginning, histories],
    {
      share,
      cases: [
        'useTotp used',
        'useTotp replayed',
        'useTotp disabled',
        'usePasskey used',
        'usePasskey replayed',
        'usePasskey regressed',
        'useRecoveryCode used',
        'countFailure disabled',
        'removeFactor last',
        'removeFactor removed',
        'addTotp full',
        'addTotp duplicate'
      ]
    },
    async (first, then) => {
      runs += 1
      const history: FactorHistory = {
        worlds: [{ users: {}, claims: [] }],
        now: T0,
        outcomes: [],
        users: [`ann-${runs}`, `bob-${runs}`],
        digests: 0
      }
      const methods = Object.fromEntries(
        Object.keys(FACTORS).map((method) => [method, store[method as keyof typeof FACTORS]])
      ) as Pick<FactorStore, keyof typeof FACTORS>
      await fc.asyncModelRun(
        () => ({ model: history, real: { kind: store.kind, methods, sweep: (now) => store.sweep?.(now) } }),
        [...first, ...then]
      )
      return history.outcomes
    }
  )
}
