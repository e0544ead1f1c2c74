/** Behavior of the user stores of this package that the contract leaves open to a host's own store. */
import Database from 'libsql'
import t, { type Test } from '../support/tap.ts'
import { memoryUserStore, postgresUserStore, sqliteUserStore, type User, type UserStore } from '../../lib/index.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const server = await sharedPostgres(t)
const pool = (await server.database()).pool({ max: 2 })
let made = 0
const makers: Record<string, (t: Test) => Required<UserStore>> = {
  memory: () => memoryUserStore(),
  sqlite(t) {
    const db = new Database(':memory:')
    t.teardown(() => db.close())
    return sqliteUserStore(db)
  },
  postgres: () => postgresUserStore(pool, { table: `users_${++made}` })
}

const JOINED = new Date('2026-01-01T00:00:00.000Z')
const ANN = { username: 'ann', passwordHash: 'hash-0' }

for (const [name, make] of Object.entries(makers)) {
  t.test(`${name}: does not find a user by an id that a database cannot store`, async (t) => {
    const store = make(t)
    for (const id of ['a\0b', '\0', '\ud800']) {
      t.equal(await store.findById(id), null)
      t.equal(await store.setPasswordHash(id, 'hash-1'), false)
      t.equal(await store.setPasswordHash(id, null, 'hash-0', 1), false)
      t.equal(await store.setEmailVerified(id), undefined)
      t.equal(await store.setEmailVerified(id, 'ann@example.com', 1), undefined)
      t.equal(await store.update(id, { emailVerified: true }), null)
      t.equal(await store.setDisabled(id, true), false)
      t.equal(await store.remove(id), undefined)
    }
  })

  t.test(`${name}: stores fields of the host as JSON, with dates as strings`, async (t) => {
    const store = make(t)
    const fields = { joined: JOINED, plan: { since: [JOINED], left: undefined }, emailProvedAt: JOINED }
    const created = await store.create({ ...ANN, ...fields })
    const given = structuredClone(fields)
    const said = ({ joined, plan, emailProvedAt }: User): unknown => ({ joined, plan, emailProvedAt })
    const stored = {
      joined: JOINED.toISOString(),
      plan: { since: [JOINED.toISOString()] },
      emailProvedAt: JOINED.getTime()
    }
    for (const user of [created, await store.findById(created.id), await store.findByUsername('ann')])
      t.strictSame(said(user as User), stored)
    t.strictSame(fields, given, 'the caller keeps its dates')
    const patched = await store.update(created.id, { ...fields, joined: new Date(0) })
    t.strictSame(said(patched as User), { ...stored, joined: new Date(0).toISOString() })
    const linked = await store.createWithIdentity(
      { ...ANN, username: 'bob', joined: JOINED },
      { issuer: 'i', subject: 's', connection: 'c', linkedAt: 0, lastUsedAt: 0 }
    )
    t.equal(linked['joined'], JOINED.toISOString())
  })

  t.test(`${name}: finds an email in any case of its ASCII letters`, async (t) => {
    const store = make(t)
    const { id } = await store.create({ ...ANN, email: 'Ann-Käthe@Example.com' })
    await store.create({ ...ANN, username: 'mike', email: 'mike@example.com' })
    const found = async (email: string): Promise<string[][]> =>
      [await store.findByEmail(email), await store.list({ limit: 9, email })].map((users) => users.map((one) => one.id))
    t.strictSame(await found('ANN-KäTHE@eXAMPLE.COM'), [[id], [id]])
    // Other letters are compared as the database does, and PostgreSQL folds them by its collation.
    if (name !== 'postgres') t.strictSame(await found('mi\u212ae@example.com'), [[], []])
  })
}

t.test('memory: converts the dates of given users to milliseconds', async (t) => {
  const times = { createdAt: JOINED, passwordChangedAt: JOINED, emailProvedAt: JOINED }
  const store = memoryUserStore([{ id: 'a', ...ANN, ...times }])
  const user = await store.findById('a')
  for (const name of ['createdAt', 'passwordChangedAt', 'emailProvedAt']) t.equal(user?.[name], JOINED.getTime())
})
