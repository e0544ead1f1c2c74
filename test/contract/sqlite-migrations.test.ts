import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import t from '../support/tap.ts'
import { connectMigrated } from '../../lib/adapters/sqlite/migrations.ts'
import { sqliteAudit } from '../../lib/adapters/sqlite/audit-log.ts'
import { sqliteApiKeyStore, sqliteFactorStore, sqliteState } from '../../lib/adapters/sqlite/record-store.ts'
import { sqliteUserStore } from '../../lib/adapters/sqlite/user-store.ts'
import { nameBeside } from '../../lib/adapters/sql/user-rows.ts'
import { newLink } from '../../lib/testing/user-fixtures.ts'

t.test('sqlite: logs each migration once, and refuses the file of a newer release', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  for (let time = 0; time < 2; time++) {
    await sqliteState(db).prepare?.()
    await sqliteUserStore(db).prepare()
  }
  const log = () => db.prepare('SELECT component, version FROM authority_migrations ORDER BY component, version').all()
  t.same(log(), [
    { component: 'records:authority_records', version: 1 },
    { component: 'users:authority_users', version: 1 },
    { component: 'users:authority_users', version: 2 }
  ])
  db.exec(
    `INSERT INTO authority_migrations (component, version, min_reader) VALUES ('records:authority_records', 2, 2)`
  )
  await t.rejects(async () => await sqliteState(db).prepare?.(), { name: 'StartError', message: /newer release/ })
  await t.rejects(async () => await sqliteState(db).pending?.(), /newer release/)
  await t.resolves(sqliteUserStore(db).prepare())
})

// covers B9
t.test('sqlite: starts an older release on a newer file with only additions', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const older = ['CREATE TABLE a (b)']
  const added = [...older, { sql: 'ALTER TABLE a ADD COLUMN c', minReader: 1 }]
  const start = async (steps: typeof added | string[]): Promise<void> => {
    await connectMigrated(db, 'x', steps).prepare()
  }
  await start(older)
  t.same(await connectMigrated(db, 'x', added).pending(), ['x, version 2'])
  await start(added)
  await t.resolves(start(older))
  await t.resolves(start(added))
  const log = (): unknown[] => db.prepare('SELECT version, min_reader FROM authority_migrations ORDER BY version').all()
  t.same(
    log(),
    [
      { version: 1, min_reader: 1 },
      { version: 2, min_reader: 1 }
    ],
    'nothing was done twice'
  )
  await start([...added, 'ALTER TABLE a DROP COLUMN b'])
  await t.rejects(start(added), /newer release \(version 3, which works for code of version 3 on; this one knows 2\)/)
})

// covers B9 FED-29
t.test('sqlite: removes the links of a removed user, with and without foreign keys', async (t) => {
  for (const foreignKeys of ['ON', 'OFF']) {
    const db = new Database(':memory:')
    t.teardown(() => db.close())
    db.exec(`PRAGMA foreign_keys = ${foreignKeys}`)
    const users = sqliteUserStore(db)
    const { id } = await users.createWithIdentity({ username: 'ann', passwordHash: null }, newLink())
    // Changes the table by hand, as hosts may.
    db.exec("DELETE FROM authority_users WHERE username = 'ann'")
    t.equal(await users.findByIdentity(newLink()), null)
    t.same(await users.listIdentities(id), [])
    t.same(db.prepare('SELECT count(*) AS n FROM authority_users_identities').all(), [{ n: 0 }])
  }
})

t.test('sqlite and postgres: name the link tables of long table names without conflicts', async (t) => {
  const names = ['a'.repeat(63), `${'a'.repeat(62)}b`, 'a'.repeat(52), 'a'.repeat(53), 'a']
  const beside = names.map((name) => nameBeside(name, '_identities'))
  t.equal(new Set([...names, ...beside]).size, 10)
  t.ok(
    beside.every((name) => name.length <= 63),
    beside.join()
  )
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  for (const [index, table] of names.entries()) {
    const users = sqliteUserStore(db, { table })
    t.equal(
      (await users.createWithIdentity({ username: `user-${index}`, passwordHash: null }, newLink())).username,
      `user-${index}`
    )
    t.equal((await users.findByIdentity(newLink()))?.username, `user-${index}`)
  }
})

t.test('sqlite: rolls back a migration that fails half-way', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  db.exec('CREATE TABLE authority_records_expires (of_the_host)')
  const schema = () => db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all()
  const before = schema()
  await t.rejects(async () => await sqliteState(db).prepare?.(), {
    name: 'StartError',
    message: /authority_records_expires/
  })
  t.same(schema(), before)
})

t.test('sqlite: rejects with StartError if it cannot read the log of the migrations', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  db.exec('CREATE TABLE authority_migrations (of_the_host)')
  const users = sqliteUserStore(db)
  const failure = { name: 'StartError', message: /can't be made or read.*version/ }
  await t.rejects(users.prepare(), failure)
  await t.rejects(async () => await users.pending(), failure)
})

t.test('sqlite: changes nothing before the first use', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const stores = [sqliteState(db), sqliteUserStore(db), sqliteFactorStore(db), sqliteApiKeyStore(db), sqliteAudit(db)]
  const pending = await Promise.all(stores.map(async (store) => (await store.pending?.())?.[0]))
  t.same(pending, [
    'records:authority_records, version 1',
    'users:authority_users, version 1',
    'records:authority_factor_records, version 1',
    'records:authority_api_key_records, version 1',
    'audit, version 1'
  ])
  t.same(db.prepare('SELECT name FROM sqlite_schema').all(), [])
  await sqliteUserStore(db).create({ username: 'ann', passwordHash: null })
  t.same(await sqliteUserStore(db).pending(), [], 'the first use migrates')
})

// covers B7
t.test('sqlite: waits for the lock once when it migrates, and not again after busy_timeout', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'authority-migrations-'))
  const file = join(directory, 'shared.db')
  const [db, other] = [new Database(file), new Database(file)]
  t.teardown(async () => {
    db.close()
    other.close()
    await rm(directory, { recursive: true, force: true })
  })
  db.exec('PRAGMA busy_timeout = 1510')
  other.exec('BEGIN IMMEDIATE')
  const begins: string[] = []
  const counted = {
    exec(sql: string) {
      if (sql.includes('BEGIN')) begins.push(sql)
      db.exec(sql)
    },
    prepare: (sql: string) => db.prepare(sql) as never
  }
  await t.rejects(sqliteUserStore(counted).prepare(), { code: /^SQLITE_BUSY/ })
  t.equal(begins.length, 1)
  await t.rejects(sqliteUserStore(counted).create({ username: 'ann', passwordHash: null }), { code: /^SQLITE_BUSY/ })
  t.equal(begins.length, 2)
})
