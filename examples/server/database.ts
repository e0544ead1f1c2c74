import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'

/**
 * The one SQLite file, for users and state alike. WAL lets readers go on while one writes; with `synchronous = FULL` a
 * transaction that was answered is on the disk, so neither `kill -9` nor a power cut takes it back.
 */
export function openDatabase (directory: string): Database.Database {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const db = new Database(join(directory, 'authority.sqlite'))
  // First: another process may be changing the mode at this moment.
  db.exec('PRAGMA busy_timeout = 5000')
  db.exec('PRAGMA journal_mode = WAL')
  db.exec('PRAGMA synchronous = FULL')
  return db
}
