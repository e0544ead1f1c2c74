import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState } from '../../records/state.ts'
import type { PostgresDatabase } from './database.ts'
import { postgresRecords } from './record-store.ts'

export interface PostgresStateOptions {
  /**
   * How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100; from 1
   * to 1,000.
   */
  maxFamiliesPerUser?: number | undefined
  /**
   * How many browsers one user may be signed in with on the hosted pages; one more ends the first. Default 100; from 1
   * to 1,000.
   */
  maxSessionsPerUser?: number | undefined
  /**
   * The schema that holds the tables. Its name has letters, digits and `_`; it is created where it does not exist.
   * Default: the search path decides.
   */
  schema?: string | undefined
  /**
   * True if a `Pool` or `Client` of `pg` gets statements with names, which the server plans once for each connection.
   * Default true.
   */
  namedStatements?: boolean | undefined
}

/**
 * State in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text, params)`: a
 * `Pool` of `pg`, or PGlite. Every statement is a transaction, so transaction pooling (PgBouncer) is fine; the
 * isolation must be READ COMMITTED, the default. The table is made by versioned migrations at the first use, by as many
 * instances at once as there are. Rejects with an error that has the SQLSTATE as its `code`, and no value of a row or
 * parameter, on an outage. How long an operation may take is the pool's to bound (`connectionTimeoutMillis`,
 * `query_timeout`). Give a `Pool` a listener for `error`: without one, Node.js ends the process when an idle connection
 * is cut.
 */
export function postgresState(
  db: PostgresDatabase,
  { maxFamiliesPerUser, maxSessionsPerUser, schema, namedStatements, ...others }: PostgresStateOptions = {}
): State & Required<Pick<State, 'prepare' | 'time' | 'claimFor'>> {
  noOthers('postgresState', others)
  const records = postgresRecords(db, { what: 'postgresState', table: 'authority_records', schema, namedStatements })
  const { prepare, time } = records
  return { ...recordState(records, { maxFamiliesPerUser, maxSessionsPerUser }), prepare, time }
}
