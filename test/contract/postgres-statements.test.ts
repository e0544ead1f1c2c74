import type { Pool } from 'pg'
import t from '../support/tap.ts'
import { postgresState } from '../../lib/adapters/postgres/state.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { renewal, session, use as sessionUse } from '../../lib/testing/session-fixtures.ts'
import { MINUTE, T0, code, family, next, redemption, use } from '../../lib/testing/token-fixtures.ts'
import { startPostgres } from '../support/postgres-server.ts'
import type { PostgresDatabase } from '../support/postgres-server.ts'

const DAY = 24 * 60 * MINUTE

const server = await startPostgres()
t.teardown(async () => {
  await server.stop()
})

async function fresh(): Promise<{ database: PostgresDatabase; pool: Pool; state: State }> {
  const database = await server.database()
  const pool = database.pool()
  const state = postgresState(pool)
  await state.prepare()
  return { database, pool, state }
}

const consent = { userId: 'user-19367', clientId: 'client-1', scopes: ['openid'], grantedAt: T0, expiresAt: T0 + DAY }
const token = { purpose: 'verify_email', digest: 'd', userId: 'user-19367', expiresAt: T0 + DAY } as const
const key = {
  kid: 'kid',
  alg: 'ES256',
  sequence: 1,
  signsFrom: T0,
  createdAt: T0,
  publicJwk: { kty: 'EC' },
  sealed: 's'
}

/** Every operation once, in an order in which each has something to do. */
const OPERATIONS: ReadonlyArray<readonly [name: string, call: (state: State) => Promise<unknown>]> = [
  ['createFamily', ({ tokens }) => tokens.createFamily(family())],
  ['createCode', ({ tokens }) => tokens.createCode(code({ sid: 'sid-2' }))],
  ['redeemCode', ({ tokens }) => tokens.redeemCode(redemption({ sid: 'sid-2', tokenDigest: 'digest-0' }))],
  ['findFamily', ({ tokens }) => tokens.findFamily('sid-1', T0)],
  ['peekToken', ({ tokens }) => tokens.peekToken(use())],
  ['useToken', ({ tokens }) => tokens.useToken(use())],
  ['rotateToken, rotated', ({ tokens }) => tokens.rotateToken(use(), next(1))],
  ['rotateToken, repeated', ({ tokens }) => tokens.rotateToken(use(), next(2))],
  ['rotateToken, replayed', ({ tokens }) => tokens.rotateToken(use({ digest: 'made-up' }), next(2))],
  ['rotateToken, unknown', ({ tokens }) => tokens.rotateToken(use(), next(2))],
  [
    'undoRotation',
    ({ tokens }) => tokens.undoRotation({ sid: 'sid-2', digest: 'digest-0', replacedDigest: 'e', former: null })
  ],
  ['revokeFamily', ({ tokens }) => tokens.revokeFamily('sid-1')],
  ['revokeFamiliesOfUser', ({ tokens }) => tokens.revokeFamiliesOfUser('user-19367')],
  ['revokeFamiliesOfClient', ({ tokens }) => tokens.revokeFamiliesOfClient('user-19367', 'client-1')],
  ['listFamiliesOfUser', ({ tokens }) => tokens.listFamiliesOfUser('user-19367', T0)],
  ['createSession', ({ browserSessions }) => browserSessions.createSession(session(), 'digest-0')],
  ['findSession', ({ browserSessions }) => browserSessions.findSession('sid-1', 'digest-0', T0)],
  ['createCode in a session', ({ tokens }) => tokens.createCode(code({ sid: 'sid-9' }), sessionUse())],
  ['useSession', ({ browserSessions }) => browserSessions.useSession(sessionUse())],
  ['renewSession', ({ browserSessions }) => browserSessions.renewSession(renewal())],
  ['listSessionsOfUser', ({ browserSessions }) => browserSessions.listSessionsOfUser('user-19367', T0)],
  ['revokeSession', ({ tokens }) => tokens.revokeSession('user-19367', 'sid-1')],
  ['revokeSessionsOfUser', ({ browserSessions }) => browserSessions.revokeSessionsOfUser('user-19367')],
  ['grantConsent', ({ consents }) => consents.grantConsent(consent)],
  ['findConsent', ({ consents }) => consents.findConsent('user-19367', 'client-1', T0)],
  ['listConsents', ({ consents }) => consents.listConsents('user-19367', T0)],
  ['claim', async ({ assertions }) => await assertions?.claim('assertion', T0)],
  ['revokeConsent', ({ consents }) => consents.revokeConsent('user-19367', 'client-1')],
  ['put', ({ oneTimeTokens }) => oneTimeTokens.put(token)],
  ['find', ({ oneTimeTokens }) => oneTimeTokens.find('verify_email', 'd', T0)],
  ['consume', ({ oneTimeTokens }) => oneTimeTokens.consume('verify_email', 'd', T0)],
  ['discard', ({ oneTimeTokens }) => oneTimeTokens.discard('verify_email', 'user-19367')],
  [
    'redeemCode',
    async ({ oneTimeTokens }) =>
      await oneTimeTokens.redeemCode?.({ purpose: 'sign_in_code', owner: 'user-19367', codeDigest: 'd', now: T0 })
  ],
  ['addIfAbsent', ({ keys }) => keys.addIfAbsent(key)],
  ['list', ({ keys }) => keys.list()],
  ['remove', ({ keys }) => keys.remove('kid')],
  ['time', async (state) => await state.time?.()]
]

