import { canRead, minReaderOf, type MigrationStep, sqlOf, tooNew } from '../sql/migration-steps.ts'
import { integer } from '../sql/rows.ts'
import type { Connection } from './database.ts'

const CREATE_LOG = `CREATE TABLE IF NOT EXISTS authority_migrations (
  component TEXT NOT NULL,
  version INTEGER NOT NULL,
  applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  min_reader INTEGER NOT NULL,
  PRIMARY KEY (component, version)
) STRICT`

interface Seen {
  version: number
  minReader: number
}

function versionOf(connection: Connection, component: string): Seen {
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
export function migrate(connection: Connection, component: string, steps: readonly MigrationStep[]): void {
  const seen = versionOf(connection, component)
  if (!canRead(seen, steps.length)) throw new Error(tooNew(component, seen, steps.length))
  // The usual start needs no write lock.
  if (seen.version >= steps.length) return
  connection.blocking(() =>
    connection.transaction(() => {
      connection.script(CREATE_LOG)
      // Reads the version again under the lock, because another process may have migrated meanwhile.
      const current = versionOf(connection, component).version
      for (const [index, step] of steps.entries()) {
        const version = index + 1
        if (version <= current) continue
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
