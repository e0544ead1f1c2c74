import { invalidOptions, StartError } from '../../errors.ts'
import {
  canRead,
  type Migrated,
  type MigrationStep,
  minReaderOf,
  missingVersions,
  namesOf,
  type AppliedVersion,
  sqlOf,
  tooNew,
  unusableMessage
} from '../sql/migration-steps.ts'
import { integer } from '../sql/rows.ts'
import { codeOf, connect, type Connection, patient, type SqliteDatabase } from './database.ts'

export interface MigratedConnection
  extends Pick<Connection, 'query' | 'change' | 'execute' | 'transaction'>, Migrated {}

const CREATE_LOG = `CREATE TABLE IF NOT EXISTS authority_migrations (
  component TEXT NOT NULL,
  version INTEGER NOT NULL,
  applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  min_reader INTEGER NOT NULL,
  PRIMARY KEY (component, version)
) STRICT`

function appliedOf(connection: Connection, component: string): AppliedVersion {
  const [log] = connection.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'authority_migrations'")
  if (log === undefined) return { version: 0, minReader: 0 }
  const [row] = connection.query(
    'SELECT coalesce(max(version), 0) AS version, coalesce(max(min_reader), 0) AS min_reader ' +
      'FROM authority_migrations WHERE component = ?',
    component
  )
  return row === undefined
    ? { version: 0, minReader: 0 }
    : { version: integer(row, 'version'), minReader: integer(row, 'min_reader') }
}

/**
 * Migrates the tables of a component to the newest version, each step once. Any number of processes may migrate at
 * once. Throws, and changes nothing, if a newer release has changed the file in an incompatible way.
 */
function migrate(connection: Connection, component: string, steps: readonly MigrationStep[]): void {
  // Takes no write lock if there is nothing to migrate.
  if (missingSteps(connection, component, steps).length === 0) return
  connection.blocking(() =>
    connection.transaction(() => {
      connection.script(CREATE_LOG)
      // Reads the version again under the lock, because another process may have migrated meanwhile.
      for (const version of missingSteps(connection, component, steps)) {
        const step = steps[version - 1] ?? ''
        connection.script(sqlOf(step))
        connection.execute(
          'INSERT INTO authority_migrations (component, version, min_reader) VALUES (?, ?, ?)',
          component,
          version,
          minReaderOf(step, version)
        )
      }
    })
  )
}

/** @throws StartError for tables that this release can't read */
function missingSteps(connection: Connection, component: string, steps: readonly MigrationStep[]): number[] {
  const seen = appliedOf(connection, component)
  if (!canRead(seen, steps.length)) throw invalidOptions(tooNew(component, seen, steps.length))
  return missingVersions(seen, steps)
}

/**
 * Runs `work`. A `StartError` and the error of a temporary condition pass unchanged. Any other error becomes a
 * `StartError`, because an operator must fix its cause.
 */
function explaining<Result>(component: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof StartError || codeOf(error) !== undefined) throw error
    throw invalidOptions(unusableMessage(component, error), error)
  }
}

/** A connection that migrates the tables of a component before their first use. */
export function connectMigrated(
  db: SqliteDatabase,
  component: string,
  steps: readonly MigrationStep[]
): MigratedConnection {
  const connection = connect(db)
  let isMigrated = false
  const migrated = (): Connection => {
    if (!isMigrated) {
      explaining(component, () => {
        migrate(connection, component, steps)
      })
      isMigrated = true
    }
    return connection
  }
  return {
    query: (sql, ...parameters) => migrated().query(sql, ...parameters),
    change: (sql, ...parameters) => migrated().change(sql, ...parameters),
    execute(sql, ...parameters) {
      migrated().execute(sql, ...parameters)
    },
    transaction: (work) => migrated().transaction(work),
    prepare: () =>
      patient(async () => {
        migrated()
      }),
    pending: () =>
      patient(async () => explaining(component, () => namesOf(component, missingSteps(connection, component, steps))))
  }
}
