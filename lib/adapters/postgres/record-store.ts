import { randomBytes } from 'node:crypto'
import type { RecordStore, RecordWrite } from '../../ports/record-store.ts'
import { integer } from '../sql/rows.ts'
import { type PostgresDatabase, quoted } from './database.ts'
import { connect } from './migrations.ts'
import { recordStatements } from './record-statements.ts'
import { recordMigrations, recordRights, requireRights } from './record-tables.ts'
import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState, type RecordStateOptions } from '../../records/state.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { ApiKeyStore } from '../../ports/api-key-store.ts'
import { recordApiKeyStore } from '../../records/api-key-store.ts'

interface PostgresRecordsOptions {
  /** The name of the function in messages about missing rights. */
  what: string
  /** The table's name, which is used unquoted. Each table is a separate store. */
  table: string
  /** The schema that holds the table. It is created if it does not exist. Default: the search path decides. */
  schema?: string | undefined
  /** True to use named prepared statements with a `Pool` or `Client` of `pg`. Default true. */
  namedStatements?: boolean | undefined
}

/** The maximum number of records that a sweep removes in one statement. */
const SLICE = 500
const TRIAL_MS = 60_000

/**
 * Records in a table of PostgreSQL (12 or newer): any number of instances, durable. A read is one statement. Up to 64
 * reads of a single record in one turn of the event loop share a statement, and so do up to 64 replacements. A commit
 * is one statement too, with one exception. If the replacement, removal or comparison of a single record finds another
 * version, a second statement reads the record. The first cannot return it, because the snapshot of a statement is
 * older than a row that it waited for.
 */
export function postgresRecords(
  db: PostgresDatabase,
  { what, table, schema, namedStatements = true }: PostgresRecordsOptions
): RecordStore & Required<Pick<RecordStore, 'prepare' | 'pending' | 'time'>> {
  const prefix = schema === undefined ? '' : `${quoted(schema, 'schema')}.`
  const { query, prepare, pending } = connect(db, {
    component: `records:${table}`,
    steps: recordMigrations(prefix, table),
    prefix,
    named: namedStatements
  })
  const name = `${prefix}${table}`
  const { read, commit } = recordStatements(query, name)

  /**
   * Checks at the start whether the role has all rights: creates, replaces and removes two records, and calls the
   * sweep. Uses two records, because only joined replacements call the SQL function `_replace`.
   */
  async function trial(): Promise<void> {
    const partition = randomBytes(12).toString('base64url')
    const now = Date.now()
    const made = { kind: 'trial', userId: null, value: '0', expiresAt: now + TRIAL_MS }
    const both = async (write: Omit<RecordWrite, 'key'>): Promise<void> => {
      await Promise.all(['one', 'two'].map((key) => commit(partition, [{ key, ...write }], now)))
    }
    await both({ expect: null, change: { ...made, version: 'first' } })
    await both({ expect: 'first', change: { ...made, version: 'second' } })
    await both({ expect: 'second', change: 'delete' })
    await sweepSlice(0)
  }

  async function sweepSlice(now: number): Promise<number> {
    const [row] = await query(`SELECT ${name}_sweep($1, $2) AS removed`, now, SLICE)
    return row === undefined ? 0 : integer(row, 'removed')
  }

  return {
    kind: 'postgres',
    shared: true,
    durable: true,
    evicts: false,
    read,
    commit,
    pending,
    async prepare() {
      await prepare()
      await requireRights(query, { what, prefix, rights: recordRights(table) }, trial)
    },
    async time() {
      const [row] = await query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now')
      if (row === undefined) throw new TypeError('The database answered a SELECT with no row.')
      return integer(row, 'now')
    },
    async sweep(now) {
      while ((await sweepSlice(now)) === SLICE);
    }
  }
}

export interface PostgresStateOptions extends Omit<RecordStateOptions, 'remembered'> {
  /**
   * The schema that holds the tables. Its name has letters, digits and `_`. It is created if it does not exist.
   * Default: the search path decides.
   */
  schema?: string | undefined
  /**
   * True to use named prepared statements with a `Pool` or `Client` of `pg`, which the server parses once for each
   * connection. Set `false` behind a PgBouncer older than 1.21 in transaction mode. Default true.
   */
  namedStatements?: boolean | undefined
}

/**
 * State in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text, params)`: a
 * `Pool` of `pg`, or PGlite. Every statement is a transaction, so transaction pooling (PgBouncer) works. The isolation
 * level must be READ COMMITTED, the default. A statement may serve several requests, so `db` must not choose a database
 * by the request. Versioned migrations make the table, by `prepare` or at the first use. Any number of instances may
 * run them at once. On an outage, rejects with an error whose `code` is the SQLSTATE or the system's error code, if
 * there is one. The error contains no value of a row or parameter. Limit the time of an operation in the pool
 * (`connectionTimeoutMillis`, `query_timeout`). Give a `Pool` a listener for `error`, because without one Node.js ends
 * the process when an idle connection is cut.
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

export interface PostgresFactorStoreOptions {
  /**
   * The schema that holds the table. It may be the schema of `postgresState`, and is created if it does not exist.
   * Default: the search path decides.
   */
  schema?: string | undefined
  /** True to use named prepared statements, as for `postgresState`. Default true. */
  namedStatements?: boolean | undefined
}

/**
 * Second factors in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text,
 * params)`: a `Pool` of `pg`, or PGlite. The state and the users may use the same `db`. Every statement is a
 * transaction, and may serve several requests, so `db` must not choose a database by the request. The isolation level
 * must be READ COMMITTED, the default. Versioned migrations make the table, by `prepare` or at the first use. On an
 * outage, rejects with an error whose `code` is the SQLSTATE or the system's error code, if there is one. The error
 * contains no value of a row or parameter. Rejects with `TypeError` for a user id that PostgreSQL cannot store (a NUL
 * or a lone surrogate).
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

/** API keys in PostgreSQL, in a table of their own. Otherwise works like `postgresFactorStore`. */
export function postgresApiKeyStore(
  db: PostgresDatabase,
  { schema, namedStatements = true, ...others }: PostgresFactorStoreOptions = {}
): Required<ApiKeyStore> {
  noOthers('postgresApiKeyStore', others)
  return recordApiKeyStore(
    postgresRecords(db, { what: 'postgresApiKeyStore', table: 'authority_api_key_records', schema, namedStatements })
  )
}
