import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'libsql'

/**
 * The one SQLite file, for users and state alike. WAL lets readers go on while one writes; with `synchronous = FULL` a
 * transaction that was answered is on the disk, so neither `kill -9` nor a power cut takes it back.
 */
export function openDatabase(directory: string): Database.Database {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const db = new Database(join(directory, 'authority.sqlite'))
  db.exec('PRAGMA busy_timeout = 5000')
  useWal(db)
  db.exec('PRAGMA synchronous = FULL')
  return db
}

/**
 * Servers that start at once on a new file all change its mode, and for that SQLite does not keep `busy_timeout`: one
 * is told to come again.
 */
function useWal(db: Database.Database): void {
  const end = Date.now() + 5000
  for (;;) {
    try {
      db.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'SQLITE_BUSY' || Date.now() >= end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
    }
  }
}
