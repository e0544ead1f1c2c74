import { setImmediate } from 'node:timers/promises'
import { ANY, type RecordStore, type RecordWrite, type StoredRecord } from '../../ports/record-store.ts'
import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState } from '../../records/state.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { ApiKeyStore } from '../../ports/api-key-store.ts'
import { recordApiKeyStore } from '../../records/api-key-store.ts'

type Kept = StoredRecord & { expiresAt: number }

/** Records in this process's memory. No method awaits before it has done its work: that makes each of them atomic. */
export function memoryRecords(): RecordStore {
  const records = new Map<string, Kept>()
  // No partition has a colon in it, so no key can make one name look like another.
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

const isExpected = ({ expect }: RecordWrite, found: Kept | null): boolean =>
  expect === ANY || expect === (found?.version ?? null)

const kept = ({ value, version, expiresAt }: Kept): Kept => ({ value, version, expiresAt })

/** How many entries a sweep looks at before it lets requests through. */
const SLICE = 1000

async function inSlices<Name>(names: Iterable<Name>, sweepOne: (name: Name) => void): Promise<void> {
  let looked = 0
  // A Map's iterator stands changes, so others may add and remove between two slices.
  for (const name of names) {
    sweepOne(name)
    if (++looked % SLICE === 0) await setImmediate()
  }
}

export interface MemoryStateOptions {
  /**
   * How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100; from 1
   * to 1,000.
   */
  maxFamiliesPerUser?: number | undefined
  /**
   * How many browsers one user may be signed in with on the hosted pages; one more ends the first. Default 100; from 1
   * to 1,000.
   */
  maxSessionsPerUser?: number | undefined
}

/**
 * State in this process's memory: for tests, development, and a single process that may forget who is signed in.
 * Several processes don't share it.
 */
export function memoryState({ maxFamiliesPerUser, maxSessionsPerUser, ...others }: MemoryStateOptions = {}): State {
  noOthers('memoryState', others)
  return recordState(memoryRecords(), { maxFamiliesPerUser, maxSessionsPerUser })
}

/**
 * Second factors in this process's memory: for tests, demos and development. When the process ends, every user is left
 * with a password alone.
 */
export function memoryFactorStore(): Required<FactorStore> {
  return recordFactorStore(memoryRecords())
}

/** API keys in this process's memory: for tests, demos and development. They end with the process. */
export function memoryApiKeyStore(): Required<ApiKeyStore> {
  return recordApiKeyStore(memoryRecords())
}
