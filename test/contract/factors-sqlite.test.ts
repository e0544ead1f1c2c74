import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import t from 'tap'
import type { SqliteDatabase } from '../../lib/adapters/sqlite/database.ts'
import { sqliteFactorStore } from '../../lib/adapters/sqlite/factor-store.ts'
import type { FactorStore } from '../../lib/ports/factor-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { factorStoreContract } from '../../lib/testing/factor-store-contract.ts'

const directory = mkdtempSync(join(tmpdir(), 'authority-factors-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
let files = 0
const newFile = (): string => join(directory, `${++files}.db`)

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)
const opened = (storeOf: (db: SqliteDatabase) => FactorStore) => async () => {
  const db = new Database(newFile())
  db.exec('PRAGMA synchronous = OFF')
  return { store: storeOf(db), async close () { db.close() } }
}

runContract(factorStoreContract(opened(sqliteFactorStore)), test('sqlite'))
runContract(factorStoreContract(opened((db) => delayed(sqliteFactorStore(db)))), test('delayed sqlite'))
