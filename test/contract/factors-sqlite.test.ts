import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import t from '../support/tap.ts'
import type { SqliteDatabase } from '../../lib/adapters/sqlite/database.ts'
import { sqliteFactorStore, sqliteRecords, sqliteState } from '../../lib/adapters/sqlite/record-store.ts'
import { sqliteUserStore } from '../../lib/adapters/sqlite/user-store.ts'
import type { FactorStore } from '../../lib/ports/factor-store.ts'
import type { RecordStore } from '../../lib/ports/record-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import {
  ALICE,
  codesOf,
  handleOf,
  NOTHING,
  passkeyAddition,
  passkeyUse,
  totpAddition,
  totpUse
} from './suites/factor-fixtures.ts'
import { factorStoreContract } from './suites/factor-store-contract.ts'
import { factorInstances } from '../support/factor-instances.ts'
import { factorOperations } from './support/factor-operations.ts'

const directory = mkdtempSync(join(tmpdir(), 'authority-factors-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
let files = 0
/** The name of the factor table among the migrations. */
const COMPONENT = 'records:authority_factor_records'
const newFile = (): string => join(directory, `${++files}.db`)

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)
/** Opens as many connections to one new file as `storeOf` has parameters. */
const opened = (storeOf: (...dbs: [SqliteDatabase, SqliteDatabase]) => FactorStore) => async () => {
  const file = newFile()
  const [first, second] = [new Database(file), new Database(file)]
  for (const db of [first, second]) db.exec('PRAGMA synchronous = OFF')
  return {
    store: storeOf(first, second),
    async close() {
      first.close()
      second.close()
    }
  }
}
const records = (db: SqliteDatabase): RecordStore => sqliteRecords(db, { table: 'factor_records' })

runContract(factorStoreContract(opened((db) => sqliteFactorStore(db))), test('sqlite'))
runContract(
  factorStoreContract(opened((...dbs) => factorInstances([records(dbs[0]), records(dbs[1])]))),
  test('two connections to one sqlite file')
)

t.test('sqlite: finds written factors after reopening the file, next to the tables of state and users', async (t) => {
  const file = newFile()
  const first = new Database(file)
  const store = sqliteFactorStore(first)
  sqliteState(first)
  await sqliteUserStore(first).create({ username: 'alice', passwordHash: 'h' })
  await store.claimHandle(ALICE, handleOf('a'))
  await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
  await store.addPasskey(passkeyAddition())
  await store.usePasskey(passkeyUse())
  const before = await store.findFactors(ALICE)
  first.close()

  const second = new Database(file)
  t.teardown(() => second.close())
  // Each component ignores the other's tables, so that a release without factors starts on this file.
  t.ok(await sqliteUserStore(second).findByUsername('alice'))
  t.strictSame(await sqliteState(second).keys.list(), [])
  const again = sqliteFactorStore(second)
  t.strictSame(await again.findFactors(ALICE), before)
  t.strictSame(await again.usePasskey(passkeyUse({ signCount: 9 })), { outcome: 'replayed' })
  t.strictSame(
    second
      .prepare('SELECT version, min_reader FROM authority_migrations WHERE component = ?')
      .all(COMPONENT)
      .map((row) => Object.values(row as object)),
    [[1, 1]]
  )
})

t.test('sqlite: refuses a file that an incompatible newer release has changed', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  await sqliteFactorStore(db).prepare()
  const migrated = db.prepare('INSERT INTO authority_migrations (component, version, min_reader) VALUES (?, ?, ?)')
  migrated.run(COMPONENT, 2, 1)
  await t.resolves(sqliteFactorStore(db).prepare(), 'unless it works for this one')
  migrated.run(COMPONENT, 3, 3)
  await t.rejects(sqliteFactorStore(db).prepare(), { name: 'StartError', message: /newer release/ })
})

t.test('sqlite: rejects and writes nothing while another process locks the file', async (t) => {
  const file = newFile()
  const db = new Database(file)
  const store = sqliteFactorStore(db)
  await store.addTotp(totpAddition({ recoveryDigests: codesOf('a') }))
  const before = await store.findFactors(ALICE)
  const other = new Database(file)
  t.teardown(() => {
    db.close()
    other.close()
  })
  other.exec('BEGIN IMMEDIATE')
  const writing = factorOperations(store).filter(([name]) => !name.startsWith('find'))
  // Calls all at once, because each retries for a second and a half.
  for (const outcome of await Promise.allSettled([...writing.map(async ([, call]) => await call()), store.sweep(1)]))
    t.match(outcome, { status: 'rejected', reason: { code: /^SQLITE_BUSY/ } })
  t.strictSame(await store.findFactors(ALICE), before, 'reads need no lock')
  other.exec('ROLLBACK')
  t.equal(await store.useTotp(totpUse()), 'used')
})

t.test('sqlite: changes nothing when the claim of a passkey use cannot be stored', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const store = sqliteFactorStore(db)
  await store.addPasskey(passkeyAddition())
  const before = await store.findFactors(ALICE)
  db.exec(
    "CREATE TRIGGER fault BEFORE INSERT ON authority_factor_records WHEN NEW.kind = 'passkey_claim' " +
      "BEGIN SELECT RAISE(ABORT, 'fault'); END"
  )
  await t.rejects(store.usePasskey(passkeyUse()), /fault/)
  t.strictSame(await store.findFactors(ALICE), before)
  db.exec('DROP TRIGGER fault')
  t.strictSame(await store.usePasskey(passkeyUse()), { outcome: 'used', regressed: false })
})

t.test('sqlite: sweeps expired passkey claims in several slices, and no factor', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const store = sqliteFactorStore(db)
  await store.addTotp(totpAddition())
  db.exec('BEGIN')
  const put = db.prepare("INSERT INTO authority_factor_records VALUES (?, ?, 'passkey_claim', ?, ?, '1', ?)")
  for (let index = 0; index < 1700; index++)
    put.run(`part${index}`, 'q:c', `u${index}`, 'version-123456', index < 1200 ? 10 : 11)
  db.exec('COMMIT')
  await store.sweep(10)
  t.match(
    db
      .prepare(
        "SELECT count(*) AS n, min(expires_at) AS first FROM authority_factor_records WHERE kind = 'passkey_claim'"
      )
      .get(),
    { n: 500, first: 11 }
  )
  t.equal((await store.findFactors(ALICE)).totp.length, 1)
})

t.test('sqlite: rejects a user id with NUL instead of cutting it off', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const store = sqliteFactorStore(db)
  await t.rejects(store.addTotp(totpAddition({ userId: 'a\0b' })), TypeError)
  for (const userId of ['a\0b', 'a']) t.strictSame(await store.findFactors(userId), NOTHING)
})
