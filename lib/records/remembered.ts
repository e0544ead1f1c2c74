import type { StoredRecord } from '../ports/record-store.ts'

/** Records as this process saw them last. */
interface Remembered {
  get(partition: string, key: string): StoredRecord | undefined
  /** `null` forgets: there is no record under the key. */
  set(partition: string, key: string, record: StoredRecord | null): void
}

/** Longer values are not remembered: the index of a user with hundreds of devices costs more memory than a trip. */
const LONGEST_VALUE = 16_384

/** Holds at most `limit` records and forgets the one that was used least recently. 0: none. */
export function remembered(limit: number): Remembered {
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
