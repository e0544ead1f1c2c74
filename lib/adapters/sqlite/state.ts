import { setImmediate } from 'node:timers/promises'
import type { State } from '../../ports/state.ts'
import { sqliteConsentStore } from './consent-store.ts'
import { connect } from './database.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteKeyStore } from './key-store.ts'
import { migrate } from './migrations.ts'
import { sqliteOneTimeTokenStore } from './one-time-token-store.ts'
import { sqliteSessionStore } from './session-store.ts'
import { STATE_MIGRATIONS } from './state-tables.ts'
import { sqliteTokenStore } from './token-store.ts'

export interface SqliteStateOptions {
  /** How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100, minimum 1. */
  maxFamiliesPerUser?: number
  /** How many browsers one user may be signed in with on the hosted pages; one more ends the first. Default 100, minimum 1. */
  maxSessionsPerUser?: number
}

/** Rows a sweep removes in one statement, with the write lock held; requests get their turn in between. */
const SLICE = 500

const expiredIn = (table: string, condition: string): string =>
  `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${condition} LIMIT ${SLICE}) RETURNING 1 AS removed`

const EXPIRED = [
  expiredIn('authority_families', 'expires_at <= ?'),
  expiredIn('authority_families', 'idle_expires_at <= ?'),
  expiredIn('authority_one_time_tokens', 'expires_at <= ?'),
  expiredIn('authority_browser_sessions', 'expires_at <= ?'),
  expiredIn('authority_browser_sessions', 'idle_expires_at <= ?'),
  expiredIn('authority_consents', 'expires_at <= ?')
]

/**
 * State in a SQLite file: one machine, any number of processes, durable. `db` is a database object of `node:sqlite`,
 * `better-sqlite3` or `libsql`; leave no transaction of your own open on it across an `await`. The tables are made at once, by
 * versioned migrations. Rejects with the driver's error (SQLITE_BUSY) on an outage.
 */
export function sqliteState (db: SqliteDatabase, { maxFamiliesPerUser = 100, maxSessionsPerUser = 100 }: SqliteStateOptions = {}): State {
  for (const [name, max] of Object.entries({ maxFamiliesPerUser, maxSessionsPerUser })) {
    if (!Number.isSafeInteger(max) || max < 1) throw new RangeError(`${name} must be a whole number from 1 up.`)
  }
  const connection = connect(db)
  migrate(connection, 'state', STATE_MIGRATIONS)
  return {
    kind: 'sqlite',
    shared: true,
    tokens: sqliteTokenStore(connection, maxFamiliesPerUser),
    oneTimeTokens: sqliteOneTimeTokenStore(connection),
    browserSessions: sqliteSessionStore(connection, maxSessionsPerUser),
    consents: sqliteConsentStore(connection),
    keys: sqliteKeyStore(connection),
    async sweep (now) {
      for (const sql of EXPIRED) {
        while (connection.change(sql, now).length === SLICE) await setImmediate()
      }
    }
  }
}
