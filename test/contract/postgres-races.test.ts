import { Client } from 'pg'
import t from '../support/tap.ts'
import type { Test } from 'tap'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { parallel, tally } from '../../lib/testing/contract.ts'
import { session, use as sessionUse } from './suites/session-fixtures.ts'
import { MINUTE, T0, code, family, named, next, redemption, use } from './suites/token-fixtures.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'

const server = await sharedPostgres(t)

interface Instances {
  states: State[]
  /** The state of one instance, in rotation. */
  at(index: number): State
  url: string
  rows(sql: string): Promise<Array<Record<string, unknown>>>
}

/** Five instances with pools of their own on one fresh database: 50 connections. */
async function instances(
  t: Test,
  options: { maxFamiliesPerUser?: number; maxSessionsPerUser?: number } = {}
): Promise<Instances> {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pools = Array.from({ length: 5 }, () => database.pool({ max: 10 }))
  const states = pools.map((pool) => postgresState(pool, options))
  await Promise.all(
    states.map(async (state) => {
      await state.prepare()
    })
  )
  // Connects before the race, so that handshakes don't decide it.
  await Promise.all(pools.map(async (pool) => await parallel(10, () => pool.query('SELECT pg_sleep(0.05)'))))
  return {
    states,
    url: database.url,
    at: (index) => states[index % states.length] as State,
    rows: async (sql) => (await (pools[0] ?? database.pool()).query(sql)).rows as Array<Record<string, unknown>>
  }
}

t.test('postgres: rotates once in 50 rotations on 50 connections, and repeats that token to the others', async (t) => {
  const { at } = await instances(t)
  await at(0).tokens.createFamily(family())
  let digest = 'digest-0'
  for (let turn = 1; turn <= 10; turn++) {
    const outcomes = await parallel(50, (index) =>
      at(index).tokens.rotateToken(use({ digest, now: T0 + turn }), next(turn * 100 + index))
    )
    t.same(tally(outcomes.map(({ outcome }) => outcome)), { rotated: 1, repeated: 49 })
    const winner = turn * 100 + outcomes.findIndex(({ outcome }) => outcome === 'rotated')
    t.ok(outcomes.every((result) => result.outcome !== 'repeated' || result.sealed === `sealed-${winner}`))
    digest = `digest-${winner}`
  }
})

t.test('postgres: redeems a code once of 50 redemptions on 50 connections, and ends its family', async (t) => {
  const { at } = await instances(t)
  for (let turn = 0; turn < 5; turn++) {
    await at(turn).tokens.createCode(code({ sid: named(`sid-${turn}`) }))
    const outcomes = await parallel(50, (index) =>
      at(index).tokens.redeemCode(redemption({ sid: named(`sid-${turn}`) }))
    )
    t.same(tally(outcomes.map(({ outcome }) => outcome)), { redeemed: 1, replayed: 1, unknown: 48 })
    t.equal(await at(1).tokens.findFamily(named(`sid-${turn}`), T0 + 1000), null)
  }
})

t.test('DOS postgres: keeps the bounds of families, codes and sessions after 50 parallel sign-ins', async (t) => {
  const { at } = await instances(t, { maxFamiliesPerUser: 3, maxSessionsPerUser: 2 })
  await parallel(50, (index) =>
    at(index).tokens.createCode(code({ sid: named(`code-${index}`), createdAt: T0 + index }))
  )
  await parallel(50, (index) =>
    at(index).tokens.createFamily(family({ sid: named(`sid-${index}`), createdAt: T0 + index }))
  )
  await parallel(50, (index) =>
    at(index).browserSessions.createSession(session({ sid: named(`session-${index}`), createdAt: T0 + index }), 'd')
  )
  t.equal((await at(0).tokens.listFamiliesOfUser('user-19367', T0)).length, 3)
  t.equal((await at(0).browserSessions.listSessionsOfUser('user-19367', T0)).length, 2)
  t.equal((await at(0).tokens.revokeFamiliesOfUser('user-19367')).length, 6, 'three families and three codes')
})

t.test('DOS postgres: keeps the bound of families after parallel redemptions of the codes of a user', async (t) => {
  const MAX = 2
  const USERS = ['ann', 'bob', 'cid', 'dee', 'eva']
  const { at } = await instances(t, { maxFamiliesPerUser: MAX })
  const ofUser = (user: string, what: string) => ({ sid: named(what, user), userId: user, createdAt: T0 })
  for (const [index, user] of USERS.entries())
    for (let device = 0; device < MAX; device++) {
      await at(index).tokens.createFamily(family(ofUser(user, `device-${device}`)))
      await at(index).tokens.createCode(code(ofUser(user, `code-${device}`)))
    }
  const outcomes = await parallel(USERS.length * MAX, (index) =>
    at(index).tokens.redeemCode(redemption({ sid: named(`code-${index % MAX}`, USERS[Math.floor(index / MAX)] ?? '') }))
  )
  t.same(tally(outcomes.map(({ outcome }) => outcome)), { redeemed: USERS.length * MAX })
  const lists = await Promise.all(USERS.map((user) => at(0).tokens.listFamiliesOfUser(user, T0)))
  t.same(
    lists.map((families) => families.length),
    USERS.map(() => MAX)
  )
})

