/** B4: a state belongs to one issuer at one prefix. */
import Database from 'libsql'
import t, { type Test } from '../support/tap.ts'
import { memoryState, memoryUserStore, postgresState, redisState, sqliteState } from '../../lib/index.ts'
import type { State } from '../../lib/ports/state.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { ISSUER, PASSWORD, testApp } from '../support/app.ts'

const OTHER = 'http://localhost:4000'

async function startWith(t: Test, state: State, issuer: string): Promise<Awaited<ReturnType<typeof testApp>>> {
  const made = await testApp({ state, issuer })
  t.teardown(made.close)
  return made
}

const starts = async (t: Test, state: State, issuer: string): Promise<unknown> =>
  await startWith(t, state, issuer).then(
    () => 'started',
    (error: unknown) => error
  )

async function refusesAnother(t: Test, make: () => State, mend: RegExp): Promise<void> {
  await startWith(t, make(), ISSUER)
  t.equal(await starts(t, make(), ISSUER), 'started', 'another instance of the same service')
  t.match(await starts(t, make(), OTHER), { name: 'StartError', code: 'FST_AUTHORITY_FOREIGN_STATE', message: mend })
}

// covers B4
t.test('refuses a second issuer on a shared memory state', async (t) => {
  const state = memoryState()
  await refusesAnother(
    t,
    () => state,
    /memory state is that of a service with another issuer than http:\/\/localhost:4000, or with another prefix than \/auth\. Give each its own memoryState\(\)/
  )
})

// covers B4
t.test('refuses a second issuer on a shared SQLite file', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => {
    db.close()
  })
  await refusesAnother(t, () => sqliteState(db), /Give each a file of its own/)
})

// covers B4
t.test('refuses a second issuer on Redis unless each has its own prefix', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.stop())
  const client = server.client()
  await refusesAnother(t, () => redisState(client), /Give each a prefix of its own/)
  t.equal(await starts(t, redisState(client, { prefix: 'other:' }), OTHER), 'started')
})

// covers B4
t.test('refuses a second issuer on PostgreSQL unless each has its own schema', async (t) => {
  const server = await startPostgres()
  t.teardown(async () => {
    await server.stop()
  })
  const database = await server.database()
  t.teardown(async () => {
    await database.drop()
  })
  const pool = database.pool()
  await refusesAnother(t, () => postgresState(pool), /Give each a schema of its own/)
  t.equal(await starts(t, postgresState(pool, { schema: 'other' }), OTHER), 'started')
  const both = await Promise.all([
    starts(t, postgresState(pool, { schema: 'third' }), ISSUER),
    starts(t, postgresState(pool, { schema: 'third' }), OTHER)
  ])
  t.equal(both.filter((outcome) => outcome === 'started').length, 1)
})

// covers B4
t.test('refuses a second prefix of the same issuer on a shared state', async (t) => {
  const state = memoryState()
  await startWith(t, state, ISSUER)
  const staff = testApp({ state, issuer: ISSUER, prefix: '/admin-auth', users: memoryUserStore() })
  await t.rejects(staff, { code: 'FST_AUTHORITY_FOREIGN_STATE', message: /another prefix than \/admin-auth/ })
})

// covers B4
t.test('answers 503 after an outage at start when the state belongs to another issuer', async (t) => {
  const inner = memoryState()
  await inner.claimFor?.('the digest of another')
  let down = true
  const state: State = {
    ...inner,
    kind: 'theirs',
    claimFor: async (issuer) => {
      if (down) throw new Error('down')
      return (await inner.claimFor?.(issuer)) ?? ''
    }
  }
  const { app } = await testAppOver(t, state)
  down = false
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'ann@example.com', password: PASSWORD }
  })
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
  })
  t.equal(reply.statusCode, 503, "it is another's")
})

async function testAppOver(t: Test, state: State): Promise<Awaited<ReturnType<typeof testApp>>> {
  const made = await testApp({ state, users: memoryUserStore() })
  t.teardown(made.close)
  return made
}
