/** A record as the store holds it. */
export interface StoredRecord {
  /** JSON text. The store never looks into it. */
  value: string
  /** Made by the writer of the record. No two writes have the same version. */
  version: string
}

/** A value to be stored. */
export interface NewRecord extends StoredRecord {
  /** The kind of the record, for operators: a column of SQL stores. No decision depends on it. */
  kind: string
  /** The user whom the record belongs to, for operators. `null`: nobody's. */
  userId: string | null
  /**
   * Milliseconds since the epoch, or `NEVER`. The store may remove the record after this time, but not before, unless
   * it `evicts`. Rules do not rely on the removal: a value that can expire contains its own end.
   */
  expiresAt: number
}

/** One record of a commit: its required version and its change. */
export interface RecordWrite {
  key: string
  /** The version that the record must have. `null`: there must be no record. `ANY`: any version, or no record. */
  expect: string | null
  /** `keep`: the record is only compared. `delete`: also succeeds if there is no record. */
  change: NewRecord | 'delete' | 'keep'
}

/** `expiresAt` of a record that has no end. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** `expect` of a write that replaces or deletes any version, or no record. No version is equal to this text. */
export const ANY = '*'

/** True if the stored record (`null`: none) has the version that the write expects. */
export const isExpected = ({ expect }: Pick<RecordWrite, 'expect'>, found: StoredRecord | null): boolean =>
  expect === ANY || expect === (found?.version ?? null)

/** Every version has this length, and consists of the characters of base64url. */
export const VERSION_LENGTH = 14

/**
 * Storage for records: all that a database has to do for a state or for second factors. The store applies no rules. The
 * rules (`lib/records`) read records, decide, and commit by comparing versions.
 *
 * Records lie in partitions: one for each user, and a few of the service. A partition is a text of 1 to 43 characters
 * of base64url. A key is a text of 1 to 200 printable ASCII characters. A value is JSON of at most 1 MiB.
 *
 * Every operation is atomic within its partition across all instances, and linearizable: it takes effect at one moment
 * between call and answer. An operation rejects if it could not be done or its answer was lost. If the server was out
 * of reach, the error has `isOutage: true`. A commit that rejected may have taken effect.
 *
 * The contract suite is `recordStoreContract` of `fastify-authority/testing`.
 */
export interface RecordStore {
  /** The store's name in messages: `sqlite`, `redis`, … `memory` means that the contents end with the process. */
  kind: string
  /** True if several processes share the contents. */
  shared: boolean
  /** True if commits outlive a crash of the server. */
  durable: boolean
  /** True if the server may evict single records before their end (Redis). */
  evicts: boolean
  /**
   * The records under these keys, in the order of the keys, as they were at one moment. `null` for a missing record. An
   * expired record may still be returned. `keys` has at most 4,500 different keys. For no keys, resolves to `[]`.
   */
  read(partition: string, keys: readonly string[]): Promise<Array<StoredRecord | null>>
  /**
   * Writes everything and resolves to `null`. If a record does not have the version that its write expects, writes
   * nothing and resolves to the records under the keys of all writes, in their order, as they were at that moment. No
   * key occurs twice. There are at most 4,500 writes: a user may have 1,000 records of each of four kinds, and all of
   * them can end at once. The caller may repeat a commit that rejected: the stored versions then show whether the first
   * one took effect.
   * @param now milliseconds since the epoch by the clock of the rules, for stores that keep times to live
   */
  commit(partition: string, writes: readonly RecordWrite[], now: number): Promise<null | Array<StoredRecord | null>>
  /**
   * Creates tables and checks that the store is usable. Called once at start, before any other method. Rejects with a
   * `StartError` if an operator must fix the cause; an outage rejects with another error.
   */
  prepare?(): Promise<void>
  /** The migrations that `prepare` would make, one text each. Changes nothing. */
  pending?(): Promise<string[]>
  /** The clock of the server, milliseconds since the epoch. Absent if the server uses this machine's clock. */
  time?(): Promise<number>
  /** Removes expired records, in small slices. Called about once a minute. */
  sweep(now: number): void | Promise<void>
}
