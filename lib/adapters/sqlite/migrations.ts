import { integer } from '../sql/rows.ts'
import type { Connection } from './database.ts'

const CREATE_LOG = `CREATE TABLE IF NOT EXISTS authority_migrations (
  component TEXT NOT NULL,
  version INTEGER NOT NULL,
  applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (component, version)
) STRICT`

function versionOf (connection: Connection, component: string): number {
  const [log] = connection.query('SELECT 1 FROM sqlite_schema WHERE type = \'table\' AND name = \'authority_migrations\'')
  if (log === undefined) return 0
  const [row] = connection.query('SELECT coalesce(max(version), 0) AS version FROM authority_migrations WHERE component = ?', component)
  return row === undefined ? 0 : integer(row, 'version')
}

/**
 * Brings the tables of a component to the newest version: step 1, 2, 3 … once each. Any number of processes may do so at once.
 * Throws, and changes nothing, where a newer release has been at this file.
 */
export function migrate (connection: Connection, component: string, steps: readonly string[]): void {
  const seen = versionOf(connection, component)
  if (seen > steps.length) throw new Error(`The tables of ${component} were made by a newer release (version ${seen}, this one knows ${steps.length}).`)
  // The usual start needs no write lock.
  if (seen === steps.length) return
  connection.transaction(() => {
    connection.script(CREATE_LOG)
    // Asked again under the lock: another process may have been faster.
    const current = versionOf(connection, component)
    for (const [index, step] of steps.entries()) {
      const version = index + 1
      if (version <= current) continue
      connection.script(step)
      connection.execute('INSERT INTO authority_migrations (component, version) VALUES (?, ?)', component, version)
    }
  })
}
