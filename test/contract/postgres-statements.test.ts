import type { Pool } from 'pg'
import t from '../support/tap.ts'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import type { State } from '../../lib/ports/state.ts'
import { MINUTE, T0, family, named, next, use } from './suites/token-fixtures.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'
import type { PostgresDatabase } from '../support/postgres-server.ts'

const DAY = 24 * 60 * MINUTE

const server = await sharedPostgres(t)

async function fresh(): Promise<{ database: PostgresDatabase; pool: Pool; state: State }> {
  const database = await server.database()
  const pool = database.pool()
  const state = postgresState(pool)
  await state.prepare()
  return { database, pool, state }
}

const consent = { userId: 'user-19367', clientId: 'client-1', scopes: ['openid'], grantedAt: T0, expiresAt: T0 + DAY }
t.test('postgres: keeps a token valid when the undo of an earlier rotation comes late', async (t) => {
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
})

t.test('postgres: reads the time of the server', async (t) => {
  const { pool, state } = await fresh()
  const before = (await pool.query('SELECT clock_timestamp() AS at')).rows[0].at as Date
  const time = (await state.time?.()) ?? 0
  const after = (await pool.query('SELECT clock_timestamp() AS at')).rows[0].at as Date
  t.ok(before.getTime() <= time + 1 && time <= after.getTime() + 1, `${before.getTime()} ${time} ${after.getTime()}`)
})

t.test('postgres: schedules the sweep of a family between its end and 90 minutes later', async (t) => {
  const { pool, state } = await fresh()
  const due = async (): Promise<number> =>
    Number((await pool.query("SELECT sweep_after FROM authority_records WHERE key LIKE 'f:%'")).rows[0].sweep_after)
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

t.test('postgres: reports an error without the values of a row or parameter', async (t) => {
  const { pool, state } = await fresh()
  const users = postgresUserStore(pool)
  await users.prepare()
  const SECRET = 'canary-5f2c'
  await state.tokens.createFamily(family({ sid: named(SECRET) }))
  await pool.query(`ALTER TABLE authority_users ADD CHECK (password_hash <> '${SECRET}')`)
  await pool.query(`CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'of %', NEW USING DETAIL = NEW::text; END $$;
    CREATE TRIGGER fault BEFORE INSERT ON authority_records FOR EACH ROW EXECUTE FUNCTION fault()`)
  const wrapping = postgresState({
    async query(text, params) {
      throw Object.assign(new Error(`Failed query: ${text}`, { cause: params }), { params, detail: String(params) })
    }
  })
  const calls: Array<[call: () => Promise<unknown>, code: string | undefined]> = [
    [() => state.tokens.createFamily(family({ sid: named(SECRET) })), undefined],
    [() => users.create({ username: SECRET, passwordHash: SECRET }), '23514'],
    [() => state.consents.grantConsent({ ...consent, userId: SECRET }), 'P0001'],
    [() => state.tokens.createFamily(family({ sid: named('a'), scope: SECRET, expiresAt: T0 + 1.5 })), '22P02'],
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
      new RegExp(`${SECRET}|1\\.5`)
    )
  }
})

t.test('postgres: rejects strings that it cannot store, and finds none of them', async (t) => {
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
    const other = family({ sid: named('sid', username), userId: username })
    await t.rejects(state.tokens.createFamily(other), TypeError)
    t.equal(await state.tokens.findFamily(other.sid, T0), null)
    t.same(await state.tokens.revokeFamiliesOfUser(username), [])
    const { sid } = family({ sid: named(`sid-${Buffer.from(username).toString('hex')}`) })
    await state.tokens.createFamily(family({ sid, userAgent: username }))
    t.equal((await state.tokens.findFamily(sid, T0))?.userAgent, username, 'JSON has a form for it')
  }
  await t.rejects(users.create({ username: 'x', passwordHash: 'h', disabled: 'yes' }), TypeError)
  for (const patch of [{ username: null }, { username: 1 }, { email: 1 }, { emailVerified: 'yes' }, { disabled: 1 }])
    await t.rejects(users.update('x', patch as never), TypeError)
})

t.test("postgres: passes on the error of the host's own unique index", async (t) => {
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
})

t.test('postgres: keeps profile fields of other code in an update, and removes only named ones', async (t) => {
  const { pool } = await fresh()
  const users = postgresUserStore(pool)
  const { id, createdAt } = await users.create({ username: 'ann', passwordHash: 'h', roles: ['a'], city: 'Bern' })
  const changed = await users.update(id, {
    city: null,
    nested: { a: null },
    disabled: true,
    __proto__: null,
    version: 99,
    passwordChangedAt: 5,
    createdAt: 5
  })
  t.same(changed, {
    id,
    username: 'ann',
    passwordHash: 'h',
    roles: ['a'],
    nested: { a: null },
    disabled: true,
    createdAt,
    version: 2
  })
  t.same(await users.update(id, {}, '2' as never), null, 'a version of another type is another one')
})

t.test('postgres: ignores invalid profile fields in rows, and accepts numbers as strings', async (t) => {
  const { pool, state } = await fresh()
  const users = postgresUserStore(pool)
  const created = await users.create({ username: 'alice', passwordHash: 'h', roles: ['a'], nested: { b: null } })
  t.same(await users.findById(created.id), {
    id: created.id,
    username: 'alice',
    passwordHash: 'h',
    roles: ['a'],
    nested: { b: null },
    createdAt: created.createdAt,
    version: 1
  })
  await pool.query('UPDATE authority_users SET profile = $1, password_hash = NULL', [
    '{"__proto__":{"disabled":false},"id":"b","passwordHash":"h","disabled":true,"team":"t"}'
  ])
  const alice = await users.findById(created.id)
  t.same(
    alice,
    {
      id: created.id,
      username: 'alice',
      passwordHash: null,
      team: 't',
      createdAt: created.createdAt,
      version: 1
    },
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
        typeof value === 'string' && /^\d+$/.test(value) ? convert(value) : value
      ])
    const { tokens } = postgresState({
      query: async (text, params) => ({
        rows: (await pool.query(text, params)).rows.map((row: object) => Object.fromEntries(given(row)))
      })
    })
    t.equal((await tokens.findFamily(named('sid-1'), T0))?.expiresAt, T0 + 60 * MINUTE)
  }
})
