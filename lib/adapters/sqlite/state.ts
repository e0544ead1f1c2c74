import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState } from '../../records/state.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteRecords } from './record-store.ts'

export interface SqliteStateOptions {
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
}

/**
 * State in a SQLite file: one machine, any number of processes, durable. `db` is a database object of `node:sqlite`,
 * `better-sqlite3` or `libsql`; leave no transaction of your own open on it across an `await`. Versioned migrations
 * make the tables at once. While another process has the lock, an operation is tried again for 1.5 s, while other
 * requests go on, and then rejects with the driver's error (SQLITE_BUSY).
 */
export function sqliteState(
  db: SqliteDatabase,
  { maxFamiliesPerUser, maxSessionsPerUser, ...others }: SqliteStateOptions = {}
): State {
  noOthers('sqliteState', others)
  return recordState(sqliteRecords(db, { table: 'authority_records' }), { maxFamiliesPerUser, maxSessionsPerUser })
}