t.test('postgres: runs operations on the records of one user in parallel without a deadlock', async (t) => {
  const { at, rows } = await instances(t, { maxFamiliesPerUser: 5, maxSessionsPerUser: 5 })
  const sid = (index: number): string => named(`sid-${index % 12}`)
  const calls: Array<(index: number) => Promise<unknown>> = [
    (index) => at(index).tokens.createFamily(family({ sid: named(`new-${index}`), createdAt: T0 + (index % 7) })),
    (index) =>
      at(index)
        .tokens.createCode(code({ sid: sid(index), offline: index % 2 === 0 }))
        .catch((error: unknown) => {
          if (!isTaken(error)) throw error
        }),
    (index) => at(index).tokens.redeemCode(redemption({ sid: sid(index) })),
    (index) => at(index).tokens.rotateToken(use({ sid: sid(index) }), next(index)),
    (index) => at(index).tokens.useToken(use({ sid: sid(index + 3), digest: 'digest-0' })),
    (index) => at(index).tokens.revokeFamily(sid(index)),
    (index) =>
      at(index).tokens.revokeSession('user-19367', named(index % 2 === 0 ? 'session-1' : `session-${index - 3}`)),
    (index) =>
      at(index).tokens.createCode(
        code({ sid: named(`in-session-${index}`), sessionSid: named(`session-${index - 2}`) }),
        sessionUse({ sid: named(`session-${index - 2}`) })
      ),
    (index) => at(index).tokens.revokeFamiliesOfClient('user-19367', 'client-1'),
    (index) => at(index).tokens.revokeFamiliesOfUser('user-19367', sid(index)),
    async (index) => {
      await at(index).sweep(T0 + (index * MINUTE) / 10)
    },
    (index) =>
      at(index).browserSessions.createSession(
        session({ sid: named(`session-${index}`), createdAt: T0 + (index % 5) }),
        'd'
      ),
    (index) => at(index).browserSessions.revokeSessionsOfUser('user-19367'),
    (index) =>
      at(index).oneTimeTokens.put({
        purpose: 'verify_email',
        digest: named(`d-${index}`),
        userId: 'user-19367',
        expiresAt: T0 + index
      }),
    (index) => at(index).oneTimeTokens.consume('verify_email', named(`d-${index - 1}`), T0),
    (index) =>
      at(index).consents.grantConsent({
        userId: 'user-19367',
        clientId: `client-${index % 3}`,
        scopes: [`s-${index}`],
        grantedAt: T0,
        expiresAt: T0 + index * 1000
      })
  ]
  const results = await Promise.allSettled(
    Array.from({ length: 1500 }, async (_, index) => await calls[(index * 7) % calls.length]?.(index))
  )
  t.same(
    results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : [])),
    []
  )
  await at(0).tokens.revokeFamiliesOfUser('user-19367')
  t.same(await rows("SELECT key FROM authority_records WHERE kind IN ('family', 'code')"), [])
  t.same(await rows('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()'), [
    { deadlocks: 0 }
  ])
})

const isTaken = (error: unknown): boolean => error instanceof TypeError && /sid exists/.test(error.message)

t.test('postgres: repeats a commit when its connection is cut once, and rejects after a second cut', async (t) => {
  const { at, rows, url } = await instances(t)
  const blocker = new Client({ connectionString: url })
  await blocker.connect()
  await at(0).tokens.createFamily(family())
  await blocker.query('BEGIN')
  await blocker.query('SELECT 1 FROM authority_records FOR UPDATE')
  const rotations = () =>
    parallel(3, (index) =>
      at(index)
        .tokens.rotateToken(use(), next(index + 1))
        .then(
          ({ outcome }) => outcome,
          (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : String(error))
        )
    )
  const WAITING = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  const cut = async (): Promise<void> => {
    let pids: number[] = []
    while (pids.length < 3) pids = (await rows(`SELECT pid ${WAITING}`)).map(({ pid }) => Number(pid))
    await rows(`SELECT pg_terminate_backend(pid) ${WAITING}`)
    const left = `SELECT pid FROM pg_stat_activity WHERE pid IN (${pids.join()})`
    while ((await rows(left)).length > 0);
  }
  const twice = rotations()
  await cut()
  await cut()
  t.same(await twice, ['57P01', '57P01', '57P01'])
  const once = rotations()
  await cut()
  await blocker.query('COMMIT')
  await blocker.end()
  t.same(tally(await once), { rotated: 1, repeated: 2 }, 'the token was not used up')
})

t.test('postgres: keeps every confirmed token family after a kill and restart', async (t) => {
  const durable = await startPostgres({ durable: true })
  t.teardown(() => durable.stop())
  const database = await durable.database()
  const pool = database.pool({ max: 10, connectionTimeoutMillis: 1000 })
  const state = postgresState(pool)
  const users = postgresUserStore(pool)
  await state.prepare()
  await users.prepare()
  const created: string[] = []
  const load = parallel(5, async (worker) => {
    for (let index = 0; ; index++) {
      const userId = `user-${worker}-${index}`
      const sid = named('sid', userId)
      const isCreated = await state.tokens.createFamily(family({ sid, userId })).then(
        () => true,
        () => false
      )
      if (!isCreated) return
      created.push(sid)
    }
  })
  while (created.length < 50)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  await durable.kill()
  await load
  await t.rejects(state.tokens.findFamily(named('sid-0-0'), T0), { code: 'ECONNREFUSED', isOutage: true }, 'B3')
  await durable.restart()
  for (const sid of created) t.ok(await state.tokens.findFamily(sid, T0), sid)
  t.ok(await users.create({ username: 'alice', passwordHash: 'h' }))
})
