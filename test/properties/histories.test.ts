/**
 * Parallel calls of four instances on any record store, and on the state over it, answer like one object that makes one
 * call after another: with delays, and with lost answers. Each run has its own partition, made from the printed seed.
 * The delays of the servers are not part of it.
 */
import { setImmediate } from 'node:timers/promises'
import * as fc from 'fast-check'
import t from '../support/tap.ts'
import { memoryRecords } from '../../lib/adapters/memory/record-store.ts'
import { OutageError } from '../../lib/ports/outage.ts'
import type { RecordStore } from '../../lib/ports/record-store.ts'
import { partitionOf } from '../../lib/protocol/digest.ts'
import { recordState } from '../../lib/records/state.ts'
import { delayed, losesAnswers } from '../../lib/testing/doubles.ts'
import { INSTANCES, recordPlaces } from '../contract/support/record-places.ts'
import { type Chance, chance } from '../support/random.ts'
import { isLinearizable, type Model, type Operation, told } from './support/linearizable.ts'
import { property } from './support/property.ts'
import { RECORD_MODEL, type RecordAnswer, type RecordCall, recordHistory } from './support/record-model.ts'
import { STATE_MODEL, stateHistory } from './support/state-model.ts'

/** Not shrunk, because a smaller seed is not a smaller history. */
const seeds = fc.noShrink(fc.integer({ min: 0, max: 2 ** 32 - 1 }))
const shareOf = (name: string): number =>
  ({ memory: 0.3, SQLite: 0.1, Redis: 0.06, 'Redis Cluster': 0.03 })[name] ?? 0.04
let runs = 0

/** Added to the seed for the choice of cut-off instances, so that other choices of the seed stay the same. */
const CUTS = 7

/** Waits before and after each call for a number of turns that the seed decides, and loses some answers. */
function disturbed(store: RecordStore, { integer, one }: Chance, losses: 'none' | 'some', cuts: Chance): RecordStore {
  const schedule = Array.from({ length: 13 }, () => (one(3) ? integer(12) : integer(3)))
  const slow = delayed(store, schedule)
  return losses === 'none'
    ? slow
    : losesAnswers(cutOff(slow, cuts), {
        methods: ['commit'],
        everyAnswer: 2 + integer(3),
        everyCall: 4 + integer(4)
      })
}

/**
 * One instance in four is cut off for one commit and its repeat: both are done, and no answer comes. Such a call is
 * lost for the state too, which sends a commit twice.
 */
function cutOff(store: RecordStore, { integer, one }: Chance): RecordStore {
  const first = one(4) ? 1 + integer(4) : Infinity
  let commits = 0
  return {
    ...store,
    async commit(partition, writes, now) {
      const turn = ++commits
      const answer = await store.commit(partition, writes, now)
      if (turn === first || turn === first + 1) throw new OutageError(`The answer of commit ${turn} was lost.`)
      return answer
    }
  }
}

/** The answers of the calls, in a word each. */
function answersIn<Call, Answer>(history: ReadonlyArray<Operation<Call, Answer>>): string[] {
  const words = history.map(({ answer, end }) =>
    end === Infinity ? 'lost' : Array.isArray(answer) ? 'records' : String(answer).replace(/ .*/, '')
  )
  return [...new Set(words)]
}

function requireOrder<State, Call, Answer>(
  model: Model<State, Call, Answer>,
  history: ReadonlyArray<Operation<Call, Answer>>
): void {
  if (!isLinearizable(model, history)) throw new Error(`no order explains this history:\n${told(history)}`)
}

/** With losses: a revocation that reads no family removes one whose rotation has lost its answer. */
const BLIND_REMOVAL = 101
const STATE_ANSWERS = ['rotated', 'repeated', 'redeemed', 'replayed', 'used', 'ended', 'unknown', 'true']

for (const { name, empty } of await recordPlaces()) {
  const instances = await empty()
  for (const losses of ['none', 'some'] as const) {
    property(
      `${name}: keeps parallel calls on records linearizable, lost answers: ${losses}`,
      [seeds],
      { share: shareOf(name), cases: losses === 'none' ? ['records', 'null'] : ['records', 'null', 'lost'] },
      async (seed) => {
        const [random, cuts] = [chance(seed), chance(seed + CUTS)]
        const stores = instances.map((store) => disturbed(store, random, losses, cuts))
        const history = await recordHistory(stores, partitionOf(`history ${++runs}`), random)
        requireOrder(RECORD_MODEL, history)
        return answersIn(history)
      }
    )
    property(
      `${name}: keeps parallel calls on the state linearizable, lost answers: ${losses}`,
      [seeds],
      {
        share: shareOf(name),
        examples: [[BLIND_REMOVAL]],
        cases: losses === 'none' ? STATE_ANSWERS : [...STATE_ANSWERS, 'lost']
      },
      async (seed) => {
        const [random, cuts] = [chance(seed), chance(seed + CUTS)]
        const states = instances.map((store) =>
          recordState(disturbed(store, random, losses, cuts), { remembered: random.one(2) ? 1000 : 0 })
        )
        const history = await stateHistory(states, `user ${++runs}`, random)
        requireOrder(STATE_MODEL, history)
        return answersIn(history)
      }
    )
  }
}