t.test(
  'postgres: every operation is one statement, as the server counts them',
  { skip: !server.hasStatements && 'pg_stat_statements is not installed' },
  async (t) => {
    const { pool, state } = await fresh()
    await pool.query('CREATE EXTENSION pg_stat_statements')
    const count = async (): Promise<number> =>
      Number(
        (
          await pool.query(
            'SELECT coalesce(sum(calls), 0) AS calls FROM pg_stat_statements s JOIN pg_database d ON ' +
              'd.oid = s.dbid WHERE d.datname = current_database() AND query NOT LIKE ' +
              "'%pg_stat_statements%'"
          )
        ).rows[0].calls
      )
    const known = (['tokens', 'oneTimeTokens', 'browserSessions', 'consents', 'keys', 'assertions'] as const).flatMap(
      (store) => Object.keys(state[store] ?? {})
    )
    t.strictSame(
      known.filter((method) => !OPERATIONS.some(([name]) => name.split(/[ ,:]/)[0] === method)),
      [],
      'none is left out'
    )
    for (const [name, call] of OPERATIONS) {
      const before = await count()
      await call(state)
      t.equal((await count()) - before, 1, name)
    }
  }
)

t.test(
  'postgres: a late undo does not take back a successor that was rotated since, though that rotation was undone',
  async (t) => {
    const {
      state: { tokens }
    } = await fresh()
    await tokens.createFamily(family())
    const first = await tokens.rotateToken(use(), next(1))
    t.equal((await tokens.rotateToken(use(), next(2))).outcome, 'repeated', 'somebody has digest-1')
    const second = await tokens.rotateToken(use({ digest: 'digest-1' }), next(3))
    if (first.outcome !== 'rotated' || second.outcome !== 'rotated') {
      t.fail('not rotated')
      return
    }
    await tokens.undoRotation(second.undo)
    await tokens.undoRotation(first.undo)
    t.equal((await tokens.useToken(use({ digest: 'digest-1', graceMs: 0 }))).outcome, 'used')
  }
)

t.test("postgres: time is the server's", async (t) => {
  const { pool, state } = await fresh()
  const before = (await pool.query('SELECT clock_timestamp() AS at')).rows[0].at as Date
  const time = (await state.time?.()) ?? 0
  const after = (await pool.query('SELECT clock_timestamp() AS at')).rows[0].at as Date
  t.ok(before.getTime() <= time + 1 && time <= after.getTime() + 1, `${before.getTime()} ${time} ${after.getTime()}`)
})

