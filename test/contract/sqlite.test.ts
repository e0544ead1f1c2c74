import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rm } from 'node:fs/promises'
import Database from 'libsql'
import t from 'tap'
import type { SqliteDatabase } from '../../lib/adapters/sqlite/database.ts'
import { sqliteState } from '../../lib/adapters/sqlite/state.ts'
import { sqliteUserStore } from '../../lib/adapters/sqlite/user-store.ts'
import type { NewRefreshTokenFamily } from '../../lib/ports/token-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/delayed.ts'
import { stateContract } from '../../lib/testing/state-contract.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'

const directory = mkdtempSync(join(tmpdir(), 'authority-sqlite-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
let files = 0
const newFile = (): string => join(directory, `${++files}.db`)

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)
const opened = <Subject extends object>(subjectOf: (db: SqliteDatabase) => Subject) => async () => {
  const db = new Database(newFile())
  db.exec('PRAGMA synchronous = OFF')
  return { ...subjectOf(db), async close () { db.close() } }
}

runContract(userStoreContract(opened((db) => ({ store: sqliteUserStore(db) }))), test('sqlite user store'))
runContract(userStoreContract(opened((db) => ({ store: delayed(sqliteUserStore(db)) }))), test('delayed sqlite user store'))
runContract(stateContract(opened((db) => ({ state: sqliteState(db) }))), test('sqlite state'))
runContract(stateContract(opened((db) => ({ state: delayed(sqliteState(db)) }))), test('delayed sqlite state'))

const family = (sid: string, fields: Partial<NewRefreshTokenFamily> = {}): NewRefreshTokenFamily => ({
  sid, userId: 'user-1', clientId: null, scope: 's', authenticatedAt: 0, createdAt: 0, lastUsedAt: 0, expiresAt: 1000, idleExpiresAt: 1000, userAgent: null, tokenDigest: 'd', ...fields
})

t.test('sqlite: what was written is there when the file is opened again', async (t) => {
  const file = newFile()
  const first = new Database(file)
  const user = await sqliteUserStore(first, { table: 'people' }).create({ username: 'alice', passwordHash: 'h', email: 'a@example.com', roles: ['admin'], profile: { a: 1 } })
  const state = sqliteState(first)
  await state.tokens.createFamily(family('sid-1'))
  await state.tokens.rotateToken({ sid: 'sid-1', digest: 'd', now: 1, graceMs: 10, idleExpiresAt: 900 }, { digest: 'e', sealed: 'sealed' })
  await state.oneTimeTokens.put({ purpose: 'verify_email', digest: 'x', userId: user.id, expiresAt: 10 })
  first.close()

  const second = new Database(file)
  t.teardown(() => second.close())
  t.same(await sqliteUserStore(second, { table: 'people' }).findByUsername('alice'), {
    id: user.id, username: 'alice', passwordHash: 'h', email: 'a@example.com', roles: ['admin'], profile: { a: 1 }
  })
  const again = sqliteState(second)
  t.match(await again.tokens.rotateToken({ sid: 'sid-1', digest: 'd', now: 11, graceMs: 10, idleExpiresAt: 900 }, { digest: 'f', sealed: 'no' }), { outcome: 'repeated', sealed: 'sealed' })
  t.ok(await again.oneTimeTokens.consume('verify_email', 'x', 9))
  t.equal(await sqliteUserStore(second).findByUsername('alice'), null, 'another table is another store')
})

t.test('sqlite: two processes that migrate and write at once have one winner a round in total', async (t) => {
  const file = newFile()
  const rounds = 40
  const writer = fileURLToPath(new URL('support/sqlite-writer.ts', import.meta.url))
  const children = ['one', 'two'].map((name) => fork(writer, [file, name]))
  await Promise.all(children.map((child) => once(child, 'message')))
  const reports: unknown[] = (await Promise.all(children.map(async (child) => {
    const report = once(child, 'message')
    const exit = once(child, 'exit')
    child.send(String(rounds))
    const [message] = await report
    await exit
    return message as unknown
  })))
  const outcomes = reports.flatMap((report) => {
    if (typeof report === 'object' && report !== null && 'outcomes' in report && Array.isArray(report.outcomes)) return report.outcomes.map(String)
    throw new Error(JSON.stringify(report))
  })
  const expected = Array.from({ length: rounds }, (_, round) => [
    `create ${round} created`, `create ${round} FST_AUTHORITY_USERNAME_TAKEN`,
    `key ${round} true`, `key ${round} false`,
    `rotate ${round} rotated`, `rotate ${round} repeated`
  ]).flat()
  t.same(outcomes.toSorted(), expected.toSorted())
})

t.test('sqlite: a locked file rejects with SQLITE_BUSY, breaks nothing, and works again after', async (t) => {
  const file = newFile()
  const db = new Database(file)
  const state = sqliteState(db)
  const users = sqliteUserStore(db)
  await state.tokens.createFamily(family('sid-1'))
  db.exec('PRAGMA busy_timeout = 1')
  const other = new Database(file)
  t.teardown(() => { db.close(); other.close() })
  other.exec('BEGIN IMMEDIATE')
  const use = { sid: 'sid-1', digest: 'd', now: 1, graceMs: 10, idleExpiresAt: 900 }
  const calls: Array<() => Promise<unknown>> = [
    () => state.tokens.rotateToken(use, { digest: 'e', sealed: 's' }),
    () => state.tokens.useToken(use),
    () => state.tokens.createFamily(family('sid-2')),
    () => state.tokens.revokeFamiliesOfUser('user-1'),
    () => state.oneTimeTokens.put({ purpose: 'verify_email', digest: 'x', userId: 'u', expiresAt: 10 }),
    () => users.create({ username: 'alice', passwordHash: 'h' }),
    () => users.setEmailVerified('x'),
    async () => { await state.sweep(1) }
  ]
  for (const call of calls) await t.rejects(call(), { code: /^SQLITE_BUSY/ })
  other.exec('ROLLBACK')
  t.equal(await state.tokens.revokeFamily('none'), false)

  // A reader that is not done: without a write-ahead log it is COMMIT that has to wait.
  await state.tokens.createFamily(family('sid-3'))
  other.exec('BEGIN')
  other.prepare('SELECT * FROM authority_families').all()
  await t.rejects(state.tokens.revokeFamily('sid-3'), { code: /^SQLITE_BUSY/ })
  other.exec('ROLLBACK')
  t.equal(await state.tokens.revokeFamily('sid-3'), true, 'what could not commit was rolled back')
  t.match(await state.tokens.rotateToken(use, { digest: 'e', sealed: 's' }), { outcome: 'rotated' })
  t.equal((await users.create({ username: 'alice', passwordHash: 'h' })).username, 'alice')
})

t.test('sqlite: an operation inside a transaction of the host fails and leaves that transaction alone', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const { tokens } = sqliteState(db)
  db.exec('CREATE TABLE of_the_host (a)')
  db.exec('BEGIN')
  db.exec('INSERT INTO of_the_host VALUES (1)')
  await t.rejects(tokens.createFamily(family('sid-1')), /within a transaction/)
  await t.rejects(tokens.revokeFamily('sid-1'), /within a transaction/)
  db.exec('COMMIT')
  t.equal(db.prepare('SELECT * FROM of_the_host').all().length, 1)
})

