import { kindOf } from '../../errors.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { isRow, type Row } from '../sql/rows.ts'
import { setTimeout as wait } from 'node:timers/promises'
import { OutageError } from '../../ports/outage.ts'

export type SqliteValue = string | number | null

export interface SqliteStatement {
  run(...parameters: SqliteValue[]): unknown
  get(...parameters: SqliteValue[]): unknown
  all(...parameters: SqliteValue[]): unknown[]
}

/**
 * The methods that `node:sqlite` (`DatabaseSync`), `better-sqlite3` and `libsql` have in common. This package imports
 * none of them.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

export interface Connection {
  /** Runs a statement that only reads, and returns its rows. */
  query(sql: string, ...parameters: SqliteValue[]): Row[]
  /** Runs a statement that writes and returns rows by RETURNING, in a transaction of its own if none is open. */
  change(sql: string, ...parameters: SqliteValue[]): Row[]
  /** Runs a statement that writes and returns nothing, in a transaction of its own if none is open. */
  execute(sql: string, ...parameters: SqliteValue[]): void
  /** Runs SQL of several statements, unprepared. */
  script(sql: string): void
  /**
   * Runs all of `work` or nothing, under the database's write lock from the start.
   * @throws the error of `work` or of SQLite, after a rollback
   */
  transaction<Result>(work: () => Result): Result
  /**
   * Lets the transactions of `work` block this process while they wait for the lock. For migrations, because every
   * request needs the migrated tables anyway.
   */
  blocking<Result>(work: () => Result): Result
}

/** The `busy_timeout` of readers, migrations and the host's own statements, unless the host has set one. */
const BUSY_TIMEOUT_MS = 5000

function checked(parameters: readonly SqliteValue[]): readonly SqliteValue[] {
  for (const parameter of parameters) {
    if (typeof parameter === 'string' && !isStorable(parameter))
      throw new TypeError("SQLite can't store a string with a NUL or a lone surrogate.")
  }
  return parameters
}

/**
 * Wraps `db`. All access to the database goes through the result. Everything is synchronous, so that a transaction
 * begins and ends within a tick and no other call on this connection runs in between. Statements are prepared once, at
 * their first use. Sets `busy_timeout` if it is 0. Outside of `blocking`, a transaction throws SQLITE_BUSY at once if
 * another process has the lock, because waiting here would block every request. `patient` waits and retries instead.
 */
export function connect(db: SqliteDatabase): Connection {
  if (typeof (db as Partial<SqliteDatabase> | null | undefined)?.prepare !== 'function')
    throw new TypeError(
      'A store in SQLite takes an open database: a DatabaseSync of node:sqlite, or one of better-sqlite3 or libsql. ' +
        `It got ${typeof db === 'string' ? 'a string: open the file first, as new DatabaseSync(file)' : kindOf(db)}.`
    )
  const statements = new Map<string, SqliteStatement>()
  const prepared = (sql: string): SqliteStatement => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = db.prepare(sql)
    statements.set(sql, statement)
    return statement
  }

  const timeout = db.prepare('PRAGMA busy_timeout').all()[0]
  const usual = isRow(timeout) && Number(timeout['timeout']) > 0 ? Number(timeout['timeout']) : BUSY_TIMEOUT_MS
  const restore = `PRAGMA busy_timeout = ${usual}`
  db.exec(restore)

  let isOpen = false
  let isBlocking = false
  const transaction = <Result>(work: () => Result): Result => {
    // Does not roll back if BEGIN fails, because only a transaction of the host can be open then.
    try {
      db.exec(isBlocking ? 'BEGIN IMMEDIATE' : 'PRAGMA busy_timeout = 0; BEGIN IMMEDIATE')
    } catch (error) {
      db.exec(restore)
      throw error
    }
    isOpen = true
    try {
      const result = work()
      db.exec(`COMMIT; ${restore}`)
      return result
    } catch (error) {
      // SQLite rolls back by itself on some errors and then refuses ROLLBACK. Ignores that second error.
      try {
        db.exec('ROLLBACK')
      } catch {}
      db.exec(restore)
      throw error
    } finally {
      isOpen = false
    }
  }
  // A single write would be atomic without BEGIN. But libsql does not reset a prepared statement that failed with
  // SQLITE_BUSY, and while that statement counts as running, no transaction of this connection can commit. So an
  // unprepared BEGIN always takes the lock.
  const locked = <Result>(work: () => Result): Result => (isOpen ? work() : transaction(work))

  return {
    query: (sql, ...parameters) =>
      prepared(sql)
        .all(...checked(parameters))
        .filter(isRow),
    change: (sql, ...parameters) =>
      locked(() =>
        prepared(sql)
          .all(...checked(parameters))
          .filter(isRow)
      ),
    execute(sql, ...parameters) {
      locked(() => prepared(sql).run(...checked(parameters)))
    },
    script(sql) {
      db.exec(sql)
    },
    transaction,
    blocking(work) {
      isBlocking = true
      try {
        return work()
      } finally {
        isBlocking = false
      }
    }
  }
}

/**
 * The time in milliseconds for which an operation is retried while another process has the lock. It is below the
 * boundary's time limit of two seconds for a call of the state, so that the caller gets SQLite's own error.
 */
const PATIENCE_MS = 1500
const LONGEST_PAUSE_MS = 25
/** SQLite error codes for temporary conditions, as opposed to a wrong statement. */
const CODES = { SQLITE_BUSY: 5, SQLITE_READONLY: 8, SQLITE_FULL: 13 }

/**
 * Finds the code of a temporary condition. `undefined` for any other error. Drivers add a reason in the higher bits of
 * the number or at the end of the name.
 */
export function codeOf(error: unknown): keyof typeof CODES | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return (Object.keys(CODES) as Array<keyof typeof CODES>).find(
    (name) =>
      (typeof code === 'string' && code.startsWith(name)) ||
      (typeof errcode === 'number' && (errcode & 0xff) === CODES[name])
  )
}

const isBusy = (error: unknown): boolean => codeOf(error) === 'SQLITE_BUSY'

/** Converts the error of a file that cannot be written to an `OutageError`. Returns any other error unchanged. */
function thrown(error: unknown): unknown {
  const code = codeOf(error)
  return code === undefined || code === 'SQLITE_BUSY'
    ? error
    : new OutageError(`SQLite writes nothing now (${code}).`, { refusesWrites: true })
}

/**
 * Retries `work` for 1.5 seconds while another process has the lock. Unlike SQLite's own wait, this wait does not block
 * the event loop. Work that fails because of the lock has done nothing or was rolled back. Rejects with the driver's
 * error, or with an outage if the file cannot be written.
 */
export async function patient<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  // Starts before the first try, so that a migration that waited inside SQLite is not tried again.
  const until = performance.now() + PATIENCE_MS
  for (let pause = 1; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isBusy(error) || performance.now() >= until) throw thrown(error)
    }
    await wait(pause)
  }
}

/** Wraps all methods of a store with `patient`. */
export function patientStore<Store extends object>(store: Store): Store {
  const methods = Object.entries(store).map(([name, method]: [string, (...args: unknown[]) => Promise<unknown>]) => [
    name,
    (...args: unknown[]): Promise<unknown> => patient(() => method(...args))
  ])
  return Object.fromEntries(methods) as Store
}