t.test('postgres: rotations and uses write no index', async (t) => {
  const {
    database,
    pool,
    state: { tokens, browserSessions }
  } = await fresh()
  const ends = { expiresAt: T0 + 365 * DAY, idleExpiresAt: T0 + 30 * DAY }
  for (let index = 0; index < 200; index++) {
    await tokens.createFamily(family({ sid: `sid-${index}`, userId: `user-${index}`, ...ends }))
    await browserSessions.createSession(session({ sid: `sid-${index}`, userId: `user-${index}`, ...ends }), 'digest-0')
  }
  // The first use takes each to its step; what follows stays on it for a day or two.
  for (let turn = 1; turn <= 6; turn++) {
    const now = T0 + turn * 60 * MINUTE
    for (let index = 0; index < 200; index++) {
      const sid = `sid-${index}`
      await tokens.rotateToken(
        use({ sid, digest: `digest-${turn - 1}`, now, idleExpiresAt: now + 30 * DAY }),
        next(turn)
      )
      await tokens.useToken(use({ sid, digest: `digest-${turn}`, now, idleExpiresAt: now + 30 * DAY }))
      await browserSessions.useSession(sessionUse({ sid, now, idleExpiresAt: now + 30 * DAY }))
    }
  }
  // A connection reports what it counted when it ends.
  await pool.end()
  const observer = database.pool()
  for (const [table, updates] of [
    ['authority_families', 2400],
    ['authority_browser_sessions', 1200]
  ] as const) {
    const {
      rows: [stats]
    } = await observer.query(
      'SELECT n_tup_upd::int AS updated, n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = $1',
      [table]
    )
    t.equal(stats.updated, updates)
    t.ok(stats.hot >= 0.75 * updates, `${table}: ${stats.hot} of ${updates} are HOT`)
  }
})

t.test('postgres: a plan made when there were few rows does not read them all', async (t) => {
  const {
    database,
    pool,
    state: { tokens, browserSessions }
  } = await fresh()
  const tables = ['authority_families', 'authority_browser_sessions']
  for (let index = 0; index < 5; index++) {
    await tokens.createCode(code({ sid: `sid-${index}`, userId: `user-${index}` }))
    await browserSessions.createSession(session({ sid: `sid-${index}`, userId: `user-${index}` }), 'digest-0')
  }
  // Only now does the planner know how few there are. The connections are new, and their plans with them.
  for (const table of tables) await pool.query(`VACUUM ANALYZE ${table}`)
  await pool.end()
  const reads = async (): Promise<unknown[]> =>
    (
      await database
        .pool()
        .query('SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname = ANY ($1) ORDER BY 1', [tables])
    ).rows
  const before = await reads()
  const again = database.pool({ max: 1 })
  const state = postgresState(again)
  for (let turn = 0; turn < 10; turn++) {
    await state.tokens.redeemCode(redemption({ sid: `sid-${turn}` }))
    await state.tokens.rotateToken(use({ sid: `sid-${turn}` }), next(1))
    await state.tokens.createFamily(family({ sid: `new-${turn}` }))
    await state.tokens.revokeFamiliesOfUser(`user-${turn}`)
    await state.browserSessions.createSession(session({ sid: `new-${turn}` }), 'digest-0')
    await state.browserSessions.revokeSessionsOfUser(`user-${turn}`)
  }
  await again.end()
  t.same(await reads(), before)
})

t.test('postgres: the sweep looks at a family no earlier than its end, and hardly later', async (t) => {
  const { pool, state } = await fresh()
  const due = async (): Promise<number> =>
    Number((await pool.query('SELECT sweep_after FROM authority_families')).rows[0].sweep_after)
  await state.tokens.createFamily(family({ idleExpiresAt: T0 + DAY, expiresAt: T0 + 40 * DAY }))
  t.equal(await due(), T0 + DAY)
  for (let now = T0, digest = 0; now < T0 + 40 * DAY; now += DAY / 2, digest++) {
    const rotated = await state.tokens.rotateToken(
      use({ digest: `digest-${digest}`, now, idleExpiresAt: now + DAY }),
      next(digest + 1)
    )
    if (rotated.outcome !== 'rotated') {
      t.fail(rotated.outcome)
      return
    }
    const lateMs = (await due()) - rotated.family.idleExpiresAt
    t.ok(lateMs >= 0 && lateMs <= DAY / 16, `${lateMs} ms`)
  }
})

t.test('postgres: a slice of a sweep reads a slice, though the planner knows of nothing due', async (t) => {
  const { database, pool, state } = await fresh()
  await pool.query('ALTER TABLE authority_families SET (autovacuum_enabled = off)')
  await pool.query(`INSERT INTO authority_families (sid, user_id, scope, authenticated_at, created_at, last_used_at, expires_at, idle_expires_at, sweep_after, offline, current_digest, user_agent)
    SELECT md5(i::text), 'user-' || i, 's', 0, 0, 0, ends, ends, ends, true, 'd', repeat('x', 300)
    FROM (SELECT i, 1000 + abs(hashtext(i::text)::bigint) % 1000000 AS ends FROM generate_series(1, 40000) AS i) AS families`)
  await pool.query('VACUUM ANALYZE authority_families')
  await pool.query("UPDATE authority_families SET expires_at = 5, idle_expires_at = 5, sweep_after = 5 WHERE sid < '8'")
  await pool.query('VACUUM authority_families')
  await state.sweep(6)
  await pool.end()
  const {
    rows: [counted]
  } = await database.pool()
    .query(`SELECT idx_tup_read::int AS read, (SELECT count(*)::int FROM authority_families) AS left
    FROM pg_stat_user_indexes WHERE indexrelname = 'authority_families_sweep'`)
  t.ok(counted.left > 19_000 && counted.left < 21_000, `${counted.left} left`)
  // The slices once, and what the slice before has just made dead. All that is due for each would be 400,000.
  t.ok(counted.read < 100_000, `${counted.read} entries read`)
})

