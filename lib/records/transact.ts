import type { RecordStore, StoredRecord } from '../ports/record-store.ts'
import { machineNow, monotonicNow, versionMaker, waitUnevenly } from './chance.ts'
import { type Decide, decideAll, type Decisions, type Outcome, type Snapshot, writesOf } from './view.ts'
import { endOfTurn } from '../ports/turn.ts'
import { commitSurely, decode, type Decoded, readSurely } from './encoding.ts'

interface TransactorOptions {
  /**
   * The maximum number of records that this process remembers. A call on remembered records takes one trip, and decides
   * again if the records have changed. Default 0: none.
   */
  remembered?: number | undefined
}

interface CallOptions {
  /** The time of the call by the clock of the rules, if it has one. */
  now?: number
  /**
   * Keys that most likely have no record, so that a commit is tried before anything is read. If there is a record, the
   * failed commit returns it, which costs no more trips than reading first.
   */
  fresh?: readonly string[]
}

export interface Transactor {
  /** True if the store may lose one record without another. */
  evicts: boolean
  /** Reads, decides and commits as if there were no other calls. `keys`: the records that `decide` reads first. */
  transact<Result>(
    partition: string,
    keys: readonly string[],
    decide: Decide<Result>,
    options?: CallOptions
  ): Promise<Result>
  /**
   * Like `transact`, for rules that usually change nothing. Waits for no other call, unless the rule makes a change.
   */
  look<Result>(partition: string, keys: readonly string[], decide: Decide<Result>): Promise<Result>
}

