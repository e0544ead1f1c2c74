import { setImmediate } from 'node:timers/promises'
import type { State } from '../../ports/state.ts'
import { connect } from './database.ts'
import type { SqliteDatabase } from './database.ts'
import { sqliteKeyStore } from './key-store.ts'
import { migrate } from './migrations.ts'
import { sqliteOneTimeTokenStore } from './one-time-token-store.ts'
import { sqliteTokenStore } from './token-store.ts'

export interface SqliteStateOptions {
  /** How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100, minimum 1. */
  maxFamiliesPerUser?: number
}

const MIGRATIONS: readonly string[] = [
  `CREATE TABLE authority_families (
    sid TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    client_id TEXT,
    scope TEXT NOT NULL,
    authenticated_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    idle_expires_at INTEGER NOT NULL,
    user_agent TEXT,
    current_digest TEXT NOT NULL,
    previous_digest TEXT,
    sealed TEXT,
    rotated_at INTEGER
  ) STRICT;
  CREATE INDEX authority_families_user ON authority_families (user_id, created_at);
  CREATE INDEX authority_families_expires ON authority_families (expires_at);
  CREATE INDEX authority_families_idle_expires ON authority_families (idle_expires_at);

  CREATE TABLE authority_one_time_tokens (
    purpose TEXT NOT NULL,
    user_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (purpose, user_id),
    UNIQUE (purpose, digest)
  ) STRICT;
  CREATE INDEX authority_one_time_tokens_expires ON authority_one_time_tokens (expires_at);

  CREATE TABLE authority_keys (
    kid TEXT PRIMARY KEY NOT NULL,
    alg TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    signs_from INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    public_jwk TEXT NOT NULL,
    sealed TEXT NOT NULL,
    UNIQUE (alg, sequence)
  ) STRICT;`
]

/** Rows a sweep removes in one statement, with the write lock held; requests get their turn in between. */
const SLICE = 500

const expiredIn = (table: string, condition: string): string =>
  `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${condition} LIMIT ${SLICE}) RETURNING 1 AS removed`

const EXPIRED = [
  expiredIn('authority_families', 'expires_at <= ?'),
  expiredIn('authority_families', 'idle_expires_at <= ?'),
  expiredIn('authority_one_time_tokens', 'expires_at <= ?')
]

/**
 * State in a SQLite file: one machine, any number of processes, durable. `db` is a database object of `node:sqlite`,
 * `better-sqlite3` or `libsql`; leave no transaction of your own open on it across an `await`. The tables are made at once, by
 * versioned migrations. Rejects with the driver's error (SQLITE_BUSY) on an outage.
 */
export function sqliteState (db: SqliteDatabase, { maxFamiliesPerUser = 100 }: SqliteStateOptions = {}): State {
  if (!Number.isSafeInteger(maxFamiliesPerUser) || maxFamiliesPerUser < 1) throw new RangeError('maxFamiliesPerUser must be a whole number from 1 up.')
  const connection = connect(db)
  migrate(connection, 'state', MIGRATIONS)
  return {
    kind: 'sqlite',
    shared: true,
    tokens: sqliteTokenStore(connection, maxFamiliesPerUser),
    oneTimeTokens: sqliteOneTimeTokenStore(connection),
    keys: sqliteKeyStore(connection),
    async sweep (now) {
      for (const sql of EXPIRED) {
        while (connection.change(sql, now).length === SLICE) await setImmediate()
      }
    }
  }
}
