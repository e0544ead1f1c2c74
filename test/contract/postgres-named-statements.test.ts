/** B20: PostgreSQL plans a repeated statement once per connection. */
import type { Pool } from 'pg'
import t, { type Test } from '../support/tap.ts'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import { T0, family, named, use } from './suites/token-fixtures.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const server = await sharedPostgres(t)

async function poolOf(t: Test): Promise<Pool> {
  const database = await server.database()
  t.teardown(() => database.drop())
  return database.pool({ max: 1 })
}

const prepared = async (pool: Pool): Promise<string[]> =>
  (await pool.query('SELECT name FROM pg_prepared_statements WHERE NOT from_sql ORDER BY 1')).rows.map(
    ({ name }: { name: string }) => name
  )

// covers B20
t.test('prepares a repeated PostgreSQL statement once, and no migration', async (t) => {
  const pool = await poolOf(t)
  const [state, users] = [postgresState(pool), postgresUserStore(pool)]
  await Promise.all([state.prepare(), users.prepare()])
  t.same((await pool.query("SELECT 1 FROM pg_prepared_statements WHERE statement LIKE 'DO %'")).rows, [])
  const before = await prepared(pool)
  await state.tokens.createFamily(family())
  for (let turn = 0; turn < 3; turn++) {
    t.equal((await state.tokens.findFamily(named('sid-1'), T0))?.sid, named('sid-1'))
    t.equal(await users.findById('nobody'), null)
  }
  const names = await prepared(pool)
  t.equal(names.filter((name) => !before.includes(name)).length, 2, 'a read and a user; commits were tried at start')
  t.ok(names.every((name) => /^authority_[0-9a-f]{24}$/.test(name)))
})

// covers B20
t.test('prepares no statement with namedStatements: false, or for other databases than Pool and Client', async (t) => {
  const pool = await poolOf(t)
  for (const state of [
    postgresState(pool, { namedStatements: false }),
    postgresState({ query: async (text, params) => await pool.query(text, params) })
  ]) {
    t.equal(await state.tokens.findFamily(named('sid-1'), T0), null)
    t.same(await prepared(pool), [])
  }
})

// covers B20
t.test('reads and uses a token after a newer release adds a column', async (t) => {
  const pool = await poolOf(t)
  const { tokens } = postgresState(pool)
  await tokens.createFamily(family())
  for (let turn = 0; turn < 3; turn++) await tokens.findFamily(named('sid-1'), T0)
  await pool.query('ALTER TABLE authority_records ADD COLUMN of_a_newer_release integer')
  for (let turn = 0; turn < 3; turn++) t.equal((await tokens.findFamily(named('sid-1'), T0))?.sid, named('sid-1'))
  t.equal((await tokens.useToken(use())).outcome, 'used')
})

// covers B20
t.test('reads and uses a token behind a pooler that drops prepared statements', async (t) => {
  const pool = await poolOf(t)
  const { tokens } = postgresState(pool)
  await tokens.createFamily(family())
  await tokens.findFamily(named('sid-1'), T0)
  // The driver still believes that the statements exist, as when PgBouncer switches connections.
  await pool.query('DEALLOCATE ALL')
  t.equal((await tokens.findFamily(named('sid-1'), T0))?.sid, named('sid-1'))
  t.equal((await tokens.useToken(use())).outcome, 'used')
  t.same(await prepared(pool), [], 'it does without from then on')
})
