import { setImmediate } from 'node:timers/promises'
import type { State } from '../../ports/state.ts'
import { checkPerUser, noOthers } from '../../protocol/bounds.ts'
import { sqliteAssertionStore } from './assertion-store.ts'
import { sqliteConsentStore } from './consent-store.ts'
import { text } from '../sql/rows.ts'
import { connect } from './database.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteKeyStore } from './key-store.ts'
import { migrate } from './migrations.ts'
import { patient, patientStore } from './patience.ts'
import { sqliteOneTimeTokenStore } from './one-time-token-store.ts'
import { sqliteSessionStore } from './session-store.ts'
import { STATE_MIGRATIONS } from './state-tables.ts'
import { expiredIn, SLICE } from './sweep.ts'
import { sqliteTokenStore } from './token-store.ts'

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

const EXPIRED = [
  expiredIn('authority_families', 'rowid', 'expires_at <= ?'),
  expiredIn('authority_families', 'rowid', 'idle_expires_at <= ?'),
  expiredIn('authority_one_time_tokens', 'rowid', 'expires_at <= ?'),
  expiredIn('authority_browser_sessions', 'rowid', 'expires_at <= ?'),
  expiredIn('authority_browser_sessions', 'rowid', 'idle_expires_at <= ?'),
  expiredIn('authority_consents', 'rowid', 'expires_at <= ?'),
  expiredIn('authority_assertions', 'rowid', 'expires_at <= ?')
]

/**
 * State in a SQLite file: one machine, any number of processes, durable. `db` is a database object of `node:sqlite`,
 * `better-sqlite3` or `libsql`; leave no transaction of your own open on it across an `await`. The tables are made at
 * once, by versioned migrations. Where another process has the lock, an operation is tried again for 1.5 s, while other
 * requests go on, and then rejects with the driver's error (SQLITE_BUSY).
 */
export function sqliteState(
  db: SqliteDatabase,
  { maxFamiliesPerUser = 100, maxSessionsPerUser = 100, ...others }: SqliteStateOptions = {}
): State {
  noOthers('sqliteState', others)
  checkPerUser({ maxFamiliesPerUser, maxSessionsPerUser })
  const connection = connect(db)
  migrate(connection, 'state', STATE_MIGRATIONS)
  return {
    kind: 'sqlite',
    shared: true,
    tokens: patientStore(sqliteTokenStore(connection, maxFamiliesPerUser)),
    oneTimeTokens: patientStore(sqliteOneTimeTokenStore(connection)),
    browserSessions: patientStore(sqliteSessionStore(connection, maxSessionsPerUser)),
    consents: patientStore(sqliteConsentStore(connection)),
    keys: patientStore(sqliteKeyStore(connection)),
    assertions: patientStore(sqliteAssertionStore(connection)),
    claimFor: async (issuer) =>
      await patient(async () => {
        const owner = (): string | undefined =>
          connection.query('SELECT issuer FROM authority_issuer').map((row) => text(row, 'issuer'))[0]
        // The usual start needs no write lock.
        const before = owner()
        if (before !== undefined) return before
        connection.execute('INSERT INTO authority_issuer (id, issuer) VALUES (1, ?) ON CONFLICT DO NOTHING', issuer)
        return owner() ?? issuer
      }),
    async sweep(now) {
      for (const sql of EXPIRED) {
        while ((await patient(async () => connection.change(sql, now))).length === SLICE) await setImmediate()
      }
    }
  }
}
