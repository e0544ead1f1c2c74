import { isOutage } from '../ports/outage.ts'
import type { RecordStore, RecordWrite, StoredRecord } from '../ports/record-store.ts'
import { writerOf } from './chance.ts'
import { decode, MOST_WRITERS } from './encoding.ts'

type Found = Array<StoredRecord | null>

/**
 * Commits, and sends the commit again once where its answer was lost. `null`: done; else the records that were there
 * instead. Rejects where nobody can know: then the commit may have been done.
 */
export async function commitSurely(
  store: RecordStore,
  partition: string,
  writes: readonly RecordWrite[],
  now: number
): Promise<null | Found> {
  try {
    return await store.commit(partition, writes, now)
  } catch (error) {
    // A refusal or a lock is no lost answer.
    if (!isOutage(error)) throw error
    const found = await store.commit(partition, writes, now)
    if (found === null) return null
    const standings = writes.flatMap((write, at) => standingOf(write, found[at] ?? null) ?? [])
    if (standings.includes('done')) return null
    if (standings.length === 0 || standings.includes('not done')) return found
    throw Object.assign(new Error('The answer of a commit was lost, and too many others came after it to tell.'), {
      isOutage: true
    })
  }
}

/** Reads, and reads again once where the answer was lost: a read changes nothing. */
export async function readSurely(store: RecordStore, partition: string, keys: readonly string[]): Promise<Found> {
  try {
    return await store.read(partition, keys)
  } catch (error) {
    if (!isOutage(error)) throw error
    return await store.read(partition, keys)
  }
}

/** Tells from the record under one of its keys if the first commit was done. `null`: it wrote none there. */
function standingOf(
  { expect, change }: RecordWrite,
  record: StoredRecord | null
): 'done' | 'not done' | 'unclear' | null {
  if (typeof change !== 'object') return null
  // A record that was there went with time, or by a commit that never looked at it, before or after the first commit.
  if (record === null) return expect === null ? 'not done' : 'unclear'
  const { version, lineage } = decode(record) ?? { version: '', lineage: [] }
  const writer = writerOf(change.version)
  const ours = [version, ...lineage].find((one) => writerOf(one) === writer)
  if (ours === undefined) return lineage.length < MOST_WRITERS ? 'not done' : 'unclear'
  if (ours === change.version) return 'done'
  // A later version of our own means that another call did not wait for this commit.
  return ours < change.version ? 'not done' : 'unclear'
}
