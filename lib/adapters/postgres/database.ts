import { kindOf } from '../../errors.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { isRow, requireName, type Row } from '../sql/rows.ts'
import { hash } from 'node:crypto'

/** The method that a `Pool` and a `Client` of `pg` and PGlite have in common. This package imports none of them. */
export interface PostgresDatabase {
  /** Runs one statement with the parameters `$1`, `$2`, … in a transaction of its own. */
  query(text: string, params?: unknown[]): Promise<{ rows: unknown[] }>
}

export type PostgresValue = string | number | boolean | null

/** Runs one statement. Rejects with an error that holds no value of a row or parameter. */
export type Query = (sql: string, ...parameters: PostgresValue[]) => Promise<Row[]>

/**
 * Quotes a name that the host chose for SQL.
 * @throws TypeError if `requireName` refuses it
 */
export function quoted(name: string, what: string): string {
  requireName(name, what)
  return `"${name}"`
}

/**
 * Wraps `db`: rejects strings that PostgreSQL cannot store, and removes values of rows from errors. All access to the
 * database goes through the result.
 */
export function queryOf(db: PostgresDatabase): Query {
  if (typeof (db as Partial<PostgresDatabase> | null | undefined)?.query !== 'function')
    throw new TypeError(
      'A store in PostgreSQL takes what has query(text, params), such as a Pool of pg. ' +
        `It got ${typeof db === 'string' ? 'a string: connect first, as new Pool({ connectionString })' : kindOf(db)}.`
    )
  return async (sql, ...parameters) => {
    for (const parameter of parameters) {
      if (typeof parameter === 'string' && !isStorable(parameter))
        throw new TypeError("PostgreSQL can't store a string with a NUL or a lone surrogate.")
    }
    let answer
    try {
      answer = await db.query(sql, parameters)
    } catch (error) {
      throw outage(error)
    }
    return answer.rows.filter(isRow)
  }
}

/**
 * SQLSTATE classes whose messages contain only names of the server (roles, tables, limits) and never values of a row.
 */
const TELLING = /^(08|25|28|3D|3F|40|42|53|54|55|57|58)/
/**
 * SQLSTATE classes of temporary conditions: connection (08), read only after a failover (25006), no resources (53),
 * shutdown or start (57), errors of the system (58).
 */
const PASSING = /^(08|25006|53|57|58)/
/** Error codes of refused writes: a server that is read only after a failover, and a full disk. */
const OF_WRITES = ['25006', '53100']
const SQLSTATE = /^[0-9A-Z]{5}$/
const SYSTEM_CODE = /^E[A-Z_]+$/
/** Messages of `pg` about a connection, which have no code. */
const OF_THE_CONNECTION = [
  'Connection ended unexpectedly',
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'timeout expired',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Cannot use a pool after calling end on the pool'
]
const isOfTheConnection = (message: string): boolean =>
  message.startsWith('Connection terminated') || OF_THE_CONNECTION.includes(message)

/**
 * A failed operation. On an outage, the database may have done it nevertheless. `code` is the SQLSTATE or the system's
 * error code, if there is one.
 */
export class PostgresError extends Error {
  readonly code: string | undefined
  /** True for a temporary condition of the server or the connection. False for a wrong statement or a missing right. */
  readonly isOutage: boolean
  readonly refusesWrites: boolean
  /** The name of the violated constraint. It comes from the schema and contains no value of a row. */
  readonly constraint: string | undefined

  constructor(message: string, code: string | undefined, isOutage = false, constraint?: string) {
    super(message)
    this.constraint = constraint
    this.isOutage = isOutage
    this.refusesWrites = code !== undefined && OF_WRITES.includes(code)
    this.name = 'PostgresError'
    this.code = code
  }
}

const constraintOf = (error: unknown): string | undefined =>
  error instanceof Error && 'constraint' in error && typeof error.constraint === 'string' ? error.constraint : undefined

/**
 * Replaces a driver's error, which may contain a row (`detail`), the statement and its parameters. None of them may
 * reach a log, so the driver's error is not even the `cause` of the new one.
 */
function outage(error: unknown): PostgresError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = error instanceof Error ? error.message : ''
  if (SQLSTATE.test(code))
    return new PostgresError(
      TELLING.test(code) ? `PostgreSQL: ${message} (${code})` : `PostgreSQL refused a statement (${code}).`,
      code,
      PASSING.test(code),
      constraintOf(error)
    )
  if (SYSTEM_CODE.test(code)) return new PostgresError(`PostgreSQL can't be reached (${code}).`, code, true)
  if (isOfTheConnection(message)) return new PostgresError(`PostgreSQL: ${message}`, undefined, true)
  return new PostgresError('PostgreSQL did not answer a statement.', undefined)
}

/** True for a fault that only an operator can fix, such as a missing right or database. */
export function isForAPerson(error: unknown): boolean {
  return error instanceof PostgresError && error.code !== undefined && /^(42|3D000|3F000|28P01|0A)/.test(error.code)
}

interface NamedStatement {
  name: string
  text: string
  values: unknown[]
}
type NamingDatabase = PostgresDatabase & { query(statement: NamedStatement): Promise<{ rows: unknown[] }> }

/**
 * SQLSTATEs behind a pooler: the server does not know a statement that this connection prepared (26000), or another
 * client has already prepared a statement of this name (42P05).
 */
const POOLED: readonly string[] = ['26000', '42P05']
/** SQLSTATE of a prepared statement whose plan is older than a migration of its tables. The server did not run it. */
const OUTDATED = '0A000'

/**
 * True only for a `Pool` or a `Client` of `pg`. Other drivers accept only a text, and a wrapper of the host may not
 * pass names on.
 */
function takesNames(db: PostgresDatabase): db is NamingDatabase {
  return (
    typeof (db as { connect?: unknown }).connect === 'function' && ('totalCount' in db || 'connectionParameters' in db)
  )
}

const codeOf = (error: unknown): unknown => (error instanceof Error ? (error as { code?: unknown }).code : undefined)

/**
 * Uses named prepared statements, so that the server need not parse and plan a statement for each call. That saves a
 * third of PostgreSQL's work for reading a row by its key. A statement whose plan is outdated gets another name. A
 * pooler may use another connection for each transaction, which lacks the statements that the client prepared
 * (PgBouncer before 1.21). The first such error ends the use of names for good.
 */
export function withNamedStatements(db: PostgresDatabase): PostgresDatabase {
  if (!takesNames(db)) return db
  const names = new Map<string, string>()
  let generation = 0
  let isOff = false

  function nameOf(text: string): string {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = `authority_${hash('sha256', `${generation}:${text}`, 'hex').slice(0, 24)}`
    names.set(text, name)
    return name
  }

  return {
    async query(text, params = []) {
      if (isOff) return await db.query(text, params)
      const name = nameOf(text)
      try {
        return await db.query({ name, text, values: params })
      } catch (error) {
        const code = codeOf(error)
        if (POOLED.includes(String(code))) isOff = true
        else if (code !== OUTDATED) throw error
        else if (names.get(text) === name) {
          generation++
          names.delete(text)
        }
        // Safe to repeat, because these errors come before the statement is run.
        return await db.query(text, params)
      }
    }
  }
}