/** Faulty stores that a few histories must reveal. */
const FAULTS: Readonly<Record<string, (store: RecordStore) => RecordStore>> = {
  'a commit that looks first and writes later': (store) => ({
    ...store,
    async commit(partition, writes, now) {
      const found = await store.read(
        partition,
        writes.map(({ key }) => key)
      )
      if (writes.some(({ expect }, at) => expect !== '*' && expect !== (found[at]?.version ?? null))) return found
      await setImmediate()
      const forced = writes.filter(({ change }) => change !== 'keep').map((write) => ({ ...write, expect: '*' }))
      return await store.commit(partition, forced, now)
    }
  }),
  'a read of one record after another': (store) => ({
    ...store,
    async read(partition, keys) {
      const found = []
      for (const key of keys) {
        found.push(...(await store.read(partition, [key])))
        await setImmediate()
      }
      return found
    }
  }),
  'a commit of one record after another': (store) => ({
    ...store,
    async commit(partition, writes, now) {
      const found = await store.commit(
        partition,
        writes.map((write) => ({ ...write, change: 'keep' })),
        now
      )
      if (found !== null) return found
      for (const write of writes) {
        await store.commit(partition, [write], now)
        await setImmediate()
      }
      return null
    }
  }),
  'a refusal that answers with older records': (store) => ({
    ...store,
    async commit(partition, writes, now) {
      const before = await store.read(
        partition,
        writes.map(({ key }) => key)
      )
      await setImmediate()
      const found = await store.commit(partition, writes, now)
      await setImmediate()
      return found === null ? null : before
    }
  }),
  'an instance that remembers what it read': (store) => {
    const known = new Map<string, Awaited<ReturnType<RecordStore['read']>>>()
    return {
      ...store,
      async read(partition, keys) {
        const name = `${partition} ${keys.join()}`
        const found = known.get(name) ?? (await store.read(partition, keys))
        known.set(name, found)
        return found
      }
    }
  }
}

t.test('detects each planted store fault within 200 histories', async (t) => {
  const missed: string[] = []
  for (const [name, faulty] of Object.entries(FAULTS)) {
    const store = memoryRecords()
    let isFound = false
    for (let seed = 1; seed <= 200 && !isFound; seed++) {
      const random = chance(seed)
      const stores = Array.from({ length: INSTANCES }, () => delayed(faulty(store), [random.integer(4), 0, 2, 1, 3]))
      isFound = !isLinearizable(RECORD_MODEL, await recordHistory(stores, `p${seed}`, random))
    }
    if (!isFound) missed.push(name)
  }
  t.strictSame(missed, [])
})

t.test('accepts linearizable histories and rejects others', async (t) => {
  const put = (version: string, expect: string | null): RecordCall => ({
    commit: [{ key: 'a', expect, change: { version, value: '', kind: '', userId: null, expiresAt: 0 } }]
  })
  const operation = (start: number, end: number, call: RecordCall, answer?: RecordAnswer) => ({
    client: 0,
    call,
    answer,
    start,
    end
  })
  const read: RecordCall = { read: ['a'] }
  const of = (...history: Array<Operation<RecordCall, RecordAnswer>>): boolean => isLinearizable(RECORD_MODEL, history)
  t.ok(of(operation(1, 2, put('1', null), null), operation(3, 4, read, ['1'])))
  t.notOk(of(operation(1, 2, put('1', null), null), operation(3, 4, read, [null])), 'an answer before is binding')
  t.ok(of(operation(1, 4, put('1', null), null), operation(2, 3, read, [null])), 'calls at once have either order')
  t.ok(of(operation(1, 4, put('1', null), null), operation(2, 3, read, ['1'])))
  t.notOk(
    of(operation(1, 9, put('1', null), null), operation(2, 3, read, ['1']), operation(4, 5, read, [null])),
    'what was seen stays'
  )
  t.notOk(of(operation(1, 4, put('1', null), null), operation(2, 3, put('2', null), null)), 'one of two wins')
  const lost = operation(1, Infinity, put('1', null))
  t.ok(of(lost, operation(2, 3, read, [null]), operation(4, 5, read, ['1'])), 'a lost call may be done late')
  t.ok(of(lost, operation(2, 3, read, [null])), 'or never')
  t.notOk(of(lost, operation(2, 3, read, ['1']), operation(4, 5, read, [null])), 'but once')
})
