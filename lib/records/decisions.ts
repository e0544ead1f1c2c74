import { ANY, type RecordWrite } from '../ports/record-store.ts'
import { type Decoded, encode, lineageAfter } from './encoding.ts'
import type { Decide, Draft, View } from './view.ts'

/** The records that a decision may look at, `null` where there is none. */
export interface Snapshot {
  records: Map<string, Decoded | null>
  /**
   * True if the records are only remembered. Then they are the base of a commit, and never of an answer without one.
   */
  isGuess: boolean
}

type Change = Draft | 'delete'

/** The result of a call. An error is an outcome too: a rule that throws has read records like any other. */
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

/** How long a record that was removed is still told from one that never was, so that a resent commit is recognized. */
const REMOVED_MS = 60_000

/** Runs the decisions one after the other, each on what the ones before it left. */
export function decideAll(
  snapshot: Snapshot,
  decides: ReadonlyArray<Decide<unknown>>,
  traits: Pick<View, 'evicts' | 'unique'>
): Decisions {
  const changes = new Map<string, Change>()
  const relied = new Set<string>()
  const missing = new Set<string>()
  const outcomes = decides.map((decide): Outcome => {
    const own = new Map<string, Change>()
    try {
      const value = decide(viewOf(snapshot, changes, own, relied, missing, traits))
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
  traits: Pick<View, 'evicts' | 'unique'>
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
    ...traits,
    get: (key) => all([key])[0],
    all,
    peek,
    put(key, draft) {
      own.set(key, draft)
    },
    remove(key) {
      own.set(key, 'delete')
    }
  }
}

/** The commit of these decisions: their changes, and a comparison of all that they rest on. */
export function writesOf(
  { records }: Snapshot,
  { changes, relied }: Decisions,
  now: number,
  newVersion: () => string
): RecordWrite[] {
  const versionOf = (key: string): string | null => records.get(key)?.version ?? null
  const writes = [...changes].map(([key, change]): RecordWrite => {
    const isKnown = relied.has(key)
    if (change === 'delete' && !isKnown) return { key, expect: ANY, change }
    const record = isKnown ? records.get(key) : null
    const expect = isKnown ? versionOf(key) : ANY
    // Nothing to remove: the record that is not there only has to stay away.
    if (change === 'delete' && (record?.decoded ?? null) === null) return { key, expect, change: 'keep' }
    const { kind, userId, value, expiresAt } = change === 'delete' ? removedUntil(now + REMOVED_MS) : change
    const version = newVersion()
    const text = encode(value, lineageAfter(record, version))
    return { key, expect, change: { kind, userId, value: text, version, expiresAt } }
  })
  for (const key of relied) if (!changes.has(key)) writes.push({ key, expect: versionOf(key), change: 'keep' })
  return writes
}

const removedUntil = (expiresAt: number): Draft => ({ kind: 'mark', userId: null, value: null, expiresAt })
