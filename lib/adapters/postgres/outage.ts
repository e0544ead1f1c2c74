/**
 * SQLSTATE classes whose messages contain only names of the server (roles, tables, limits) and never values of a row.
 */
const TELLING = /^(08|25|28|3D|3F|40|42|53|54|55|57|58)/
/**
 * SQLSTATE classes: connection, no resources, read only after a failover, shut down or starting, errors of the system.
 */
const PASSING = /^(08|25006|53|57|58)/
/** Read only after a failover, and a full disk. */
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
export function outage(error: unknown): PostgresError {
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
