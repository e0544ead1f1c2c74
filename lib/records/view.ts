/** A value that a decision leaves under a key. */
export interface Draft {
  /** The kind of record, for operators: the guide for the state lists the kinds. Nothing depends on it. */
  kind: string
  /** The user whose record it is; `null`: nobody's. */
  userId: string | null
  /** Anything that JSON can say. The view keeps it, so it shares no array or object with what callers have. */
  value: unknown
  /** Milliseconds since the epoch, or `NEVER`. */
  expiresAt: number
}

/**
 * The records of one partition as a rule sees and changes them. A rule runs again where a record is missing or has
 * changed, so it has no effect but on its view. Values are not to be changed, and not to be handed out uncopied.
 */
export interface View {
  /** True if the store may lose one record without another. */
  evicts: boolean
  /** The value under the key; `null` where there is none. The rule relies on it: the commit compares its version. */
  get(key: string): unknown
  /** The same for many keys, which takes one trip. */
  all(keys: readonly string[]): unknown[]
  /** The same, but the commit does not compare: for values whose change makes no decision wrong. */
  peek(keys: readonly string[]): unknown[]
  put(key: string, draft: Draft): void
  /** Also where there is no record. A key that was not looked at is removed whatever there is. */
  remove(key: string): void
  /** A text that is never made twice. */
  unique(): string
}

/** The value as a row of so many columns; `null` where there is none, or where it is damaged and counts for nothing. */
export const rowOf = <Row extends readonly unknown[]>(value: unknown, columns: Row['length']): Row | null =>
  Array.isArray(value) && value.length === columns ? (value as unknown as Row) : null

/** A rule with its arguments: a pure function of the view. */
export type Decide<Outcome> = (view: View) => Outcome
