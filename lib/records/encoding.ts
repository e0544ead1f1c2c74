import type { RecordStore, RecordWrite, StoredRecord } from '../ports/record-store.ts'
import { writerOf } from './chance.ts'
import { isOutage } from '../ports/outage.ts'

/** The content of a record's text. */
export interface Decoded {
  version: string
  /** `null`: the record was removed, and this mark stays for a while. */
  decoded: unknown
  /** The last version that each other writer gave the record, the latest first: at most `MOST_WRITERS`. */
  lineage: readonly string[]
}

/**
 * The number of former writers whose last version a record names. These versions let a writer recognize a commit whose
 * answer was lost, even if other instances changed the record before the commit is sent again.
 */
export const MOST_WRITERS = 8

/**
 * Stores the lineage after the elements of an array or the fields of an object, so that SQL finds each element and
 * field at its usual place. Any other value is in the field `value`. A removed record has only its lineage.
 */
export function encode(value: unknown, lineage: readonly string[]): string {
  if (Array.isArray(value)) return JSON.stringify([...(value as unknown[]), lineage])
  if (value === null) return JSON.stringify({ lineage })
  return JSON.stringify(typeof value === 'object' ? { ...value, lineage } : { value, lineage })
}

/**
 * The value of an unreadable record. It is a row without columns, so no rule accepts it, and it does not count as
 * missing. The next write of the key replaces it.
 */
export const DAMAGED: readonly unknown[] = Object.freeze([])

export function decode(record: StoredRecord | null): Decoded | null {
  if (record === null) return null
  const { version } = record
  const parsed = parse(record.value)
  if (Array.isArray(parsed) && isLineage(parsed.at(-1))) {
    const lineage = parsed.pop() as string[]
    return { version, decoded: parsed, lineage }
  }
  if (typeof parsed !== 'object' || parsed === null || !('lineage' in parsed) || !isLineage(parsed.lineage))
    return { version, decoded: DAMAGED, lineage: [] }
  const { lineage, ...value } = parsed
  const names = Object.keys(value)
  const isAlone = names.length === 1 && names[0] === 'value'
  const decoded = isAlone ? (value as { value?: unknown }).value : names.length === 0 ? null : value
  return { version, decoded, lineage }
}

const isLineage = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string')

/** `null` for invalid JSON, which no rule writes. */
function parse(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return null
  }
}

/** The last versions of other writers, for a record that gets the version `version`. */
export function lineageAfter(record: Decoded | null | undefined, version: string): string[] {
  if (record === null || record === undefined) return []
  const writer = writerOf(version)
  return [record.version, ...record.lineage].filter((one) => writerOf(one) !== writer).slice(0, MOST_WRITERS)
}

type Found = Array<StoredRecord | null>

/**
 * Commits, and sends the commit again once if its answer was lost. `null`: done; otherwise the conflicting records.
 * Rejects with the store's error. Also rejects if the outcome is unknown: the commit may have been done.
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
    // Only an outage can lose the answer. A refusal or a lock wrote nothing.
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

/** Reads, and reads again once if the answer was lost. */
export async function readSurely(store: RecordStore, partition: string, keys: readonly string[]): Promise<Found> {
  try {
    return await store.read(partition, keys)
  } catch (error) {
    if (!isOutage(error)) throw error
    return await store.read(partition, keys)
  }
}

/**
 * Decides from the current record under the key of one write whether the first commit was done. `unclear`: the record
 * does not show it. `null`: the write puts no record under the key, so the record is no evidence.
 */
function standingOf(
  { expect, change }: RecordWrite,
  record: StoredRecord | null
): 'done' | 'not done' | 'unclear' | null {
  if (typeof change !== 'object') return null
  // A missing record proves nothing if one was expected. It may have expired, or another commit may have removed it
  // without reading it, before or after the first commit.
  if (record === null) return expect === null ? 'not done' : 'unclear'
  const { version, lineage } = decode(record) ?? { version: '', lineage: [] }
  const writer = writerOf(change.version)
  const ours = [version, ...lineage].find((one) => writerOf(one) === writer)
  if (ours === undefined) return lineage.length < MOST_WRITERS ? 'not done' : 'unclear'
  if (ours === change.version) return 'done'
  // If `ours` is later, another call of this writer has changed the record since. Then the record shows nothing about
  // the first commit.
  return ours < change.version ? 'not done' : 'unclear'
}
