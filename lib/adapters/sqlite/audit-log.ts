import { type AuditLog, PRUNED } from '../../ports/audit-log.ts'
import { addressIndex, auditTable, sqlAudit } from '../sql/audit-rows.ts'
import { connect, type Connection, migrate, patient, type SqliteDatabase } from './database.ts'

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
 * `node:sqlite`, `better-sqlite3` or `libsql`, which may be that of the users; leave no transaction of your own open on
 * it across an `await`. The start of the service makes the table.
 */
export function sqliteAudit(db: SqliteDatabase): AuditLog {
  let connection: Connection | null = null
  const connected = (): Connection => {
    if (connection !== null) return connection
    connection = connect(db)
    migrate(connection, 'audit', STEPS)
    return connection
  }
  return {
    ...sqlAudit('sqlite', NAME, async (sql, ...values) => {
      const { query, change } = connected()
      return await patient(async () => (sql.startsWith('SELECT') ? query(sql, ...values) : change(sql, ...values)))
    }),
    async prepare() {
      connected()
    }
  }
}
