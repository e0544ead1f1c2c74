import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rm } from 'node:fs/promises'
import Database from 'libsql'
import t from '../support/tap.ts'
import type { SqliteDatabase } from '../../lib/adapters/sqlite/database.ts'
import { sqliteState } from '../../lib/adapters/sqlite/record-store.ts'
import { sqliteUserStore } from '../../lib/adapters/sqlite/user-store.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { delayed } from '../../lib/testing/doubles.ts'
import { stateContract } from './suites/state-contract.ts'
import { oneTimeToken } from '../../lib/protocol/credential.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'
import { code, consent, family, redemption, renewal, session, sidOf } from './support/sqlite-records.ts'

const directory = mkdtempSync(join(tmpdir(), 'authority-sqlite-'))
t.teardown(() => rm(directory, { recursive: true, force: true }))
let files = 0
const newFile = (): string => join(directory, `${++files}.db`)

const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)
const opened =
  <Subject extends object>(subjectOf: (db: SqliteDatabase) => Subject) =>
  async () => {
    const db = new Database(newFile())
    db.exec('PRAGMA synchronous = OFF')
    return {
      ...subjectOf(db),
      async close() {
        db.close()
      }
    }
  }

runContract(userStoreContract(opened((db) => ({ store: sqliteUserStore(db) }))), test('sqlite user store'))
runContract(
  userStoreContract(opened((db) => ({ store: delayed(sqliteUserStore(db)) }))),
  test('delayed sqlite user store')
)
runContract(stateContract(opened((db) => ({ state: sqliteState(db) }))), test('sqlite state'))
runContract(stateContract(opened((db) => ({ state: delayed(sqliteState(db)) }))), test('delayed sqlite state'))

t.test('sqlite: finds written records after reopening the file', async (t) => {
  const file = newFile()
  const first = new Database(file)
  const user = await sqliteUserStore(first, { table: 'people' }).create({
    username: 'alice',
    passwordHash: 'h',
    email: 'a@example.com',
    roles: ['admin'],
    profile: { a: 1 }
  })
  const state = sqliteState(first)
  const mail = oneTimeToken(user.id, 'x').digest
  await state.tokens.createFamily(family('sid-1'))
  await state.tokens.rotateToken(
    { sid: sidOf('sid-1'), digest: 'd', now: 1, graceMs: 10, idleExpiresAt: 900 },
    { digest: 'e', sealed: 'sealed' }
  )
  await state.oneTimeTokens.put({ purpose: 'verify_email', digest: mail, userId: user.id, expiresAt: 10 })
  await state.tokens.createCode(code('sid-2'))
  await state.browserSessions.createSession(session('sid-1', { clientIds: ['c1', 'c2'] }), 'd')
  await state.consents.grantConsent(consent)
  first.close()

  const second = new Database(file)
  t.teardown(() => second.close())
  t.same(await sqliteUserStore(second, { table: 'people' }).findByUsername('alice'), {
    id: user.id,
    createdAt: user.createdAt,
    username: 'alice',
    passwordHash: 'h',
    email: 'a@example.com',
    roles: ['admin'],
    profile: { a: 1 },
    version: 1
  })
  const again = sqliteState(second)
  t.match(
    await again.tokens.rotateToken(
      { sid: sidOf('sid-1'), digest: 'd', now: 11, graceMs: 10, idleExpiresAt: 900 },
      { digest: 'f', sealed: 'no' }
    ),
    { outcome: 'repeated', sealed: 'sealed' }
  )
  t.ok(await again.oneTimeTokens.consume('verify_email', mail, 9))
  t.match(await again.tokens.redeemCode(redemption), { outcome: 'redeemed' })
  t.same(await again.browserSessions.findSession(sidOf('sid-1'), 'd', 1), session('sid-1', { clientIds: ['c1', 'c2'] }))
  t.same(await again.consents.findConsent('user-19367', 'c', 1), consent)
  t.equal(await sqliteUserStore(second).findByUsername('alice'), null, 'another table is another store')
})