t.test('sqlite: an operation that fails half-way is rolled back', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const { tokens } = sqliteState(db)
  await tokens.createFamily(family('sid-1'))
  db.exec('CREATE TRIGGER fault BEFORE UPDATE OF last_used_at ON authority_families BEGIN SELECT RAISE(ABORT, \'fault\'); END')
  const rotate = () => tokens.rotateToken({ sid: 'sid-1', digest: 'd', now: 1, graceMs: 0, idleExpiresAt: 900 }, { digest: 'e', sealed: 's' })
  await t.rejects(rotate(), /fault/)
  db.exec('DROP TRIGGER fault')
  t.match(await rotate(), { outcome: 'rotated' }, 'the token was not used up')
})

t.test('sqlite: busy_timeout is set where it is 0 and else left', async (t) => {
  for (const [before, after] of [[0, 5000], [123, 123]] as const) {
    const db = new Database(newFile())
    db.exec(`PRAGMA busy_timeout = ${before}`)
    sqliteState(db)
    t.match(db.prepare('PRAGMA busy_timeout').get(), { timeout: after })
    db.close()
  }
})

t.test('sqlite: migrations are logged once, and a newer file is refused', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  for (let time = 0; time < 2; time++) {
    sqliteState(db)
    sqliteUserStore(db)
  }
  const log = () => db.prepare('SELECT component, version FROM authority_migrations ORDER BY component').all()
  t.same(log(), [{ component: 'state', version: 1 }, { component: 'users:authority_users', version: 1 }])
  db.exec('INSERT INTO authority_migrations (component, version) VALUES (\'state\', 2)')
  t.throws(() => sqliteState(db), /newer release/)
  t.doesNotThrow(() => sqliteUserStore(db))
})

