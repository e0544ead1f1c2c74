import Database from 'libsql'
import t from '../support/tap.ts'
import { connect, migrate } from '../../lib/adapters/sqlite/database.ts'
import { sqliteState } from '../../lib/adapters/sqlite/record-store.ts'
import { sqliteUserStore } from '../../lib/adapters/sqlite/user-store.ts'
import { nameBeside } from '../../lib/adapters/sql/user-rows.ts'
import { newLink } from '../../lib/testing/user-fixtures.ts'

t.test('sqlite: logs each migration once, and refuses the file of a newer release', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  for (let time = 0; time < 2; time++) {
    sqliteState(db)
    sqliteUserStore(db)
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
  t.throws(() => sqliteState(db), /newer release/)
  t.doesNotThrow(() => sqliteUserStore(db))
})

// covers B9
t.test('sqlite: starts an older release on a newer file with only additions', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const older = ['CREATE TABLE a (b)']
  const added = [...older, { sql: 'ALTER TABLE a ADD COLUMN c', minReader: 1 }]
  const start = (steps: typeof added | string[]): void => {
    migrate(connect(db), 'x', steps)
  }
  start(older)
  start(added)
  t.doesNotThrow(() => {
    start(older)
  })
  t.doesNotThrow(() => {
    start(added)
  })
  const log = (): unknown[] => db.prepare('SELECT version, min_reader FROM authority_migrations ORDER BY version').all()
  t.same(
    log(),
    [
      { version: 1, min_reader: 1 },
      { version: 2, min_reader: 1 }
    ],
    'nothing was done twice'
  )
  start([...added, 'ALTER TABLE a DROP COLUMN b'])
  t.throws(() => {
    start(added)
  }, /newer release \(version 3, which works for code of version 3 on; this one knows 2\)/)
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
  migrate(connect(db), 'records:authority_records', [])
  db.exec('CREATE TABLE authority_records_expires (of_the_host)')
  const schema = () => db.prepare('SELECT name, sql FROM sqlite_schema ORDER BY name').all()
  const before = schema()
  t.throws(() => sqliteState(db), /authority_records_expires/)
  t.same(schema(), before)
})
