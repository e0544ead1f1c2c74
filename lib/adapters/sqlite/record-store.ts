import { setImmediate } from 'node:timers/promises'
import { isExpected, type RecordStore, type RecordWrite, type StoredRecord } from '../../ports/record-store.ts'
import { type Row, text } from '../sql/rows.ts'
import { codeOf, patient, type SqliteDatabase } from './database.ts'
import { joined } from '../sql/joined.ts'
import { connectMigrated, type MigratedConnection } from './migrations.ts'
import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState, type RecordStateOptions } from '../../records/state.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { ApiKeyStore } from '../../ports/api-key-store.ts'
import { recordApiKeyStore } from '../../records/api-key-store.ts'

interface Commit {
  partition: string
  writes: readonly RecordWrite[]
}

interface SqliteRecordsOptions {
  /** The table's name, which is used unquoted. Each table is a separate store. */
  table: string
}

/** The maximum number of rows that one statement of a sweep removes. Requests run between two statements. */
const SLICE = 500

/** The index is for the sweep. The columns `kind` and `user_id` are for operators. */
const tablesOf = (table: string): readonly string[] => [
  `CREATE TABLE ${table} (
    part TEXT NOT NULL,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    user_id TEXT,
    version TEXT NOT NULL,
    value TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (part, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ${table}_expires ON ${table} (expires_at)`
]

const recordOf = (row: Row): StoredRecord => ({ version: text(row, 'version'), value: text(row, 'value') })

/**
 * Records in a table of a SQLite file: one machine, any number of processes, durable. A read is one statement, because
 * another process may write between two statements. The commits of one turn of the event loop are one transaction,
 * which holds the write lock from its start.
 */
export function sqliteRecords(db: SqliteDatabase, { table }: SqliteRecordsOptions): RecordStore {
  const connection = connectMigrated(db, `records:${table}`, tablesOf(table))
  const { prepare, pending } = connection
  const read = readerOf(connection, table)
  const write = writerOf(connection, table)
  // Runs the commits one after the other, so that each sees the writes of the commits before it.
  const commit = joined(
    (commits: readonly Commit[]) =>
      patient(async () =>
        connection.transaction(() =>
          commits.map(({ partition, writes }) => {
            const keys = writes.map(({ key }) => key)
            const found = read(partition, keys)
            if (!writes.every((one, index) => isExpected(one, found[index] ?? null))) return found
            for (const one of writes) write(partition, one)
            return null
          })
        )
      ),
    // Does not repeat the commits after SQLITE_BUSY, because each would wait again. Any other error rolls back all, and
    // some may succeed alone, such as a small commit on a nearly full disk.
    (error) => codeOf(error) !== 'SQLITE_BUSY'
  )
  const removeSlice = `DELETE FROM ${table} WHERE (part, key) IN (
    SELECT part, key FROM ${table} WHERE expires_at <= ? LIMIT ${SLICE}) RETURNING 1 AS removed`
  return {
    kind: 'sqlite',
    shared: true,
    durable: true,
    evicts: false,
    prepare,
    pending,
    read: (partition, keys) => patient(async () => read(partition, keys)),
    commit: (partition, writes) => commit({ partition, writes }),
    async sweep(now) {
      while ((await patient(async () => connection.change(removeSlice, now))).length === SLICE) await setImmediate()
    }
  }
}

function readerOf({ query }: MigratedConnection, table: string) {
  const selectOne = `SELECT version, value FROM ${table} WHERE part = ? AND key = ?`
  const selectMany = `SELECT key, version, value FROM ${table} WHERE part = ? AND key IN`
  return (partition: string, keys: readonly string[]): Array<StoredRecord | null> => {
    const [first] = keys
    if (first === undefined) return []
    if (keys.length === 1) {
      const [row] = query(selectOne, partition, first)
      return [row === undefined ? null : recordOf(row)]
    }
    // Repeats the first key to fill the list up to a power of two, so that there are only a few statements to prepare.
    const places = 2 ** Math.ceil(Math.log2(keys.length))
    const filled = Array.from({ length: places }, (_, index) => keys[index] ?? first)
    const rows = query(`${selectMany} (${'?, '.repeat(places - 1)}?)`, partition, ...filled)
    const found = new Map(rows.map((row) => [text(row, 'key'), recordOf(row)]))
    return keys.map((key) => found.get(key) ?? null)
  }
}

function writerOf({ execute }: MigratedConnection, table: string) {
  const put = `INSERT INTO ${table} (part, key, kind, user_id, version, value, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (part, key) DO UPDATE SET kind = excluded.kind, user_id = excluded.user_id,
      version = excluded.version, value = excluded.value, expires_at = excluded.expires_at`
  const remove = `DELETE FROM ${table} WHERE part = ? AND key = ?`
  return (partition: string, { key, change }: RecordWrite): void => {
    if (change === 'keep') return
    if (change === 'delete') execute(remove, partition, key)
    else {
      const { kind, userId, version, value, expiresAt } = change
      execute(put, partition, key, kind, userId, version, value, expiresAt)
    }
  }
}

export type SqliteStateOptions = Omit<RecordStateOptions, 'remembered'>

/**
 * State in a SQLite file: one machine, any number of processes, durable. `db` is a database object of `node:sqlite`,
 * `better-sqlite3` or `libsql`. Leave no transaction of your own open on it across an `await`. Versioned migrations
 * make the table, by `prepare` or at the first use. If another process has the lock, an operation retries for 1.5 s
 * without blocking other requests, and then rejects with the driver's error (SQLITE_BUSY).
 */
export function sqliteState(
  db: SqliteDatabase,
  { maxFamiliesPerUser, maxSessionsPerUser, ...others }: SqliteStateOptions = {}
): State {
  noOthers('sqliteState', others)
  return recordState(sqliteRecords(db, { table: 'authority_records' }), { maxFamiliesPerUser, maxSessionsPerUser })
}

/**
 * Second factors in a SQLite file: one machine, any number of processes, durable. `db` is a database object of
 * `node:sqlite`, `better-sqlite3` or `libsql`. The state and the users may use the same object. Leave no transaction of
 * your own open on it across an `await`. Versioned migrations make the table, by `prepare` or at the first use. Rejects
 * with the driver's error (SQLITE_BUSY) if another process has the lock for more than 1.5 s.
 */
export function sqliteFactorStore(db: SqliteDatabase): Required<FactorStore> {
  return recordFactorStore(sqliteRecords(db, { table: 'authority_factor_records' }))
}

/** API keys in a SQLite file, in a table of their own. Otherwise works like `sqliteFactorStore`. */
export function sqliteApiKeyStore(db: SqliteDatabase): Required<ApiKeyStore> {
  return recordApiKeyStore(sqliteRecords(db, { table: 'authority_api_key_records' }))
}
