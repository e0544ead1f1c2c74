import { randomBytes } from 'node:crypto'
import type { RecordStore, RecordWrite } from '../../ports/record-store.ts'
import { integer } from '../sql/rows.ts'
import { type PostgresDatabase, quoted } from './database.ts'
import { connect } from './migrations.ts'
import { recordStatements } from './record-statements.ts'
import { recordMigrations, recordRights, requireRights } from './record-tables.ts'
import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState } from '../../records/state.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { ApiKeyStore } from '../../ports/api-key-store.ts'
import { recordApiKeyStore } from '../../records/api-key-store.ts'

interface PostgresRecordsOptions {
  /** The name of the function in messages about missing rights. */
  what: string
  /** A plain name. Each table is a store of its own. */
  table: string
  /** The schema that holds the table; created where it does not exist. Default: the search path decides. */
  schema?: string | undefined
  /** True if a `Pool` or `Client` of `pg` gets statements with names. Default true. */
  namedStatements?: boolean | undefined
}

/** Records that a sweep removes in one statement. */
const SLICE = 500
const TRIAL_MS = 60_000

/**
 * Records in a table of PostgreSQL (12 or newer): any number of instances, durable. Every operation is one statement,
 * and reads or replacements of one record that come in one turn share it. A commit of one record that is not as
 * expected reads it again: the snapshot of a statement is older than the rows that it waited for, so its answer would
 * be old too.
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
   * Creates, replaces and removes records, and sweeps none, to find out at the start whether the role can. Two, because
   * only replacements that come together call the function for them.
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
 * isolation must be READ COMMITTED, the default. A statement may serve several requests, so `db` must not choose a
 * database by the request. The table is made by versioned migrations at the first use, by as many instances at once as
 * there are. Rejects with an error that has the SQLSTATE as its `code`, and no value of a row or parameter, on an
 * outage. How long an operation may take is the pool's to bound (`connectionTimeoutMillis`, `query_timeout`). Give a
 * `Pool` a listener for `error`: without one, Node.js ends the process when an idle connection is cut.
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
   * The schema that holds the table, as of `postgresState`, and it may be the same. Default: the search path decides.
   */
  schema?: string | undefined
  /** True if statements get names, as for `postgresState`. Default true. */
  namedStatements?: boolean | undefined
}

/**
 * Second factors in PostgreSQL (12 or newer): any number of instances, durable. `db` is anything with `query(text,
 * params)`: a `Pool` of `pg`, or PGlite, and may be that of the state or the users. Every statement is a transaction,
 * and may serve several requests, so `db` must not choose a database by the request; the isolation must be READ
 * COMMITTED, the default. The table is made by versioned migrations, by `prepare` or at the first use. Rejects with an
 * error that has the SQLSTATE as its `code`, and no value of a row or parameter, on an outage and on a user id that
 * PostgreSQL can't store.
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

/** API keys in PostgreSQL, in a table of their own. All else is as for `postgresFactorStore`. */
export function postgresApiKeyStore(
  db: PostgresDatabase,
  { schema, namedStatements = true, ...others }: PostgresFactorStoreOptions = {}
): Required<ApiKeyStore> {
  noOthers('postgresApiKeyStore', others)
  return recordApiKeyStore(
    postgresRecords(db, { what: 'postgresApiKeyStore', table: 'authority_api_key_records', schema, namedStatements })
  )
}
