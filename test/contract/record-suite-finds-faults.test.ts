/** Faults planted in a record store, one at a time. The contract must find each of them. */
import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { ANY, NEVER, type RecordStore, type RecordWrite, type StoredRecord } from '../../lib/ports/record-store.ts'
import { recordStoreContract } from '../../lib/testing/record-store-contract.ts'
import { failing } from './support/failing.ts'

type Kept = StoredRecord & { expiresAt: number }
type Answer = Array<StoredRecord | null>

/** The steps of a store, each of which a fault replaces. */
const RIGHT = {
  nameOf: (partition: string, key: string): string => `${partition}:${key}`,
  isExpected: ({ expect }: RecordWrite, found: Kept | null): boolean =>
    expect === ANY || expect === (found?.version ?? null),
  areAll: (results: boolean[]): boolean => results.every(Boolean),
  kept: (write: RecordWrite, _former: Kept | null): Kept | null | undefined =>
    write.change === 'keep' ? undefined : write.change === 'delete' ? null : { ...write.change },
  refused: (found: Answer, _writes: readonly RecordWrite[]): Answer => found,
  done: (_writes: readonly RecordWrite[]): Answer | null => null,
  found: (records: Answer, _keys: readonly string[]): Answer => records,
  expires: ({ expiresAt }: Kept, now: number): boolean => expiresAt <= now,
  most: Infinity,
  betweenLookAndWrite: async (): Promise<void> => {},
  betweenWrites: async (): Promise<void> => {},
  betweenReads: (_place: number): Promise<void> | undefined => undefined,
  betweenLookAndRemoval: async (): Promise<void> => {},
  /** The number of latest commits that a read misses. */
  lag: 0
}
type Steps = typeof RIGHT

function storeWith(fault: Partial<Steps>): RecordStore {
  const steps = { ...RIGHT, ...fault }
  let records = new Map<string, Kept>()
  const before: Array<Map<string, Kept>> = []
  return {
    kind: 'faulty',
    shared: false,
    durable: false,
    evicts: false,
    async read(partition, keys) {
      const from = before.at(-steps.lag) ?? records
      const found: Answer = []
      for (const [place, key] of keys.entries()) {
        found.push((steps.lag === 0 ? records : from).get(steps.nameOf(partition, key)) ?? null)
        const pause = steps.betweenReads(place)
        if (pause !== undefined) await pause
      }
      return steps.found(found, keys)
    },
    async commit(partition, writes) {
      const names = writes.map(({ key }) => steps.nameOf(partition, key))
      const found = names.map((name) => records.get(name) ?? null)
      const isFit = steps.areAll(writes.map((write, at) => steps.isExpected(write, found[at] ?? null)))
      if (steps.betweenLookAndWrite !== RIGHT.betweenLookAndWrite) await steps.betweenLookAndWrite()
      if (!isFit) return steps.refused(found, writes)
      if (steps.lag > 0) before.push(new Map(records))
      for (const [at, write] of writes.entries()) {
        const record = steps.kept(write, found[at] ?? null)
        const name = names[at] ?? ''
        if (record === null) records.delete(name)
        else if (record !== undefined) records.set(name, record)
        if (records.size > steps.most) records = new Map([...records].slice(1))
        if (steps.betweenWrites !== RIGHT.betweenWrites) await steps.betweenWrites()
      }
      return steps.done(writes)
    },
    async sweep(now) {
      const due = [...records].filter(([, record]) => steps.expires(record, now))
      if (steps.betweenLookAndRemoval !== RIGHT.betweenLookAndRemoval) await steps.betweenLookAndRemoval()
      for (const [name] of due) records.delete(name)
    }
  }
}

const changed = (change: (record: Kept) => Partial<Kept>): Partial<Steps> => ({
  kept(write, former) {
    const record = RIGHT.kept(write, former)
    return record && { ...record, ...change(record) }
  }
})
const turn = async (): Promise<void> => {
  await setImmediate()
}

