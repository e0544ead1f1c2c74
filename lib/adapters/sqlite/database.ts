export type SqliteValue = string | number | null

export interface SqliteStatement {
  run(...parameters: SqliteValue[]): unknown
  get(...parameters: SqliteValue[]): unknown
  all(...parameters: SqliteValue[]): unknown[]
}

/** What `node:sqlite` (`DatabaseSync`), `better-sqlite3` and `libsql` have in common. Nothing of them is imported. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

/** A row as the driver gave it: of unknown shape, maybe without a prototype, maybe with fields of the driver's own. */
export type Row = Readonly<Record<string, unknown>>

export interface Connection {
  /** Reads. */
  query(sql: string, ...parameters: SqliteValue[]): Row[]
  /** Runs a statement that writes and, by RETURNING, says what; in a transaction of its own where none is open. */
  change(sql: string, ...parameters: SqliteValue[]): Row[]
  /** Runs a statement that writes and returns nothing; in a transaction of its own where none is open. */
  execute(sql: string, ...parameters: SqliteValue[]): void
  /** Runs SQL of several statements, unprepared. */
  script(sql: string): void
  /** All of `work` or nothing, with the database's write lock from the start. Throws what `work` throws. */
  transaction<Result>(work: () => Result): Result
}

/** How long a writer waits for another process's transaction before SQLITE_BUSY, where the host has set nothing. */
const BUSY_TIMEOUT_MS = 5000

/** NUL, where some drivers cut a string off, and lone surrogates, which UTF-8 can't hold: either makes two names one. */
const UNSTORABLE = /[\0\p{Cs}]/u

export const isStorable = (text: string): boolean => !UNSTORABLE.test(text)

function checked (parameters: readonly SqliteValue[]): readonly SqliteValue[] {
  for (const parameter of parameters) {
    if (typeof parameter === 'string' && !isStorable(parameter)) throw new TypeError('SQLite can\'t store a string with a NUL or a lone surrogate.')
  }
  return parameters
}

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null

/**
 * The one way to the database. Everything is synchronous, so that a transaction begins and ends within a tick and no other call
 * on this connection gets in between. Statements are prepared once, when first used. Sets `busy_timeout` if it is 0.
 */
export function connect (db: SqliteDatabase): Connection {
  const statements = new Map<string, SqliteStatement>()
  const prepared = (sql: string): SqliteStatement => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = db.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  const timeout = db.prepare('PRAGMA busy_timeout').all()[0]
  if (isRow(timeout) && Number(timeout['timeout']) === 0) db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)

  let isOpen = false
  const transaction = <Result>(work: () => Result): Result => {
    // Outside the `try`: where BEGIN fails there is nothing of ours to roll back, but there may be something of the host's.
    db.exec('BEGIN IMMEDIATE')
    isOpen = true
    try {
      const result = work()
      db.exec('COMMIT')
      return result
    } catch (error) {
      // SQLite rolls back by itself on some errors, and says so by refusing this; the first error is the one that matters.
      try { db.exec('ROLLBACK') } catch {}
      throw error
    } finally {
      isOpen = false
    }
  }
  // A single write would be atomic without BEGIN. But a prepared statement that meets SQLITE_BUSY is not reset by libsql, and as
  // long as it counts as running no transaction of this connection can commit. So the lock is always got by an unprepared BEGIN.
  const locked = <Result>(work: () => Result): Result => isOpen ? work() : transaction(work)

  return {
    query: (sql, ...parameters) => prepared(sql).all(...checked(parameters)).filter(isRow),
    change: (sql, ...parameters) => locked(() => prepared(sql).all(...checked(parameters)).filter(isRow)),
    execute (sql, ...parameters) { locked(() => prepared(sql).run(...checked(parameters))) },
    script (sql) { db.exec(sql) },
    transaction
  }
}

const unreadable = (column: string): TypeError => new TypeError(`The database holds a ${column} of the wrong type.`)

export function text (row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw unreadable(column)
  return value
}

export function textOrNull (row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column)
}

/** A whole number. Drivers set to big integers give those. */
export function integer (row: Row, column: string): number {
  const value = typeof row[column] === 'bigint' ? Number(row[column]) : row[column]
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw unreadable(column)
  return value
}

export function flag (row: Row, column: string): boolean {
  const value = integer(row, column)
  if (value !== 0 && value !== 1) throw unreadable(column)
  return value === 1
}

/** A JSON object, without `__proto__`: copied on by plain assignment, that would become a prototype. */
export function jsonObject (row: Row, column: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text(row, column))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unreadable(column)
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== '__proto__'))
}

/** A JSON array of strings. */
export function texts (row: Row, column: string): string[] {
  const value: unknown = JSON.parse(text(row, column))
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) throw unreadable(column)
  return value
}
