import { type AuditLog, PRUNED } from '../../ports/audit-log.ts'
import { addressIndex, auditTable, sqlAudit } from '../sql/audit-rows.ts'
import { patient, type SqliteDatabase } from './database.ts'
import { connectMigrated } from './migrations.ts'

const NAME = 'authority_audit'

const STEPS = [
  `${auditTable({ prefix: '', name: NAME }, { integers: 'INTEGER', suffix: ' STRICT, WITHOUT ROWID', collate: '' })}
  CREATE TRIGGER ${NAME}_stays
    BEFORE UPDATE OF chain, seq, at, action, outcome, user_id, actor_id, entry, mac ON ${NAME}
    WHEN new.action <> '${PRUNED}' OR (new.chain, new.seq, new.at, new.mac) <> (old.chain, old.seq, old.at, old.mac)
    BEGIN SELECT RAISE(ABORT, 'an audit entry can not be changed'); END;`,
  `${addressIndex({ prefix: '', name: NAME })}
  CREATE TRIGGER ${NAME}_address_stays BEFORE UPDATE OF ip ON ${NAME} WHEN new.ip IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'an audit entry can not be changed'); END;`
]

/**
 * An audit log in a SQLite file: one machine, any number of processes, durable. `db` is a database object of
 * `node:sqlite`, `better-sqlite3` or `libsql`. The user store may use the same object. Leave no transaction of your own
 * open on it across an `await`. Versioned migrations make the table, by `prepare` or at the first use.
 */
export function sqliteAudit(db: SqliteDatabase): AuditLog {
  const { query, change, transaction, prepare, pending } = connectMigrated(db, 'audit', STEPS)
  return {
    ...sqlAudit('sqlite', NAME, {
      run: async (sql, ...values) =>
        await patient(async () => (sql.startsWith('SELECT') ? query(sql, ...values) : change(sql, ...values))),
      both: async (one, other) => await patient(async () => transaction(() => [change(...one), change(...other)]))
    }),
    prepare,
    pending
  }
}