const FAULTS: Readonly<Record<string, Partial<Steps>>> = {
  'the partition is not part of the name': { nameOf: (_partition, key) => key },
  'partition and key are joined without a separator': { nameOf: (partition, key) => partition + key },
  'partitions are case-insensitive': { nameOf: (partition, key) => `${partition.toLowerCase()}:${key}` },
  'partitions are cut': { nameOf: (partition, key) => `${partition.slice(0, 1)}:${key}` },
  'keys are case-insensitive': { nameOf: (partition, key) => `${partition}:${key.toLowerCase()}` },
  'keys are trimmed': { nameOf: (partition, key) => `${partition}:${key.trim()}` },
  'keys are cut': { nameOf: (partition, key) => `${partition}:${key.slice(0, 199)}` },
  'keys lose quotes': { nameOf: (partition, key) => `${partition}:${key.replaceAll('"', "'")}` },
  'a wildcard in a key': { nameOf: (partition, key) => `${partition}:${key.replaceAll('%', '_')}` },
  'versions are case-insensitive': {
    isExpected: ({ expect }, found) =>
      expect === ANY || expect?.toLowerCase() === (found?.version.toLowerCase() ?? undefined)
  },
  'a version with the same beginning is the same': {
    isExpected: ({ expect }, found) =>
      expect === ANY || (expect === null ? found === null : found?.version.startsWith(expect) === true)
  },
  'any version is accepted': { isExpected: () => true },
  'an expected absence is not checked': {
    isExpected: (write, found) => write.expect === null || RIGHT.isExpected(write, found)
  },
  'a missing record passes every comparison': {
    isExpected: (write, found) => found === null || RIGHT.isExpected(write, found)
  },
  'ANY requires a record': {
    isExpected: (write, found) => (write.expect === ANY ? found !== null : RIGHT.isExpected(write, found))
  },
  'ANY requires no record': {
    isExpected: (write, found) => (write.expect === ANY ? found === null : RIGHT.isExpected(write, found))
  },
  'a kept record is not compared': {
    isExpected: (write, found) => write.change === 'keep' || RIGHT.isExpected(write, found)
  },
  'a deleted record is not compared': {
    isExpected: (write, found) => write.change === 'delete' || RIGHT.isExpected(write, found)
  },
  'one matching write is enough': { areAll: (results) => results.length === 0 || results.some(Boolean) },
  'only the first write is compared': { areAll: ([first = true]) => first },
  'only the last write is compared': { areAll: (results) => results.at(-1) ?? true },
  'a kept record is removed': {
    kept: (write, former) => (write.change === 'keep' ? null : RIGHT.kept(write, former))
  },
  'a deleted record stays': {
    kept: (write, former) => (write.change === 'delete' ? undefined : RIGHT.kept(write, former))
  },
  'a record is never replaced': { kept: (write, former) => (former ? undefined : RIGHT.kept(write, former)) },
  'a replaced record keeps its version': {
    kept(write, former) {
      const record = RIGHT.kept(write, former)
      return record && former ? { ...record, version: former.version } : record
    }
  },
  'a replaced record keeps its end': {
    kept(write, former) {
      const record = RIGHT.kept(write, former)
      return record && former ? { ...record, expiresAt: former.expiresAt } : record
    }
  },
  'an end only moves forward': {
    kept(write, former) {
      const record = RIGHT.kept(write, former)
      return record && former ? { ...record, expiresAt: Math.max(record.expiresAt, former.expiresAt) } : record
    }
  },
  'a kept record is used, which moves its end': {
    kept: (write, former) =>
      write.change === 'keep' ? former && { ...former, expiresAt: NEVER } : RIGHT.kept(write, former)
  },
  'the end goes by the clock of the machine': {
    found: (records) => records.map((record) => (record && (record as Kept).expiresAt <= Date.now() ? null : record))
  },
  'keys lose a hash': { nameOf: (partition, key) => `${partition}:${key.length === 1 ? key.replace('#', '+') : key}` },
  'values have 65,536 characters of four bytes': changed(({ value }) => ({
    value: value.length > 500_000 ? value.slice(0, 131_072) : value
  })),
  'values are trimmed': changed(({ value }) => ({ value: value.trim() })),
  'values are JSON objects': changed(({ value }) => ({ value: JSON.stringify(JSON.parse(value)) })),
  'values are cut': changed(({ value }) => ({ value: value.slice(0, 65_535) })),
  'values lose NUL': changed(({ value }) => ({ value: value.replaceAll('\\u0000', '') })),
  'values are of the Basic Multilingual Plane': changed(({ value }) => ({
    value: value.replaceAll(/[\u{10000}-\u{10ffff}]/gu, '?')
  })),
  'values are normalised': changed(({ value }) => ({ value: value.normalize('NFC') })),
  'a refusal answers with what it was asked for': { refused: (found) => found.filter((record) => record !== null) },
  'a refusal answers in the order of the keys': {
    refused: (found, writes) =>
      writes
        .map(({ key }, at) => ({ key, record: found[at] ?? null }))
        .sort((a, b) => (a.key < b.key ? -1 : 1))
        .map(({ record }) => record)
  },
  'a refusal answers with the first record alone': { refused: (found) => found.slice(0, 1) },
  'a commit that is done answers with an empty list': { done: () => [] },
  'a read returns records in another order': { found: (records) => records.toReversed() },
  'a read omits missing records': { found: (records) => records.filter((record) => record !== null) },
  'a record is removed at any sweep': { expires: () => true },
  'a record is never removed': { expires: () => false },
  'a record is removed before its end': { expires: ({ expiresAt }, now) => expiresAt <= now + 1 },
  'a record is removed after its end': { expires: ({ expiresAt }, now) => expiresAt < now },
  'a record without an end has one': { expires: ({ expiresAt }, now) => expiresAt <= now || expiresAt === NEVER },
  'there is room for 1,000 records': { most: 1_000 },
  'a commit compares and writes in two steps': { betweenLookAndWrite: turn },
  'a commit writes one record after another': { betweenWrites: turn },
  'a sweep reads and removes in two steps': { betweenLookAndRemoval: turn },
  'a read reads one record after another': { betweenReads: turn },
  'a read reads ten records at a time': {
    betweenReads: (place) => (place % 10 === 9 ? turn() : undefined)
  },
  'a read is a commit behind': { lag: 1 }
}

t.test('recordStoreContract passes for a store without faults', async (t) => {
  t.strictSame(await failing(recordStoreContract(async () => ({ store: storeWith({}) }))), [])
})

t.test('recordStoreContract fails for each store with a planted fault', async (t) => {
  const missed: string[] = []
  for (const [name, fault] of Object.entries(FAULTS)) {
    const found = await failing(recordStoreContract(async () => ({ store: storeWith(fault) })))
    if (found.length === 0) missed.push(name)
  }
  t.strictSame(missed, [])
})
