import type { FactorStore } from '../../ports/factor-store.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { PostgresDatabase } from './database.ts'
import { postgresRecords } from './record-store.ts'

export interface PostgresFactorStoreOptions {
  /**
   * The schema that holds the table, as of `postgresState`, and it may be the same. Default: the search path decides.
   */
  schema?: string | undefined
  /** As of `postgresState`. Default true. */
  namedStatements?: boolean | undefined
}

/**
 * Second factors in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text,
 * params)`: a `Pool` of `pg`, or PGlite, and may be that of the state or the users. Every trip is one statement and one
 * transaction; the isolation must be READ COMMITTED, the default. The table is made by versioned migrations, by
 * `prepare` or at the first use. Rejects with an error that has the SQLSTATE as its `code`, and no value of a row or
 * parameter, on an outage and on a user id that PostgreSQL can't store.
 */
export function postgresFactorStore(
  db: PostgresDatabase,
  { schema, namedStatements = true, ...others }: PostgresFactorStoreOptions = {}
): Required<FactorStore> {
  noOthers('postgresFactorStore', others)
  return recordFactorStore(
    postgresRecords(db, { what: 'postgresFactorStore', table: 'authority_factor_records', schema, namedStatements })
  )
}
