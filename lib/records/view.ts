import { digest, partitionIn, partitionOf } from '../protocol/digest.ts'
import { ANY, type RecordWrite } from '../ports/record-store.ts'
import { type Decoded, encode, lineageAfter } from './encoding.ts'

/** A value that a rule writes under a key. */
export interface Draft {
  /** The kind of record, for operators: the guide for the state lists the kinds. Nothing depends on it. */
  kind: string
  /** The user whose record it is; `null`: nobody's. */
  userId: string | null
  /** Any JSON value. The view keeps it, so it must not share an array or object with a caller. */
  value: unknown
  /** Milliseconds since the epoch, or `NEVER`. */
  expiresAt: number
}

/**
 * The records of one partition as a rule reads and changes them. A rule runs again if a record is missing or has
 * changed, so its only effects are on its view. A rule must not change a value in place, or return a value without
 * copying it.
 */
export interface View {
  /** True if the store may lose one record without another. */
  evicts: boolean
  /** The value under the key; `null` if there is none. The rule depends on it: the commit compares its version. */
  get(key: string): unknown
  /** Like `get` for many keys, in one trip. */
  all(keys: readonly string[]): unknown[]
  /** Like `all`, but the commit compares no versions. For values whose change makes no decision wrong. */
  peek(keys: readonly string[]): unknown[]
  put(key: string, draft: Draft): void
  /** Removes the record, if there is one. A key that was not read is removed whatever its version. */
  remove(key: string): void
  /** Returns a text that no process has returned before. */
  unique(): string
}

/** The value as a row with this number of columns. `null` if the value is missing or damaged. */
export const rowOf = <Row extends readonly unknown[]>(value: unknown, columns: Row['length']): Row | null =>
  Array.isArray(value) && value.length === columns ? (value as unknown as Row) : null

/** A rule with its arguments: a pure function of the view. */
export type Decide<Outcome> = (view: View) => Outcome

/**
 * The keys of a partition's records. Each kind has its own prefix, so no record is read as a record of another kind.
 */
export const familyKey = (sid: string): string => `f:${plainName(sid)}`
export const sessionKey = (sid: string): string => `s:${plainName(sid)}`
export const INDEX = 'i'
export const GENERATION = 'g'
export const CONSENTS = 'c'
export const oneTimeTokenKey = (purpose: string): string => `t:${purpose}`
export const assertionKey = (digest: string): string => `x:${plainName(digest)}`
export const KEYS = 'k'
export const OWNER = 'o'
/** The key of a record that tests whether writes work. */
export const TRIAL = 'w'
/** The key of the text that tests whether `secret` opens the second factors. */
export const SEAL = 'e'
/** All second factors of a user. */
export const FACTORS = 'a'
export const passkeyClaimKey = (claim: string): string => `q:${plainName(claim)}`
/** All API keys of a user. */
export const API_KEYS = 'p'
/** The key of the record that names the user of an API key. */
export const apiKeyPointerKey = (digest: string): string => `d:${plainName(digest)}`
/** A request of a device. Its partition is made from its user code. */
export const DEVICE_REQUEST = 'u'
/** The partition of records of the service, without a user. */
export const SERVICE = 'service'
/** A separate partition, so that a trial write delays nothing else. */
export const TRIALS = 'trials'

const PLAIN = /^[\w-]{1,100}$/

/**
 * Returns the name if it fits into a key, otherwise `#` and its digest. No plain name contains `#`, so none can equal
 * the digest of another name.
 */
function plainName(name: string): string {
  return PLAIN.test(name) ? name : `#${digest(name)}`
}

/**
 * The partition that a public name (a sid, the digest of a one-time token) begins with. For a name that does not begin
 * with characters of base64url, a partition made from a digest of the name, so that every name leads to a valid
 * partition.
 */
export function partitionOfName(name: string): string {
  const partition = partitionIn(name)
  return PLAIN.test(partition) ? partition : partitionOf(name)
}