t.test('ASVS-1.2.4 sqlite: a table name is a name', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  for (const table of ['', 'a b', 'a"; DROP TABLE x; --', '1a', 'ä', 'a'.repeat(64)]) t.throws(() => sqliteUserStore(db, { table }), TypeError)
})

t.test('sqlite: rows are not trusted', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const users = sqliteUserStore(db)
  const put = db.prepare('INSERT INTO authority_users (id, username, password_hash, profile) VALUES (?, ?, ?, ?)')

  put.run('a', 'alice', null, '{"__proto__":{"disabled":false},"id":"b","passwordHash":"h","email":"x","disabled":true,"team":"t"}')
  const alice = await users.findById('a')
  t.same(alice, { id: 'a', username: 'alice', passwordHash: null, team: 't' }, 'columns win over the profile, NULL ones too')
  t.equal(Object.hasOwn(alice ?? {}, '__proto__'), false)
  t.equal(await users.setPasswordHash('a', 'h2', null), true)

  for (const [id, profile] of [['c', '[]'], ['d', 'null'], ['e', 'no json'], ['f', '"text"']] as const) {
    put.run(id, id, null, profile)
    await t.rejects(users.findById(id), `profile ${profile} is an outage, not "no such user"`)
  }

  const { tokens } = sqliteState(db)
  await tokens.createFamily(family('sid-1'))
  db.exec('UPDATE authority_families SET previous_digest = \'p\', rotated_at = NULL')
  await t.rejects(tokens.useToken({ sid: 'sid-1', digest: 'p', now: 1, graceMs: 10, idleExpiresAt: 900 }), TypeError)
  t.match(await tokens.useToken({ sid: 'sid-1', digest: 'd', now: 1, graceMs: 10, idleExpiresAt: 900 }), { outcome: 'used' })
})

t.test('sqlite: names that a driver would cut off or change are refused and never found', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const users = sqliteUserStore(db)
  await users.create({ username: 'before', passwordHash: 'h' })
  await users.create({ username: '\ufffd', passwordHash: 'h' })
  for (const username of ['before\0after', 'before\0', '\ud800']) {
    t.equal(await users.findByUsername(username), null)
    await t.rejects(users.create({ username, passwordHash: 'h' }), TypeError)
  }
  await t.rejects(users.create({ username: 'x', passwordHash: 'h', disabled: 'yes' }), TypeError)
  const created = await users.create({ username: 'y', passwordHash: 'h', disabled: true, emailVerified: false, note: 'a\0b' })
  t.same(created, {
    id: created.id, username: 'y', passwordHash: 'h', disabled: true, emailVerified: false, note: 'a\0b'
  })
})

t.test('DOS sqliteState keeps at most maxFamiliesPerUser families of a user and ends the first created', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const { tokens } = sqliteState(db, { maxFamiliesPerUser: 3 })
  await tokens.createFamily(family('other', { userId: 'user-2' }))
  for (const index of [0, 1, 2, 3, 4]) await tokens.createFamily(family(`sid-${index}`, { createdAt: index }))
  t.same((await tokens.listFamiliesOfUser('user-1', 1)).map(({ sid }) => sid), ['sid-4', 'sid-3', 'sid-2'])
  t.ok(await tokens.findFamily('other', 1))
  for (const maxFamiliesPerUser of [0, -1, 1.5, NaN]) t.throws(() => sqliteState(db, { maxFamiliesPerUser }), RangeError)
})

t.test('sqlite: a sweep removes all that expired, in several slices', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const state = sqliteState(db)
  const count = (table: string): unknown => db.prepare(`SELECT count(*) AS n FROM ${table}`).get()
  db.exec('BEGIN')
  const put = db.prepare('INSERT INTO authority_one_time_tokens VALUES (\'verify_email\', ?, ?, ?)')
  for (let index = 0; index < 1700; index++) put.run(`u${index}`, `d${index}`, index < 1200 ? 10 : 11)
  db.exec('COMMIT')
  await state.tokens.createFamily(family('sid-1', { idleExpiresAt: 10 }))
  await state.tokens.createFamily(family('sid-2', { expiresAt: 10 }))
  await state.tokens.createFamily(family('sid-3', { expiresAt: 11 }))
  await state.sweep(10)
  t.match(count('authority_one_time_tokens'), { n: 500 })
  t.match(count('authority_families'), { n: 1 })
})
