import { kindOf } from '../../errors.ts'
import { isStorable } from '../../protocol/bounds.ts'
import { isRow, type Row } from '../sql/rows.ts'
import { hash } from 'node:crypto'

/** The common part of a `Pool` or a `Client` of `pg`, and PGlite. Nothing of them is imported. */
export interface PostgresDatabase {
  /** One statement with `$1`, `$2` …; each its own transaction. */
  query(text: string, params?: unknown[]): Promise<{ rows: unknown[] }>
}

export type PostgresValue = string | number | boolean | null

/** Runs one statement. Rejects with an error that holds no value of a row or parameter. */
export type Query = (sql: string, ...parameters: PostgresValue[]) => Promise<Row[]>

/** Quotes a name of the host's for SQL. */
export function quoted(name: string, what: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)) throw new TypeError(`A ${what} name has letters, digits and _ only.`)
  return `"${name}"`
}

/** The only access to the database. */
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
 * SQLSTATE classes: connection, no resources, read only after a failover, shut down or starting, errors of the system.
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

/** An operation that the database did not do. `code` is the SQLSTATE or the system's error code, if there is one. */
export class PostgresError extends Error {
  readonly code: string | undefined
  /** True if the server was out of reach or is about to be. False if the statement itself was wrong. */
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
 * Replaces a driver's error. That may contain a row (`detail`), the statement and its parameters. None of them may
 * reach a log, so the driver's error is not even the cause.
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

/** A missing right or database: waiting does not help. */
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
 * The server or a pooler does not know a statement that this connection has prepared, or already has one of this name.
 */
const POOLED: readonly string[] = ['26000', '42P05']
/** A prepared plan is older than a migration of its tables. The statement was not run. */
const OUTDATED = '0A000'

/**
 * Only a `Pool` or a `Client` of `pg`: other drivers accept only a text, and a wrapper of the host may not pass names
 * on.
 */
function takesNames(db: PostgresDatabase): db is NamingDatabase {
  return (
    typeof (db as { connect?: unknown }).connect === 'function' && ('totalCount' in db || 'connectionParameters' in db)
  )
}

const codeOf = (error: unknown): unknown => (error instanceof Error ? (error as { code?: unknown }).code : undefined)

/**
 * Gives statements names, so that the server parses and plans each once per connection, which is a third of
 * PostgreSQL's work for reading a row by its key. A statement whose plan is outdated gets another name. A pooler may
 * give a client another connection for each transaction without its prepared statements (PgBouncer before 1.21). The
 * first such error ends the naming for good.
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