t.test('postgres: by an index, however many there are', async (t) => {
  const { pool } = await fresh()
  await pool.query(`INSERT INTO authority_families (sid, user_id, scope, authenticated_at, created_at, last_used_at, expires_at, idle_expires_at, sweep_after, offline, current_digest)
    SELECT md5(i::text), 'user-' || i / 3, 's', 0, 0, 0, 1e12, 1e12, 1e12, true, 'd' FROM generate_series(1, 20000) AS i`)
  await pool.query('ANALYZE authority_families')
  const plan = async (sql: string): Promise<string> =>
    (await pool.query(`EXPLAIN ${sql}`)).rows.map((row) => String(row['QUERY PLAN'])).join('\n')
  for (const [sql, index] of [
    ["SELECT * FROM authority_families WHERE sid = 'x' FOR UPDATE", 'authority_families_pkey'],
    ["DELETE FROM authority_families WHERE user_id = 'user-1' AND sid <> 'x'", 'authority_families_user'],
    [
      'SELECT sid FROM authority_families WHERE sweep_after <= 5 ORDER BY sweep_after LIMIT 500 FOR UPDATE SKIP LOCKED',
      'authority_families_sweep'
    ]
  ] as const) {
    const found = await plan(sql)
    t.match(found, index)
    t.notMatch(found, /Seq Scan/)
  }
})

t.test('postgres: an error holds no value of a row or parameter', async (t) => {
  const { pool, state } = await fresh()
  const users = postgresUserStore(pool)
  await users.prepare()
  const SECRET = 'canary-5f2c'
  await state.tokens.createFamily(family({ sid: SECRET }))
  await pool.query(`ALTER TABLE authority_users ADD CHECK (password_hash <> '${SECRET}')`)
  await pool.query(`CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'of %', NEW USING DETAIL = NEW::text; END $$;
    CREATE TRIGGER fault BEFORE INSERT ON authority_consents FOR EACH ROW EXECUTE FUNCTION fault()`)
  const wrapping = postgresState({
    async query(text, params) {
      throw Object.assign(new Error(`Failed query: ${text}`, { cause: params }), { params, detail: String(params) })
    }
  })
  const calls: Array<[call: () => Promise<unknown>, code: string | undefined]> = [
    [() => state.tokens.createFamily(family({ sid: SECRET })), '23505'],
    [() => users.create({ username: SECRET, passwordHash: SECRET }), '23514'],
    [() => state.consents.grantConsent({ ...consent, userId: SECRET }), 'P0001'],
    [() => state.tokens.findFamily(SECRET, 1.5), '22P02'],
    [() => state.tokens.findFamily(SECRET, Infinity), '22P02'],
    [() => wrapping.tokens.findFamily(SECRET, 1), undefined]
  ]
  for (const [call, expected] of calls) {
    const error: unknown = await call().then(
      () => null,
      (reason: unknown) => reason
    )
    if (!(error instanceof Error)) {
      t.fail(`no error for ${expected}`)
      continue
    }
    t.equal('code' in error ? error.code : undefined, expected)
    t.notMatch(
      JSON.stringify([error.message, error.stack, error.cause, ...Object.values(error)]),
      new RegExp(`${SECRET}|1\\.5|Infinity`)
    )
  }
})

