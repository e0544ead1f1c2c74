import { randomBytes } from 'node:crypto'
import { ANY, type RecordStore, type RecordWrite, type StoredRecord } from '../../ports/record-store.ts'
import { integer, type Row, rowsIn, text } from '../sql/rows.ts'
import { type PostgresDatabase, type PostgresValue, type Query, quoted } from './database.ts'
import { connect } from './migrations.ts'
import { dueAt, recordMigrations, recordRights, requireRights, sweepAfter } from './record-tables.ts'
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
 * Records in a table of PostgreSQL (12 or newer): any number of instances, durable. Every operation is one statement
 * and one transaction, but a commit of one record that is not as expected reads it again: the snapshot of a statement
 * is older than the rows that it waited for, so its answer would be old too.
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
  const read = readerOf(query, name)
  const commitOne = committerOfOne(query, name)
  const commitAll = committerOfAll(query, name)

  async function commit(
    partition: string,
    writes: readonly RecordWrite[],
    now: number
  ): Promise<null | Array<StoredRecord | null>> {
    const [only] = writes
    if (only === undefined) return null
    if (writes.length > 1 || mayBeNew(only)) return await commitAll(partition, writes, now)
    return (await commitOne(partition, only, now)) ? null : await read(partition, [only.key])
  }

  /** Creates, replaces and removes a record, to find out at the start whether the role can write. */
  async function trial(): Promise<void> {
    const partition = randomBytes(12).toString('base64url')
    const now = Date.now()
    const change = (version: string) => ({
      kind: 'trial',
      userId: null,
      version,
      value: '0',
      expiresAt: now + TRIAL_MS
    })
    await commit(partition, [{ key: 'trial', expect: null, change: change('first') }], now)
    await commit(partition, [{ key: 'trial', expect: 'first', change: change('second') }], now)
    await commit(partition, [{ key: 'trial', expect: 'second', change: 'delete' }], now)
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
      let removed
      do {
        const [row] = await query(`SELECT ${name}_sweep($1, $2) AS removed`, now, SLICE)
        removed = row === undefined ? 0 : integer(row, 'removed')
      } while (removed === SLICE)
    }
  }
}

/** Only the function takes the lock of the partition, which a commit that may add a row needs. */
const mayBeNew = ({ expect, change }: RecordWrite): boolean =>
  expect === null || (expect === ANY && typeof change === 'object')

const recordOf = (row: Row): StoredRecord => ({ version: text(row, 'version'), value: text(row, 'value') })

function inOrder(keys: readonly string[], rows: readonly Row[]): Array<StoredRecord | null> {
  const found = new Map(rows.map((row) => [text(row, 'key'), recordOf(row)]))
  return keys.map((key) => found.get(key) ?? null)
}

/** Passes an array as text, because drivers encode arrays differently. */
const arrayOf = (elements: readonly PostgresValue[]): string =>
  `{${elements
    .map((element) => (typeof element === 'string' ? `"${element.replaceAll(/["\\]/g, '\\$&')}"` : String(element)))
    .join()}}`

function readerOf(query: Query, name: string) {
  const selectOne = `SELECT version, value FROM ${name} WHERE part = $1 AND key = $2`
  const selectMany = `SELECT key, version, value FROM ${name} WHERE part = $1 AND key = ANY ($2::text::text[])`
  return async (partition: string, keys: readonly string[]): Promise<Array<StoredRecord | null>> => {
    const [first] = keys
    if (first === undefined) return []
    if (keys.length > 1) return inOrder(keys, await query(selectMany, partition, arrayOf(keys)))
    const [row] = await query(selectOne, partition, first)
    return [row === undefined ? null : recordOf(row)]
  }
}

/** Says whether the record was as expected. */
function committerOfOne(query: Query, name: string) {
  const one = 'WHERE part = $1 AND key = $2 AND version = $3'
  const compare = `SELECT 1 AS done FROM ${name} ${one}`
  const remove = `DELETE FROM ${name} ${one} RETURNING 1 AS done`
  const removeAny = `DELETE FROM ${name} WHERE part = $1 AND key = $2`
  const replace = `UPDATE ${name} SET version = $4, value = $5, kind = $6, user_id = $7, expires_at = $8,
    sweep_after = ${sweepAfter('$8', '$9', '$10')} ${one} RETURNING 1 AS done`
  return async (partition: string, { key, expect, change }: RecordWrite, now: number): Promise<boolean> => {
    if (expect === ANY) {
      if (change === 'delete') await query(removeAny, partition, key)
      return true
    }
    if (change === 'keep') return (await query(compare, partition, key, expect)).length === 1
    if (change === 'delete') return (await query(remove, partition, key, expect)).length === 1
    const { version, value, kind, userId, expiresAt } = change
    const due = dueAt(expiresAt, now)
    const rows = await query(replace, partition, key, expect, version, value, kind, userId, expiresAt, due, now)
    return rows.length === 1
  }
}

function committerOfAll(query: Query, name: string) {
  const texts = Array.from({ length: 6 }, (_, index) => `$${index + 2}::text::text[]`).join(', ')
  const statement = `SELECT ${name}_commit($1, ${texts}, $8::text::bigint[], $9::text::bigint[], $10) AS found`
  return async (
    partition: string,
    writes: readonly RecordWrite[],
    now: number
  ): Promise<null | Array<StoredRecord | null>> => {
    const puts = writes.map(({ change }) => (typeof change === 'object' ? change : null))
    const versions = writes.map(({ change }) => (change === 'delete' ? '' : change === 'keep' ? null : change.version))
    const keys = writes.map(({ key }) => key)
    const [row] = await query(
      statement,
      partition,
      arrayOf(keys),
      arrayOf(writes.map(({ expect }) => expect)),
      arrayOf(versions),
      arrayOf(puts.map((put) => put?.kind ?? null)),
      arrayOf(puts.map((put) => put?.userId ?? null)),
      arrayOf(puts.map((put) => put?.value ?? null)),
      arrayOf(puts.map((put) => put?.expiresAt ?? null)),
      arrayOf(puts.map((put) => (put === null ? null : dueAt(put.expiresAt, now)))),
      now
    )
    if (row === undefined) throw new TypeError('The database answered a SELECT with no row.')
    return row['found'] === null ? null : inOrder(keys, rowsIn(row, 'found'))
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
