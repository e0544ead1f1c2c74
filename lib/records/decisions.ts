import { ANY, type RecordWrite, type StoredRecord } from '../ports/record-store.ts'
import { newVersion } from './chance.ts'
import type { Decide, Draft, View } from './view.ts'

/** A record with its value decoded. */
export interface Decoded extends StoredRecord {
  decoded: unknown
}

/** The records that a decision may look at, `null` where there is none. */
export interface Snapshot {
  records: Map<string, Decoded | null>
  /** Whether they are only remembered. Then they are the base of a commit, and never of an answer without one. */
  isGuess: boolean
}

type Change = Draft | 'delete'

/** What a call came to. An error is an outcome too: a rule that throws has looked at records as any other. */
export type Outcome = { value: unknown } | { error: unknown }

export interface Decisions {
  outcomes: Outcome[]
  changes: Map<string, Change>
  /** Keys that an outcome rests on. */
  relied: Set<string>
  /** Keys that a rule asked for and the snapshot lacks. Unless it is empty, nothing else counts. */
  missing: Set<string>
}

/** Thrown out of a rule by its view. No rule catches it. */
class MissingRecords extends Error {
  override name = 'MissingRecords'
}

export const decodedOf = (record: StoredRecord | null): Decoded | null =>
  record === null ? null : { value: record.value, version: record.version, decoded: parsed(record.value) }

function parsed(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    // The parser's own error quotes what it could not read.
    throw new TypeError('The store holds a record that is no JSON.')
  }
}

/** Runs the decisions one after the other, each on what the ones before it left. */
export function decideAll(snapshot: Snapshot, decides: ReadonlyArray<Decide<unknown>>, evicts: boolean): Decisions {
  const changes = new Map<string, Change>()
  const relied = new Set<string>()
  const missing = new Set<string>()
  const outcomes = decides.map((decide): Outcome => {
    const own = new Map<string, Change>()
    try {
      const value = decide(viewOf(snapshot, changes, own, relied, missing, evicts))
      for (const [key, change] of own) changes.set(key, change)
      return { value }
    } catch (error) {
      return { error }
    }
  })
  return { outcomes, changes, relied, missing }
}

function viewOf(
  { records }: Snapshot,
  changes: ReadonlyMap<string, Change>,
  own: Map<string, Change>,
  relied: Set<string>,
  missing: Set<string>,
  evicts: boolean
): View {
  const peek = (keys: readonly string[]): unknown[] => {
    let isMissing = false
    const values = keys.map((key): unknown => {
      const change = own.get(key) ?? changes.get(key)
      if (change !== undefined) return change === 'delete' ? null : change.value
      const record = records.get(key)
      if (record === undefined) {
        missing.add(key)
        isMissing = true
      }
      return record?.decoded ?? null
    })
    if (isMissing) throw new MissingRecords()
    return values
  }
  const all = (keys: readonly string[]): unknown[] => {
    for (const key of keys) relied.add(key)
    return peek(keys)
  }
  return {
    evicts,
    get: (key) => all([key])[0],
    all,
    peek,
    put(key, draft) {
      own.set(key, draft)
    },
    remove(key) {
      own.set(key, 'delete')
    },
    unique: newVersion
  }
}

/** The commit of these decisions: their changes, and a comparison of all that they rest on. */
export function writesOf({ records }: Snapshot, { changes, relied }: Decisions): RecordWrite[] {
  const versionOf = (key: string): string | null => records.get(key)?.version ?? null
  const writes = [...changes].map(([key, change]): RecordWrite => {
    const expect = relied.has(key) ? versionOf(key) : ANY
    // Nothing to remove: the record that is not there only has to stay away.
    if (change === 'delete') return { key, expect, change: expect === null ? 'keep' : 'delete' }
    const { kind, userId, value, expiresAt } = change
    return { key, expect, change: { kind, userId, value: JSON.stringify(value), version: newVersion(), expiresAt } }
  })
  for (const key of relied) if (!changes.has(key)) writes.push({ key, expect: versionOf(key), change: 'keep' })
  return writes
}
