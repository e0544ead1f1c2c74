import type { FactorStore } from '../../ports/factor-store.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteRecords } from './record-store.ts'

/**
 * Second factors in a SQLite file: one machine, any number of processes, durable. `db` is a database object of
 * `node:sqlite`, `better-sqlite3` or `libsql`, which may be that of the state or the users; leave no transaction of
 * your own open on it across an `await`. The table is made at once, by a versioned migration. Rejects with the driver's
 * error (SQLITE_BUSY) where another process has the lock for more than 1.5 s.
 */
export function sqliteFactorStore(db: SqliteDatabase): Required<FactorStore> {
  return recordFactorStore(sqliteRecords(db, { table: 'authority_factor_records' }))
}
