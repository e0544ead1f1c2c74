/** Imports users of another system with their ids, each once, and changes no existing user. */
import Database from 'libsql'
import t from '../support/tap.ts'
import { postgresUserStore, sqliteUserStore, type UserStore } from '../../lib/index.ts'
import type { LinkedIdentity, User, UserImporter, UserToImport } from '../../lib/ports/user-store.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const server = await sharedPostgres(t)
const pool = (await server.database()).pool({ max: 4 })
let tables = 0
const db = new Database(':memory:')
t.teardown(() => {
  db.close()
})
const STORES: Record<string, () => Required<UserStore> & UserImporter> = {
  sqlite: () => sqliteUserStore(db, { table: `users_${++tables}` }),
  postgres: () => postgresUserStore(pool, { table: `users_${++tables}` })
}

const given = (id: string, username: string, more: Partial<User> = {}, links: LinkedIdentity[] = []): UserToImport => ({
  user: { id, username, passwordHash: null, ...more },
  links
})
const link = (subject: string): LinkedIdentity => ({
  issuer: 'https://accounts.google.com',
  subject,
  connection: 'google',
  linkedAt: 5,
  lastUsedAt: 5
})
const outcomes = async (
  store: UserImporter,
  users: readonly UserToImport[],
  options?: { dryRun?: boolean }
): Promise<string[]> => (await store.importUsers(users, options)).map(({ outcome, links }) => `${outcome} ${links}`)

for (const [name, make] of Object.entries(STORES)) {
  t.test(`${name}: imports users with their fields, times and identity links`, async (t) => {
    const store = make()
    const ann: Partial<User> = {
      passwordHash: '$2b$04$x',
      email: 'Ann@example.com',
      emailVerified: true,
      disabled: true,
      createdAt: 1_600_000_000_123,
      passwordChangedAt: 1_600_000_000_456,
      name: 'Ann \u00c4 \u{1f600}',
      nested: { list: [1, null] }
    }
    t.strictSame(await outcomes(store, [given('auth0|1', 'ann', ann, [link('1'), link('2')]), given('2', 'ben')]), [
      'imported 2',
      'imported 0'
    ])
    t.match(await store.findById('auth0|1'), { id: 'auth0|1', username: 'ann', ...ann, version: 1 })
    t.match(await store.listIdentities('auth0|1'), [link('1'), link('2')])
    const ben = await store.findByUsername('ben')
    t.strictSame([ben?.id, ben?.passwordHash, ben?.createdAt, ben?.email], ['2', null, undefined, undefined])
  })

  t.test(`${name}: returns the conflict of each user, and changes no existing user`, async (t) => {
    const store = make()
    const first = [given('1', 'ann', { name: 'Ann' }, [link('1')]), given('2', 'ben')]
    await store.importUsers(first)
    const asked = [
      given('1', 'ann', { name: 'other', disabled: true }, [link('new')]),
      given('1', 'renamed'),
      given('2', 'ann'),
      given('3', 'ann'),
      given('4', 'cleo', {}, [link('1'), link('4')])
    ]
    const answer = ['unchanged 0', 'other_name 0', 'other_name 0', 'name_taken 0', 'imported 1']
    t.strictSame(await outcomes(store, asked, { dryRun: true }), answer)
    t.equal(await store.findById('4'), null, 'the dry run wrote nothing')
    t.strictSame(await outcomes(store, asked), answer)
    t.match(await store.findById('1'), { name: 'Ann', version: 1 })
    t.strictSame((await store.listIdentities('1')).length, 1)
    t.strictSame(
      (await store.listIdentities('4')).map(({ subject }) => subject),
      ['4']
    )
    t.strictSame(await outcomes(store, asked), [...answer.slice(0, 4), 'unchanged 0'])
    t.strictSame(await store.importUsers([]), [])
  })

  t.test(`${name}: imports only the first of two users with one id or one username`, async (t) => {
    const store = make()
    const names = ['1 ann', '1 ann', '1 ben', '2 ann', '3 cleo'].map((one) => one.split(' '))
    const twice = names.map(([id = '', username = '']) => given(id, username))
    const answer = ['imported 0', 'unchanged 0', 'other_name 0', 'name_taken 0', 'imported 0']
    t.strictSame(await outcomes(store, twice, { dryRun: true }), Array(5).fill('imported 0'), 'each alone')
    t.strictSame(await outcomes(store, twice), answer)
    const again = ['unchanged 0', ...answer.slice(1, 4), 'unchanged 0']
    t.strictSame(await outcomes(store, twice), again)
  })

  t.test(`${name}: writes each user once in two parallel imports`, async (t) => {
    const store = make()
    const many = Array.from({ length: 300 }, (_, index) =>
      given(`id-${index}`, `user-${index}`, {}, [link(`${index}`)])
    )
    const both = await Promise.all([outcomes(store, many), outcomes(store, many.toReversed())])
    t.equal(both.flat().filter((one) => one === 'imported 1').length, 300)
    t.equal(both.flat().filter((one) => one === 'unchanged 0').length, 300)
  })

  t.test(`${name}: imports no user of a call with a user whom the database cannot store`, async (t) => {
    const store = make()
    await t.rejects(store.importUsers([given('1', 'ann'), given('2', 'ben', { email: 'a\0b' })]), TypeError)
    await t.rejects(store.importUsers([given('1', 'ann'), given('2', 'ben', { disabled: 'no' as never })]), TypeError)
    t.equal(await store.findById('1'), null)
  })
}

t.test('postgres: completes two parallel imports in opposite orders without a deadlock', async (t) => {
  const table = `users_${++tables}`
  const store = postgresUserStore(pool, { table })
  const many = Array.from({ length: 101 }, (_, index) =>
    given(`${index + 100}`, `user-${index}`, {}, [link(`${index}`)])
  )
  await store.prepare()
  const other = await pool.connect()
  try {
    // Both wait for the row in the middle, which is then free for one of them.
    await other.query(`BEGIN; INSERT INTO ${table} (id, username) VALUES ('150', 'user-50')`)
    const both = Promise.all([store.importUsers(many), store.importUsers(many.toReversed())])
    for (let waiting = 0; waiting < 2;) {
      const { rows } = await pool.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${table}%'`
      )
      waiting = rows[0]?.count ?? 0
    }
    await other.query('ROLLBACK')
    t.equal((await both).flat().filter(({ outcome }) => outcome === 'imported').length, 101)
  } finally {
    other.release()
  }
})
