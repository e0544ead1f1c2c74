/** The two stores that live in the benchmark's own process. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Database from 'libsql'
import { memoryAttemptStore } from '../../lib/adapters/memory/attempt-store.ts'
import { memoryState } from '../../lib/adapters/memory/record-store.ts'
import { systemClock } from '../../lib/adapters/node/system.ts'
import { sqliteState } from '../../lib/adapters/sqlite/record-store.ts'
import { isQuick } from '../quick.ts'
import type { Engine } from './engine.ts'
import { familyOf, sessionDigest, sessionOf } from './records.ts'

export async function memoryEngine(): Promise<Engine> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const state = memoryState()
  return {
    state,
    attempts: memoryAttemptStore({ clock: systemClock }),
    concurrency: 1,
    perRound: 20_000,
    async loadFamilies(from, to) {
      for (let number = from; number < to; number++) await state.tokens.createFamily(familyOf(number))
    },
    async loadSessions(from, to) {
      for (let number = from; number < to; number++)
        await state.browserSessions.createSession(sessionOf(number), sessionDigest(number))
    },
    async bytes() {
      collect()
      if (!isQuick()) collect()
      return process.memoryUsage().heapUsed
    },
    async close() {}
  }
}

/** A file in WAL mode, synced as `NORMAL`: the cost of a write without the disk's own time. */
export async function sqliteEngine(): Promise<Engine> {
  const directory = mkdtempSync(join(tmpdir(), 'authority-growth-'))
  const file = join(directory, 'state.db')
  const db = new Database(file)
  process.once('exit', () => {
    rmSync(directory, { recursive: true, force: true })
  })
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -262144')
  // While it loads, the transactions of the store's own are left out, so that one of thousands of records takes their
  // place.
  let isLoading = false
  const state = sqliteState({
    exec(sql) {
      if (!isLoading || !/\b(BEGIN|COMMIT|ROLLBACK)\b/.test(sql)) db.exec(sql)
    },
    prepare: (sql) => db.prepare(sql)
  })
  const load = async (from: number, to: number, put: (number: number) => Promise<void>): Promise<void> => {
    for (let start = from; start < to; start += 50_000) {
      db.exec('BEGIN IMMEDIATE')
      isLoading = true
      for (let number = start; number < Math.min(to, start + 50_000); number++) await put(number)
      isLoading = false
      db.exec('COMMIT')
    }
  }
  return {
    state,
    concurrency: 1,
    perRound: 2000,
    loadFamilies: async (from, to) => {
      await load(from, to, async (number) => {
        await state.tokens.createFamily(familyOf(number))
      })
    },
    loadSessions: async (from, to) => {
      await load(from, to, async (number) => {
        await state.browserSessions.createSession(sessionOf(number), sessionDigest(number))
      })
    },
    async bytes() {
      db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
      return statSync(file).size
    },
    async clear() {
      db.exec('DELETE FROM authority_records')
      db.exec('VACUUM')
    },
    async close() {
      db.close()
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
