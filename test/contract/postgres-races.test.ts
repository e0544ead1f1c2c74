import { Client } from 'pg'
import t from '../support/tap.ts'
import type { Test } from 'tap'
import { postgresState } from '../../lib/adapters/postgres/state.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { parallel, tally } from '../../lib/testing/contract.ts'
import { session, use as sessionUse } from '../../lib/testing/session-fixtures.ts'
import { MINUTE, T0, code, family, next, redemption, use } from '../../lib/testing/token-fixtures.ts'
import { startPostgres } from '../support/postgres-server.ts'

const server = await startPostgres()
t.teardown(async () => {
  await server.stop()
})

interface Instances {
  states: State[]
  /** Of one of them. */
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
  // Connected before the race, or it would be one of handshakes.
  await Promise.all(pools.map(async (pool) => await parallel(10, () => pool.query('SELECT pg_sleep(0.05)'))))
  return {
    states,
    url: database.url,
    at: (index) => states[index % states.length] as State,
    rows: async (sql) => (await (pools[0] ?? database.pool()).query(sql)).rows as Array<Record<string, unknown>>
  }
}

t.test('postgres: of 50 rotations on 50 connections one wins, and the family never forks', async (t) => {
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

t.test('postgres: of 50 redemptions on 50 connections one is redeemed and the next ends it', async (t) => {
  const { at } = await instances(t)
  for (let turn = 0; turn < 5; turn++) {
    await at(turn).tokens.createCode(code({ sid: `sid-${turn}` }))
    const outcomes = await parallel(50, (index) => at(index).tokens.redeemCode(redemption({ sid: `sid-${turn}` })))
    t.same(tally(outcomes.map(({ outcome }) => outcome)), { redeemed: 1, replayed: 1, unknown: 48 })
    t.equal(await at(1).tokens.findFamily(`sid-${turn}`, T0 + 1000), null)
  }
})

t.test('DOS postgres: 50 sign-ins at once leave no more than the bound', async (t) => {
  const { at } = await instances(t, { maxFamiliesPerUser: 3, maxSessionsPerUser: 2 })
  await parallel(50, (index) => at(index).tokens.createCode(code({ sid: `code-${index}`, createdAt: T0 + index })))
  await parallel(50, (index) => at(index).tokens.createFamily(family({ sid: `sid-${index}`, createdAt: T0 + index })))
  await parallel(50, (index) =>
    at(index).browserSessions.createSession(session({ sid: `sid-${index}`, createdAt: T0 + index }), 'd')
  )
  t.equal((await at(0).tokens.listFamiliesOfUser('user-19367', T0)).length, 3)
  t.equal((await at(0).browserSessions.listSessionsOfUser('user-19367', T0)).length, 2)
  t.equal((await at(0).tokens.revokeFamiliesOfUser('user-19367')).length, 6, 'three families and three codes')
})

t.test(
  'DOS postgres: codes of one user that are redeemed at once leave no more than the bound, ' +
    "which a redemption without the user's lock would",
  async (t) => {
    const MAX = 2
    const USERS = 5
    const { at, rows } = await instances(t, { maxFamiliesPerUser: MAX })
    // Between the look at what is too much and the commit: whoever looks meanwhile does not see this one's.
    await rows(`CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NULL; END $$;
    CREATE TRIGGER slowly AFTER DELETE ON authority_families FOR EACH ROW EXECUTE FUNCTION slowly()`)
    let turn = 0
    /** How many of the users have more families than they may. */
    const beyond = async (): Promise<number> => {
      turn++
      const ofUser = (user: number, what: string): { sid: string; userId: string; createdAt: number } => ({
        sid: `${what}-${turn}-${user}`,
        userId: `user-${turn}-${user}`,
        createdAt: T0 + turn
      })
      for (let user = 0; user < USERS; user++) {
        for (let device = 0; device < MAX; device++)
          await at(user).tokens.createFamily(family(ofUser(user, `device-${device}`)))
        for (let device = 0; device < MAX; device++)
          await at(user).tokens.createCode(code(ofUser(user, `code-${device}`)))
      }
      const outcomes = await parallel(USERS * MAX, (index) =>
        at(index).tokens.redeemCode(redemption({ sid: `code-${index % MAX}-${turn}-${Math.floor(index / MAX)}` }))
      )
      t.same(tally(outcomes.map(({ outcome }) => outcome)), { redeemed: USERS * MAX })
      return (
        await rows(
          `SELECT user_id FROM authority_families WHERE user_id LIKE 'user-${turn}-%' AND ` +
            `current_digest IS NOT NULL GROUP BY user_id HAVING count(*) > ${MAX}`
        )
      ).length
    }
    t.equal(await beyond(), 0)
    const [definition] = await rows(
      "SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE proname = 'authority_redeem_code'"
    )
    const text = String(definition?.['text'])
    const without = text.replace(/PERFORM pg_advisory_xact_lock\([^;]*;/, '')
    t.not(without, text)
    await rows(without)
    t.ok((await beyond()) > 0, 'this test sees it')
  }
)

t.test('postgres: everything at once on the rows of one user, and nobody meets a deadlock', async (t) => {
  const { at, rows } = await instances(t, { maxFamiliesPerUser: 5, maxSessionsPerUser: 5 })
  const sid = (index: number): string => `sid-${index % 12}`
  const calls: Array<(index: number) => Promise<unknown>> = [
    (index) => at(index).tokens.createFamily(family({ sid: `new-${index}`, createdAt: T0 + (index % 7) })),
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
    (index) => at(index).tokens.revokeSession('user-19367', index % 2 === 0 ? 'session-1' : `new-${index - 3}`),
    (index) =>
      at(index).tokens.createCode(
        code({ sid: `in-session-${index}`, sessionSid: `new-${index - 2}` }),
        sessionUse({ sid: `new-${index - 2}` })
      ),
    (index) => at(index).tokens.revokeFamiliesOfClient('user-19367', 'client-1'),
    (index) => at(index).tokens.revokeFamiliesOfUser('user-19367', sid(index)),
    async (index) => {
      await at(index).sweep(T0 + (index * MINUTE) / 10)
    },
    (index) =>
      at(index).browserSessions.createSession(session({ sid: `new-${index}`, createdAt: T0 + (index % 5) }), 'd'),
    (index) => at(index).browserSessions.revokeSessionsOfUser('user-19367'),
    (index) =>
      at(index).oneTimeTokens.put({
        purpose: 'verify_email',
        digest: `d-${index}`,
        userId: 'user-19367',
        expiresAt: T0 + index
      }),
    (index) => at(index).oneTimeTokens.consume('verify_email', `d-${index - 1}`, T0),
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
  t.same(await rows('SELECT sid FROM authority_families'), [])
  t.same(await rows('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()'), [
    { deadlocks: 0 }
  ])
})

const isTaken = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '23505'

const EXPIRED = `INSERT INTO authority_families (sid, user_id, scope, authenticated_at, created_at, last_used_at, expires_at, idle_expires_at, sweep_after, offline, current_digest)
  SELECT 'old-' || i, 'user-' || i, 's', 0, 0, 0, 10 + i % 2, 10 + i % 2, 10 + i % 2, true, 'd' FROM generate_series(1, 6000) AS i`

t.test('postgres: several instances sweep side by side, each row once, and leave what is alive', async (t) => {
  const { states, at, rows } = await instances(t)
  await rows(EXPIRED)
  await rows(
    "INSERT INTO authority_one_time_tokens SELECT 'verify_email', 'u' || i, 'd' || i, 10 + i % " +
      '2 FROM generate_series(1, 2400) AS i'
  )
  await rows(
    "INSERT INTO authority_consents SELECT 'u' || i, 'c', '{}', 0, 10 + i % 2 FROM generate_series(1, 2400) AS i"
  )
  await rows("INSERT INTO authority_assertions SELECT 'd' || i, 10 + i % 2 FROM generate_series(1, 1200) AS i")
  await at(0).browserSessions.createSession(session({ expiresAt: 10 }), 'd')
  await Promise.all(
    states.map(async (state) => {
      await state.sweep(10)
    })
  )
  for (const [table, left] of [
    ['authority_families', 3000],
    ['authority_one_time_tokens', 1200],
    ['authority_consents', 1200],
    ['authority_assertions', 600],
    ['authority_browser_sessions', 0]
  ] as const) {
    t.same(await rows(`SELECT count(*)::int AS n FROM ${table}`), [{ n: left }], table)
  }
})

t.test('postgres: a sweep waits for nobody, and takes nothing that a request has in hand', async (t) => {
  const { at, rows, url } = await instances(t)
  await rows(EXPIRED)
  await at(0).tokens.createFamily(family({ sid: 'in use', expiresAt: 1000, idleExpiresAt: 5 }))
  const request = new Client({ connectionString: url })
  await request.connect()
  await request.query('BEGIN')
  await request.query("UPDATE authority_families SET idle_expires_at = 900, sweep_after = 900 WHERE sid = 'in use'")
  await request.query("SELECT 1 FROM authority_families WHERE sid = 'old-2' FOR UPDATE")
  await at(1).sweep(20)
  t.same(await rows('SELECT sid FROM authority_families ORDER BY sid'), [{ sid: 'in use' }, { sid: 'old-2' }])
  await request.query('COMMIT')
  await request.end()
  await at(1).sweep(20)
  t.same(await rows('SELECT sid FROM authority_families'), [{ sid: 'in use' }])
})

t.test('postgres: a connection that is cut in the middle leaves all or nothing, and the next call works', async (t) => {
  const { at, url } = await instances(t)
  const blocker = new Client({ connectionString: url })
  await blocker.connect()
  await at(0).tokens.createFamily(family())
  await blocker.query('BEGIN')
  await blocker.query('SELECT 1 FROM authority_families FOR UPDATE')
  const waiting = parallel(3, (index) =>
    at(index)
      .tokens.rotateToken(use(), next(index + 1))
      .then(
        () => 'resolved',
        (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error)
      )
  )
  const WAITING = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  let waits = 0
  while (waits < 3) waits = (await blocker.query(`SELECT 1 ${WAITING}`)).rowCount ?? 0
  await blocker.query(`SELECT pg_terminate_backend(pid) ${WAITING}`)
  t.same(await waiting, ['57P01', '57P01', '57P01'])
  await blocker.query('COMMIT')
  await blocker.end()
  t.equal((await at(0).tokens.rotateToken(use(), next(9))).outcome, 'rotated', 'the token was not used up')
})

t.test('postgres: killed and restarted, it has what it said yes to', async (t) => {
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
      const sid = `sid-${worker}-${index}`
      const isCreated = await state.tokens.createFamily(family({ sid, userId: sid })).then(
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
  await t.rejects(state.tokens.findFamily('sid-0-0', T0), { code: 'ECONNREFUSED', isOutage: true }, 'B3')
  await durable.restart()
  for (const sid of created) t.ok(await state.tokens.findFamily(sid, T0), sid)
  t.ok(await users.create({ username: 'alice', passwordHash: 'h' }))
})
