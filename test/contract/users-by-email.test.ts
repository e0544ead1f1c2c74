/** Strangers can create any number of users with one address. The user who has confirmed it is still found. */
import Database from 'libsql'
import t from '../support/tap.ts'
import { memoryUserStore, postgresUserStore, sqliteUserStore, type UserStore } from '../../lib/index.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const ANN = 'ann@example.com'
const server = await sharedPostgres(t)
const db = new Database(':memory:')
t.teardown(() => {
  db.close()
})
const postgres = postgresUserStore((await server.database()).pool({ max: 2 }))
await postgres.prepare()
const stores: Record<string, Required<UserStore>> = {
  memory: memoryUserStore(),
  sqlite: sqliteUserStore(db),
  postgres
}

for (const [name, store] of Object.entries(stores))
  t.test(`${name}: finds at most ten users by one email address, those who confirmed it first`, async (t) => {
    const user = { email: ANN, passwordHash: null }
    for (let index = 0; index < 12; index++) await store.create({ ...user, username: `stranger-${index}` })
    const { id } = await store.create({ ...user, username: 'ann', emailVerified: true })
    const found = await store.findByEmail('Ann@Example.com')
    t.equal(found.length, 10)
    t.equal(found.at(0)?.id, id)
  })
