/** Runs the SQL of the guide on the state unchanged. */
import { readFileSync } from 'node:fs'
import t from '../support/tap.ts'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { session } from '../contract/suites/session-fixtures.ts'
import { family, named } from '../contract/suites/token-fixtures.ts'
import { startPostgres } from '../support/postgres-server.ts'

const guide = readFileSync(new URL('../../docs/guides/state.md', import.meta.url), 'utf8')
const [view = '', ofUser = '', ofClient = '', counts = '', partitions = '', ...others] = [
  ...guide.matchAll(/^```sql\n(.*?)^```/gms)
].map(([, sql = '']) => sql)

const server = await startPostgres()
t.teardown(async () => {
  await server.stop()
})

/** Further rows besides those of the test, so that the planner has a reason to use an index. */
const MANY = `INSERT INTO authority_records SELECT 'p' || i, 'f:1', 'family', 'user-' || i, 'v', json_build_array(
    'user-' || i, 'client-' || i % 1000, '', 0, NULL, '[]', 1700000000000, 1700000000000, 0, 0, NULL)::text,
    9e15, 9e15 FROM generate_series(1, 20000) AS i`

for (const isPartitioned of [false, true]) {
  t.test(`runs the printed view, indexes and queries ${isPartitioned ? 'with' : 'without'} partitions`, async (t) => {
    t.same(others, [])
    const pool = (await server.database()).pool({ max: 1 })
    if (isPartitioned) await pool.query(partitions)
    const { tokens, browserSessions } = postgresState(pool)
    const now = Date.now()
    const ends = { createdAt: now, lastUsedAt: now, expiresAt: now + 60_000, idleExpiresAt: now + 60_000 }
    const of = (name: string, userId: string) => ({ sid: named(name, userId), userId, ...ends })
    await tokens.createFamily(family({ ...of('a', 'u1'), clientId: 'spa', userAgent: 'Phone' }))
    await tokens.createFamily(family({ ...of('b', 'u1'), clientId: 'spa' }))
    await tokens.createFamily(family({ ...of('c', 'u2'), clientId: 'app' }))
    await browserSessions.createSession(session({ ...of('d', 'u1'), userAgent: 'Browser' }), 'digest')
    await pool.query(MANY)
    await pool.query(view)
    await pool.query('ANALYZE authority_records')

    const { rows } = await pool.query<Record<string, unknown>>(ofUser)
    t.same(
      rows.map((row) => [row['kind'], row['client_id'], row['user_agent']]).toSorted(),
      [
        ['family', 'spa', 'Phone'],
        ['family', 'spa', family().userAgent],
        ['session', null, 'Browser']
      ].toSorted()
    )
    const seconds = Math.floor(now / 1000) * 1000
    t.ok(rows.every((row) => Number(row['last_used_at']) === seconds && Number(row['signed_in_at']) === seconds))
    t.same(
      (await pool.query<{ user_id: string }>(ofClient)).rows.map(({ user_id: userId }) => userId),
      ['u1', 'u1']
    )
    const counted = (await pool.query<{ client_id: string }>(counts)).rows
    t.equal(counted.length, 1002)
    t.match(
      counted.find((row) => row.client_id === 'spa'),
      { users: '1', devices: '2' }
    )

    const planOf = async (sql: string): Promise<string> =>
      (await pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${sql}`)).rows.map((row) => row['QUERY PLAN']).join('\n')
    for (const [query, column] of [
      [ofUser, 'user_id'],
      [ofClient, '->> 1']
    ] as const) {
      const plan = await planOf(query)
      t.match(plan, new RegExp(`Index Cond: .*${column.replace('>>', '>>')}`))
      t.notMatch(plan, /Seq Scan/)
    }
    if (isPartitioned) {
      const { rows: made } = await pool.query(
        "SELECT 1 FROM pg_inherits WHERE inhparent = 'authority_records'::regclass"
      )
      t.equal(made.length, 16)
    }
  })
}

t.test('creates the same columns with the printed table as at start', async (t) => {
  const COLUMNS = `SELECT column_name, data_type, is_nullable, collation_name FROM information_schema.columns
    WHERE table_name = 'authority_records' ORDER BY ordinal_position`
  const made = await Promise.all(
    [partitions, 'SELECT 1'].map(async (before) => {
      const pool = (await server.database()).pool({ max: 1 })
      await pool.query(before)
      await postgresState(pool).prepare()
      return (await pool.query(COLUMNS)).rows
    })
  )
  t.same(made[0], made[1])
  t.equal(made[0]?.length, 8)
})
