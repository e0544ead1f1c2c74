import Database from 'libsql'
import t from '../support/tap.ts'
import { sqliteUserStore } from '../../lib/adapters/sqlite/user-store.ts'

// covers ASVS-1.2.4
t.test('sqlite: rejects invalid table names', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  for (const table of ['', 'a b', 'a"; DROP TABLE x; --', '1a', 'ä', 'a'.repeat(64)])
    t.throws(() => sqliteUserStore(db, { table }), TypeError)
})

t.test('sqlite: ignores invalid profile fields in rows', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const users = sqliteUserStore(db)
  await users.prepare()
  const put = db.prepare('INSERT INTO authority_users (id, username, password_hash, profile) VALUES (?, ?, ?, ?)')

  put.run(
    'a',
    'alice',
    null,
    '{"__proto__":{"disabled":false},"id":"b","passwordHash":"h","email":"x","disabled":true,"team":"t"}'
  )
  const alice = await users.findById('a')
  t.same(
    alice,
    { id: 'a', username: 'alice', passwordHash: null, version: 1, team: 't' },
    'columns win over the profile, NULL ones too'
  )
  t.equal(Object.hasOwn(alice ?? {}, '__proto__'), false)
  t.equal(await users.setPasswordHash('a', 'h2', null), true)

  for (const [id, profile] of [
    ['c', '[]'],
    ['d', 'null'],
    ['e', 'no json'],
    ['f', '"text"']
  ] as const) {
    put.run(id, id, null, profile)
    await t.rejects(users.findById(id), `profile ${profile} is an outage, not "no such user"`)
  }
})

t.test('sqlite: rejects usernames that a driver would change, and finds none of them', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const users = sqliteUserStore(db)
  await users.create({ username: 'before', passwordHash: 'h' })
  await users.create({ username: '\ufffd', passwordHash: 'h' })
  for (const username of ['before\0after', 'before\0', '\ud800']) {
    t.equal(await users.findByUsername(username), null)
    await t.rejects(users.create({ username, passwordHash: 'h' }), TypeError)
  }
  await t.rejects(users.create({ username: 'x', passwordHash: 'h', disabled: 'yes' }), TypeError)
  const created = await users.create({
    username: 'y',
    passwordHash: 'h',
    version: 1,
    disabled: true,
    emailVerified: false,
    note: 'a\0b'
  })
  t.same(created, {
    id: created.id,
    username: 'y',
    passwordHash: 'h',
    version: 1,
    disabled: true,
    emailVerified: false,
    createdAt: created.createdAt,
    note: 'a\0b'
  })
})