t.test('postgres: what it can not store is refused and never found', async (t) => {
  const { pool, state } = await fresh()
  const users = postgresUserStore(pool)
  await users.create({ username: 'before', passwordHash: 'h' })
  await users.create({ username: '\ufffd', passwordHash: 'h' })
  for (const username of ['before\0after', 'before\0', '\ud800']) {
    t.equal(await users.findByUsername(username), null)
    t.equal(await users.findById(username), null)
    await t.rejects(users.create({ username, passwordHash: 'h' }), TypeError)
    await t.rejects(users.create({ username: 'x', passwordHash: 'h', note: [username] }), TypeError)
    await t.rejects(users.create({ username: 'x', passwordHash: 'h', [username]: 1 }), TypeError)
    await t.rejects(users.update('x', { username }), TypeError)
    await t.rejects(users.update('x', { note: [username] }), TypeError)
    await t.rejects(users.update('x', { [username]: 1 }), TypeError)
    t.equal(await users.update(username, { [username]: null }), null)
    await users.remove(username)
    await t.rejects(state.tokens.createFamily(family({ userAgent: username })), TypeError)
    await t.rejects(state.tokens.revokeFamiliesOfUser(username), TypeError)
  }
  await t.rejects(users.create({ username: 'x', passwordHash: 'h', disabled: 'yes' }), TypeError)
  for (const patch of [{ username: null }, { username: 1 }, { email: 1 }, { emailVerified: 'yes' }, { disabled: 1 }])
    await t.rejects(users.update('x', patch as never), TypeError)
})

t.test(
  "postgres: an update whose name is free is not told of a taken one where an index of the host's own refuses it",
  async (t) => {
    const { pool } = await fresh()
    const users = postgresUserStore(pool)
    const ann = await users.create({ username: 'ann', passwordHash: 'h' })
    await users.create({ username: 'bob', passwordHash: 'h', email: 'bob@example.com' })
    await pool.query('CREATE UNIQUE INDEX of_the_host ON authority_users (email)')
    await t.rejects(users.update(ann.id, { username: 'anna', email: 'bob@example.com' }), { code: '23505' })
    await t.rejects(users.update(ann.id, { username: 'bob', email: 'bob@example.com' }), {
      code: 'FST_AUTHORITY_USERNAME_TAKEN'
    })
    t.match(await users.findById(ann.id), { username: 'ann', version: 1 })
  }
)

t.test(
  'postgres: an update keeps what other code wrote into the profile, and takes away only what it names',
  async (t) => {
    const { pool } = await fresh()
    const users = postgresUserStore(pool)
    const { id } = await users.create({ username: 'ann', passwordHash: 'h', roles: ['a'], city: 'Bern' })
    const changed = await users.update(id, {
      city: null,
      nested: { a: null },
      disabled: true,
      __proto__: null,
      version: 99,
      passwordChangedAt: 5
    })
    t.same(changed, {
      id,
      username: 'ann',
      passwordHash: 'h',
      roles: ['a'],
      nested: { a: null },
      disabled: true,
      version: 2
    })
    t.same(await users.update(id, {}, '2' as never), null, 'a version of another type is another one')
  }
)

t.test('postgres: rows are not trusted, and a driver may give numbers as it likes', async (t) => {
  const { pool, state } = await fresh()
  const users = postgresUserStore(pool)
  const created = await users.create({ username: 'alice', passwordHash: 'h', roles: ['a'], nested: { b: null } })
  t.same(await users.findById(created.id), {
    id: created.id,
    username: 'alice',
    passwordHash: 'h',
    roles: ['a'],
    nested: { b: null },
    version: 1
  })
  await pool.query('UPDATE authority_users SET profile = $1, password_hash = NULL', [
    '{"__proto__":{"disabled":false},"id":"b","passwordHash":"h","disabled":true,"team":"t"}'
  ])
  const alice = await users.findById(created.id)
  t.same(
    alice,
    { id: created.id, username: 'alice', passwordHash: null, team: 't', version: 1 },
    'columns win over the profile'
  )
  t.equal(Object.hasOwn(alice ?? {}, '__proto__'), false)
  for (const profile of ['[]', 'null', '"text"', '1']) {
    await pool.query('UPDATE authority_users SET profile = $1', [profile])
    await t.rejects(users.findById(created.id), TypeError, `profile ${profile} is an outage, not "no such user"`)
  }
  await state.tokens.createFamily(family())
  for (const convert of [Number, String, BigInt]) {
    const given = (row: object) =>
      Object.entries(row).map(([name, value]: [string, unknown]) => [
        name,
        typeof value === 'string' && /^(.*_at|version)$/.test(name) ? convert(value) : value
      ])
    const { tokens } = postgresState({
      query: async (text, params) => ({
        rows: (await pool.query(text, params)).rows.map((row: object) => Object.fromEntries(given(row)))
      })
    })
    t.equal((await tokens.findFamily('sid-1', T0))?.expiresAt, T0 + 60 * MINUTE)
  }
})
