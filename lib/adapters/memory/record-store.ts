import { setImmediate } from 'node:timers/promises'
import { isExpected, type RecordStore, type StoredRecord } from '../../ports/record-store.ts'
import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState, type RecordStateOptions } from '../../records/state.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { ApiKeyStore } from '../../ports/api-key-store.ts'
import { recordApiKeyStore } from '../../records/api-key-store.ts'

type Kept = StoredRecord & { expiresAt: number }

/** Records in this process's memory. `read` and `commit` are atomic, because neither awaits anything. */
export function memoryRecords(): RecordStore {
  const records = new Map<string, Kept>()
  // A partition contains no colon, so two different pairs of partition and key never have the same name.
  const nameOf = (partition: string, key: string): string => `${partition}:${key}`

  return {
    kind: 'memory',
    shared: false,
    durable: false,
    evicts: false,
    async read(partition, keys) {
      return keys.map((key) => records.get(nameOf(partition, key)) ?? null)
    },
    async commit(partition, writes) {
      const names = writes.map(({ key }) => nameOf(partition, key))
      const found = names.map((name) => records.get(name) ?? null)
      if (!writes.every((write, at) => isExpected(write, found[at] ?? null))) return found
      for (const [at, { change }] of writes.entries()) {
        const name = names[at] as string
        if (change === 'delete') records.delete(name)
        else if (change !== 'keep') records.set(name, kept(change))
      }
      return null
    },
    sweep: (now) =>
      inSlices(records, ([name, { expiresAt }]) => {
        if (expiresAt <= now) records.delete(name)
      })
  }
}

const kept = ({ value, version, expiresAt }: Kept): Kept => ({ value, version, expiresAt })

/** The number of entries that a sweep checks before it lets the event loop run. */
const SLICE = 1000

async function inSlices<Name>(names: Iterable<Name>, sweepOne: (name: Name) => void): Promise<void> {
  let looked = 0
  // The iterator of a Map tolerates changes, so other calls may add and remove entries between two slices.
  for (const name of names) {
    sweepOne(name)
    if (++looked % SLICE === 0) await setImmediate()
  }
}

export type MemoryStateOptions = Omit<RecordStateOptions, 'remembered'>

/**
 * State in this process's memory: for tests, development, and a single process. The end of the process signs all users
 * out. Several processes do not share the state.
 */
export function memoryState({ maxFamiliesPerUser, maxSessionsPerUser, ...others }: MemoryStateOptions = {}): State {
  noOthers('memoryState', others)
  return recordState(memoryRecords(), { maxFamiliesPerUser, maxSessionsPerUser })
}

/**
 * Second factors in this process's memory: for tests, demos and development. When the process ends, all second factors
 * are lost.
 */
export function memoryFactorStore(): Required<FactorStore> {
  return recordFactorStore(memoryRecords())
}

/** API keys in this process's memory: for tests, demos and development. They end with the process. */
export function memoryApiKeyStore(): Required<ApiKeyStore> {
  return recordApiKeyStore(memoryRecords())
}
