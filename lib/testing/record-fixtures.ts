import { equal } from 'node:assert/strict'
import type { NewRecord, RecordStore, RecordWrite, StoredRecord } from '../ports/record-store.ts'
import type { Closable, ContractCase } from './contract.ts'

/** The subject of each case: an empty store. */
export interface RecordStoreSubject extends Closable {
  store: RecordStore
  /** More instances over the same records, such as other connections. Parallel calls are spread over all of them. */
  others?: readonly RecordStore[]
  /** True if the server removes expired records by itself, so that `sweep` has nothing to do. Default false. */
  expiresByItself?: boolean
}

export const NOW = Date.UTC(2030, 0, 1)
export const DAY = 86_400_000
export const MOST_RECORDS = 4_500

let made = 0
/** A version that no other call makes. */
export const newVersion = (): string => `v${String(++made).padStart(13, '0')}`

/** Makes a write of a record. `expect` has the meaning of `RecordWrite.expect`. */
export const put = (key: string, expect: string | null, value: unknown = key, changes: Partial<NewRecord> = {}) => ({
  key,
  expect,
  change: {
    value: JSON.stringify(value),
    version: newVersion(),
    kind: 'test',
    userId: 'user-1',
    expiresAt: NOW + DAY,
    ...changes
  }
})
export const remove = (key: string, expect: string | null): RecordWrite => ({ key, expect, change: 'delete' })
export const keep = (key: string, expect: string | null): RecordWrite => ({ key, expect, change: 'keep' })
/** The record that the store has after this write. */
export const storedBy = ({ change: { value, version } }: ReturnType<typeof put>): StoredRecord => ({ value, version })

/** Makes a case of the suite from a name and a check. */
export type Define = (name: string, check: (subject: Subject) => Promise<void>) => ContractCase

export type Subject = ReturnType<typeof withShorthands>

export function withShorthands({ store, others = [], expiresByItself = false }: RecordStoreSubject) {
  const stores = [store, ...others].map(bare)
  const [first = store] = stores
  const commit = (partition: string, ...writes: RecordWrite[]) => first.commit(partition, writes, NOW)
  return {
    store: first,
    expiresByItself,
    at: (index: number): RecordStore => stores[index % stores.length] ?? first,
    read: (partition: string, ...keys: string[]) => first.read(partition, keys),
    commit,
    async done(partition: string, ...writes: RecordWrite[]) {
      equal(await commit(partition, ...writes), null)
    }
  }
}

/**
 * Wraps the store and removes fields from its answers that the port does not name, because a store may return
 * additional fields.
 */
function bare(store: RecordStore): RecordStore {
  const recordsOf = (found: ReadonlyArray<StoredRecord | null>): Array<StoredRecord | null> =>
    found.map((record) => record && { value: record.value, version: record.version })
  return {
    ...store,
    read: async (partition, keys) => recordsOf(await store.read(partition, keys)),
    async commit(partition, writes, now) {
      const found = await store.commit(partition, writes, now)
      return found && recordsOf(found)
    }
  }
}