t.test('sqlite: rejects with SQLITE_BUSY while the file is locked, and recovers', async (t) => {
  const file = newFile()
  const db = new Database(file)
  const state = sqliteState(db)
  const users = sqliteUserStore(db)
  await state.tokens.createFamily(family('sid-1'))
  db.exec('PRAGMA busy_timeout = 1')
  const other = new Database(file)
  t.teardown(() => {
    db.close()
    other.close()
  })
  other.exec('BEGIN IMMEDIATE')
  const use = { sid: sidOf('sid-1'), digest: 'd', now: 1, graceMs: 10, idleExpiresAt: 900 }
  const calls: Array<() => Promise<unknown>> = [
    () => state.tokens.rotateToken(use, { digest: 'e', sealed: 's' }),
    () => state.tokens.useToken(use),
    () => state.tokens.createFamily(family('sid-2')),
    () => state.tokens.revokeFamiliesOfUser('user-19367'),
    () => state.tokens.createCode(code('sid-2')),
    () => state.tokens.redeemCode(redemption),
    () => state.tokens.revokeFamiliesOfClient('user-19367', 'c'),
    () => state.browserSessions.createSession(session('sid-1'), 'd'),
    () => state.browserSessions.useSession({ sid: sidOf('sid-1'), digest: 'd', now: 1, idleExpiresAt: 900 }),
    () => state.browserSessions.renewSession(renewal),
    () => state.tokens.revokeSession('user-19367', sidOf('sid-1')),
    () => state.consents.grantConsent(consent),
    () => state.consents.revokeConsent('user-19367', 'c'),
    () =>
      state.oneTimeTokens.put({
        purpose: 'verify_email',
        digest: oneTimeToken('u', 'x').digest,
        userId: 'u',
        expiresAt: 10
      }),
    () => users.create({ username: 'alice', passwordHash: 'h' }),
    () => users.setEmailVerified('x'),
    () => users.update('x', { emailVerified: true }),
    () => users.remove('x'),
    async () => {
      await state.sweep(1)
    }
  ]
  // Calls all at once, because each retries for a second and a half.
  for (const outcome of await Promise.allSettled(calls.map(async (call) => await call())))
    t.match(outcome, { status: 'rejected', reason: { code: /^SQLITE_BUSY/ } })
  other.exec('ROLLBACK')
  t.equal(await state.tokens.revokeFamily(sidOf('none')), false)

  // An open reader. Without a write-ahead log it makes COMMIT wait.
  await state.tokens.createFamily(family('sid-3'))
  other.exec('BEGIN')
  other.prepare('SELECT * FROM authority_records').all()
  await t.rejects(state.tokens.revokeFamily(sidOf('sid-3')), { code: /^SQLITE_BUSY/ })
  other.exec('ROLLBACK')
  t.equal(await state.tokens.revokeFamily(sidOf('sid-3')), true, 'what could not commit was rolled back')
  t.match(await state.tokens.rotateToken(use, { digest: 'e', sealed: 's' }), { outcome: 'rotated' })
  t.equal((await users.create({ username: 'alice', passwordHash: 'h' })).username, 'alice')
})

t.test('sqlite: rejects inside a transaction of the host, and leaves that transaction alone', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const { tokens } = sqliteState(db)
  await tokens.createFamily(family('sid-2'))
  db.exec('CREATE TABLE of_the_host (a)')
  db.exec('BEGIN')
  db.exec('INSERT INTO of_the_host VALUES (1)')
  await t.rejects(tokens.createFamily(family('sid-1')), /within a transaction/)
  await t.rejects(tokens.revokeFamily(sidOf('sid-2')), /within a transaction/)
  db.exec('COMMIT')
  t.equal(db.prepare('SELECT * FROM of_the_host').all().length, 1)
})

t.test('sqlite: rolls back an operation that fails half-way', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const { tokens } = sqliteState(db)
  await tokens.createFamily(family('sid-1'))
  db.exec("CREATE TRIGGER fault BEFORE UPDATE ON authority_records BEGIN SELECT RAISE(ABORT, 'fault'); END")
  const rotate = () =>
    tokens.rotateToken(
      { sid: sidOf('sid-1'), digest: 'd', now: 1, graceMs: 0, idleExpiresAt: 900 },
      { digest: 'e', sealed: 's' }
    )
  await t.rejects(rotate(), /fault/)
  db.exec('DROP TRIGGER fault')
  t.match(await rotate(), { outcome: 'rotated' }, 'the token was not used up')
})

t.test('sqlite: does not use a code up when its redemption fails half-way', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const { tokens } = sqliteState(db)
  await tokens.createCode(code('sid-2'))
  db.exec(
    "CREATE TRIGGER fault BEFORE UPDATE ON authority_records WHEN NEW.kind = 'index' BEGIN SELECT RAISE(ABORT, 'fault'); END"
  )
  await t.rejects(tokens.redeemCode(redemption), /fault/)
  db.exec('DROP TRIGGER fault')
  t.match(await tokens.redeemCode(redemption), { outcome: 'redeemed' })
})

t.test('sqlite: sets busy_timeout when it is 0, and keeps other values', async (t) => {
  for (const [before, after] of [
    [0, 5000],
    [123, 123]
  ] as const) {
    const db = new Database(newFile())
    db.exec(`PRAGMA busy_timeout = ${before}`)
    sqliteState(db)
    t.match(db.prepare('PRAGMA busy_timeout').get(), { timeout: after })
    db.close()
  }
})

t.test('sqliteState B15 accepts only whole numbers from 1 to 1,000 as bounds', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  for (const max of [0, -1, 1.5, NaN, 1001]) {
    t.throws(() => sqliteState(db, { maxFamiliesPerUser: max }), RangeError)
    t.throws(() => sqliteState(db, { maxSessionsPerUser: max }), /maxSessionsPerUser/)
  }
})

t.test('sqlite: sweeps all expired records in several slices', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  const state = sqliteState(db)
  await state.prepare?.()
  const put = db.prepare("INSERT INTO authority_records VALUES ('p', ?, 'kind', NULL, 'version', '[]', ?)")
  db.exec('BEGIN')
  for (let index = 0; index < 1700; index++) put.run(`k${index}`, index < 1200 ? 10 : 11)
  db.exec('COMMIT')
  await state.sweep(10)
  t.match(db.prepare('SELECT count(*) AS n, min(expires_at) AS first FROM authority_records').get(), {
    n: 500,
    first: 11
  })
})

t.test('sqlite: stores the kind, user and end of each record in columns', async (t) => {
  const db = new Database(newFile())
  t.teardown(() => db.close())
  await sqliteState(db).tokens.createFamily(family('sid-1'))
  const rows = db.prepare('SELECT kind, user_id, expires_at FROM authority_records ORDER BY kind').all()
  t.match(rows, [
    { kind: 'family', user_id: 'user-19367', expires_at: 1000 },
    { kind: 'index', user_id: 'user-19367', expires_at: 1000 }
  ])
})