interface Call {
  keys: readonly string[]
  decide: Decide<unknown>
  options: CallOptions
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** The calls on one partition that wait for its running commit. */
interface Queue {
  waiting: Call[]
  /** The start of the running commit. */
  since: number
}

const TRIES = 64
const TRIES_WITHOUT_WAITING = 3
const MAX_COMBINED = 64
/** New calls do not wait for a commit that takes longer. Equals the boundary's time limit for a call of the state. */
const PATIENCE_MS = 2000

/**
 * Runs rules on the records of a store as transactions. Combines the calls on one partition that come in one turn of
 * the event loop, or while a commit on it is under way: reads once, decides one call after the other, commits once. So
 * a process conflicts with itself only if a commit takes longer than `PATIENCE_MS`.
 */
export function transactor(store: RecordStore, options: TransactorOptions = {}): Transactor {
  const queues = new Map<string, Queue>()
  const newVersion = versionMaker()
  const memory = remembered(options.remembered ?? 0)
  const traits = { evicts: store.evicts, unique: newVersion }
  /** The milliseconds by which the clock of the rules is ahead of the machine's, learned from the calls. */
  let aheadMs = 0

  function nowOf(calls: readonly Call[]): number {
    let now = -Infinity
    for (const { options: given } of calls) if (given.now !== undefined) now = Math.max(now, given.now)
    if (now === -Infinity) return machineNow() + aheadMs
    aheadMs = now - machineNow()
    return now
  }

  async function read(partition: string, keys: readonly string[]): Promise<Snapshot> {
    const found = keys.length === 0 ? [] : await readSurely(store, partition, keys)
    return { records: learned(partition, keys, found), isGuess: false }
  }

  function learned(
    partition: string,
    keys: readonly string[],
    found: ReadonlyArray<StoredRecord | null>
  ): Map<string, Decoded | null> {
    const records = new Map<string, Decoded | null>()
    for (let at = 0; at < keys.length; at++) {
      const key = keys[at] as string
      const record = found[at] ?? null
      records.set(key, decode(record))
      memory.set(partition, key, record)
    }
    return records
  }

  /** The records as this process remembers them. `null` if it does not remember a record outside of `fresh`. */
  function recalled(partition: string, calls: readonly Call[]): Snapshot | null {
    const records = new Map<string, Decoded | null>()
    for (const key of keysOf(calls)) {
      const record = memory.get(partition, key) ?? null
      if (record === null && !calls.some(({ options: { fresh } }) => fresh?.includes(key) === true)) return null
      records.set(key, decode(record))
    }
    return { records, isGuess: true }
  }

  /**
   * Decides, and reads more records until no decision lacks one. A result without a commit rests on records that were
   * read at one moment.
   */
  async function decided(
    partition: string,
    given: Snapshot,
    calls: readonly Call[]
  ): Promise<{ snapshot: Snapshot; decisions: Decisions }> {
    let snapshot = given
    for (;;) {
      const decisions = decideAll(snapshot, calls, traits)
      if (decisions.missing.size === 0) {
        if (decisions.changes.size > 0 || !snapshot.isGuess) return { snapshot, decisions }
        snapshot = await read(partition, [...snapshot.records.keys()])
      } else {
        // Reads all records again, because records of two trips may never have existed together.
        snapshot = await read(partition, [...new Set([...snapshot.records.keys(), ...decisions.missing])])
      }
    }
  }

  /** Makes one attempt. Resolves to the outcomes, or to the conflicting records. */
  async function attempt(partition: string, given: Snapshot, calls: readonly Call[]): Promise<Outcome[] | Snapshot> {
    const { snapshot, decisions } = await decided(partition, given, calls)
    if (decisions.changes.size === 0) return decisions.outcomes
    const now = nowOf(calls)
    const writes = writesOf(snapshot, decisions, now, newVersion)
    const found = await commitSurely(store, partition, writes, now)
    if (found !== null) {
      const keys = writes.map(({ key }) => key)
      return { records: learned(partition, keys, found), isGuess: false }
    }
    for (const { key, change } of writes) {
      if (change === 'delete') memory.set(partition, key, null)
      else if (typeof change === 'object') memory.set(partition, key, change)
    }
    return decisions.outcomes
  }

  async function run(partition: string, calls: readonly Call[]): Promise<Outcome[]> {
    let snapshot = recalled(partition, calls) ?? (await read(partition, keysOf(calls)))
    for (let conflicts = 0; conflicts < TRIES; conflicts++) {
      if (conflicts >= TRIES_WITHOUT_WAITING) await waitUnevenly()
      const answer = await attempt(partition, snapshot, calls)
      if (Array.isArray(answer)) return answer
      snapshot = answer
    }
    throw Object.assign(new Error(`The records of a partition changed ${TRIES} times while a call was decided.`), {
      isOutage: true
    })
  }

  async function drain(partition: string, queue: Queue): Promise<void> {
    while (queues.get(partition) === queue && queue.waiting.length > 0) {
      const calls = queue.waiting.splice(0, MAX_COMBINED)
      queue.since = monotonicNow()
      try {
        settle(calls, await run(partition, calls))
      } catch (error) {
        for (const call of calls) call.reject(error)
      }
    }
    if (queues.get(partition) === queue) queues.delete(partition)
  }

  function enqueue(partition: string, call: Call): void {
    const former = queues.get(partition)
    if (former !== undefined && monotonicNow() - former.since < PATIENCE_MS) {
      former.waiting.push(call)
      return
    }
    const queue: Queue = { waiting: [...(former?.waiting.splice(0) ?? []), call], since: monotonicNow() }
    queues.set(partition, queue)
    void endOfTurn().then(() => drain(partition, queue))
  }

  const transact: Transactor['transact'] = (partition, keys, decide, callOptions = {}) =>
    new Promise((resolve, reject) => {
      enqueue(partition, { keys, decide, options: callOptions, resolve, reject })
    })

  return {
    evicts: store.evicts,
    transact,
    async look(partition, keys, decide) {
      // Waits, so that the reads of requests that arrived together reach the store together.
      await endOfTurn()
      const call: Call = { keys, decide, options: {}, resolve() {}, reject() {} }
      const { decisions } = await decided(partition, await read(partition, keys), [call])
      if (decisions.changes.size > 0) return await transact(partition, keys, decide)
      const [outcome] = decisions.outcomes
      if (outcome === undefined || 'error' in outcome) throw outcome?.error
      return outcome.value as never
    }
  }
}

/** The keys of the calls, each once. The keys of a single call already differ. */
const keysOf = (calls: readonly Call[]): readonly string[] =>
  calls.length === 1 ? (calls[0] as Call).keys : [...new Set(calls.flatMap(({ keys }) => keys))]

function settle(calls: readonly Call[], outcomes: readonly Outcome[]): void {
  for (const [at, call] of calls.entries()) {
    const outcome = outcomes[at]
    if (outcome === undefined || 'error' in outcome) call.reject(outcome?.error)
    else call.resolve(outcome.value)
  }
}

/** A cache of records as this process saw them last. */
interface Remembered {
  get(partition: string, key: string): StoredRecord | undefined
  /** `null` forgets: there is no record under the key. */
  set(partition: string, key: string, record: StoredRecord | null): void
}

/** Longer values are not remembered, because the index of a user with hundreds of devices is not worth its memory. */
const LONGEST_VALUE = 16_384

/** Holds at most `limit` records and forgets the one that was used least recently. 0: none. */
function remembered(limit: number): Remembered {
  if (!Number.isSafeInteger(limit) || limit < 0)
    throw new RangeError('remembered must be a whole number of records, 0 for none.')
  const records = new Map<string, StoredRecord>()
  if (limit === 0) return { get: () => undefined, set() {} }
  return {
    get(partition, key) {
      const name = `${partition}:${key}`
      const record = records.get(name)
      if (record !== undefined) {
        records.delete(name)
        records.set(name, record)
      }
      return record
    },
    set(partition, key, record) {
      const name = `${partition}:${key}`
      records.delete(name)
      if (record === null || record.value.length > LONGEST_VALUE) return
      records.set(name, record)
      if (records.size <= limit) return
      const [oldest] = records.keys()
      if (oldest !== undefined) records.delete(oldest)
    }
  }
}

const KINDS: Readonly<Record<Exclude<keyof RecordStore, 'prepare' | 'pending' | 'time'>, string>> = {
  kind: 'string',
  shared: 'boolean',
  durable: 'boolean',
  evicts: 'boolean',
  read: 'function',
  commit: 'function',
  sweep: 'function'
}

/** Checks that a host's value is a store of records, at the start instead of the first sign-in. @throws TypeError */
export function checkRecordStore(what: string, store: unknown): asserts store is RecordStore {
  if (typeof store !== 'object' || store === null)
    throw new TypeError(`${what} takes a RecordStore, and got ${store === null ? 'null' : typeof store}.`)
  for (const [name, kind] of Object.entries(KINDS)) {
    const got = (store as Record<string, unknown>)[name]
    if (typeof got !== kind)
      throw new TypeError(
        `${what} takes a RecordStore: ${name} must be a ${kind}, and is ${got === undefined ? 'missing' : typeof got}.`
      )
  }
}