/**
 * The partition of the user, with which the public name must begin, because a search by the name looks only there.
 * @throws TypeError if the name begins with another partition
 */
export function requirePartition(name: string, userId: string): string {
  const partition = partitionOf(userId)
  if (partitionIn(name) !== partition)
    throw new TypeError('The name of a record must begin with the partition of its user.')
  return partition
}

/** The records that a rule may read. `null`: there is no record under the key. */
export interface Snapshot {
  records: Map<string, Decoded | null>
  /** True if the records come from memory. They can be the base of a commit, but never of a result without one. */
  isGuess: boolean
}

type Change = Draft | 'delete'

/** The result of a call. An error is an outcome too, because a rule that throws also depends on the records it read. */
export type Outcome = { value: unknown } | { error: unknown }

export interface Decisions {
  outcomes: Outcome[]
  changes: Map<string, Change>
  /** Keys on which an outcome depends. */
  relied: Set<string>
  /** Requested keys that the snapshot lacks. If there are any, the other fields are meaningless. */
  missing: Set<string>
}

/** Thrown by the view to abort a rule. No rule catches it. */
class MissingRecords extends Error {
  override name = 'MissingRecords'
}

/** The time for which a removed record leaves a mark, so that a resent commit is recognized. */
const REMOVED_MS = 60_000

/** Runs the rules in order. Each sees the changes of the rules before it. */
export function decideAll(
  { records }: Snapshot,
  calls: ReadonlyArray<{ decide: Decide<unknown> }>,
  traits: Pick<View, 'evicts' | 'unique'>
): Decisions {
  const changes = new Map<string, Change>()
  const relied = new Set<string>()
  const missing = new Set<string>()
  const outcomes = calls.map(({ decide }): Outcome => {
    const view = new RecordView(records, changes, relied, missing, traits)
    try {
      const value = decide(view)
      for (const [key, change] of view.own) changes.set(key, change)
      return { value }
    } catch (error) {
      return { error }
    }
  })
  return { outcomes, changes, relied, missing }
}

/** The view of one rule: the records, the changes of the rules before it, and its own changes. */
class RecordView implements View {
  readonly evicts: boolean
  readonly unique: () => string
  readonly own = new Map<string, Change>()
  readonly #records: ReadonlyMap<string, Decoded | null>
  readonly #changes: ReadonlyMap<string, Change>
  readonly #relied: Set<string>
  readonly #missing: Set<string>

  constructor(
    records: ReadonlyMap<string, Decoded | null>,
    changes: ReadonlyMap<string, Change>,
    relied: Set<string>,
    missing: Set<string>,
    { evicts, unique }: Pick<View, 'evicts' | 'unique'>
  ) {
    this.evicts = evicts
    this.unique = unique
    this.#records = records
    this.#changes = changes
    this.#relied = relied
    this.#missing = missing
  }

  get(key: string): unknown {
    this.#relied.add(key)
    const value = this.#valueOf(key)
    if (value === undefined) throw new MissingRecords()
    return value
  }

  all(keys: readonly string[]): unknown[] {
    for (const key of keys) this.#relied.add(key)
    return this.peek(keys)
  }

  peek(keys: readonly string[]): unknown[] {
    const values = keys.map((key) => this.#valueOf(key))
    if (values.includes(undefined)) throw new MissingRecords()
    return values
  }

  put(key: string, draft: Draft): void {
    this.own.set(key, draft)
  }

  remove(key: string): void {
    this.own.set(key, 'delete')
  }

  /** `undefined`: the snapshot lacks the record. */
  #valueOf(key: string): unknown {
    const change = this.own.get(key) ?? this.#changes.get(key)
    if (change !== undefined) return change === 'delete' ? null : change.value
    const record = this.#records.get(key)
    if (record === undefined) this.#missing.add(key)
    return record === undefined ? undefined : (record?.decoded ?? null)
  }
}

/** The writes of a commit: the changes of the rules, and a comparison of all records on which they depend. */
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
    // The record is already absent or removed, so the commit only requires that this stays so.
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
