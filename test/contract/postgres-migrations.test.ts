import { Client, Pool } from 'pg'
import t from '../support/tap.ts'
import type { PostgresDatabase } from '../../lib/adapters/postgres/database.ts'
import { connect } from '../../lib/adapters/postgres/migrations.ts'
import { postgresState } from '../../lib/adapters/postgres/record-store.ts'
import { postgresUserStore } from '../../lib/adapters/postgres/user-store.ts'
import { StartError } from '../../lib/errors.ts'
import { family, named } from './suites/token-fixtures.ts'
import { newLink } from '../../lib/testing/user-fixtures.ts'
import { startPostgres } from '../support/postgres-server.ts'

const server = await startPostgres()
t.teardown(async () => {
  await server.stop()
})

const LOG = 'SELECT component, version FROM authority_migrations ORDER BY component, version'
const MIGRATED = [
  { component: 'records:authority_records', version: 1 },
  { component: 'users:authority_users', version: 1 },
  { component: 'users:authority_users', version: 2 }
]
const TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"

t.test('accepts a Pool, a Client and PGlite as database without casts', async (t) => {
  // PGlite's declaration without its type parameter.
  const pglite = {
    query: async (_query: string, _params?: unknown[], _options?: { rowMode?: 'array' | 'object' }) => ({
      rows: [{}],
      affectedRows: 0
    })
  }
  const fits: PostgresDatabase[] = [new Pool(), new Client(), pglite]
  t.equal(fits.length, 3)
})

t.test('postgres: runs each migration once when 20 instances start together', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pools = Array.from({ length: 5 }, () => database.pool({ max: 8 }))
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const pool = pools[index % pools.length] as Pool
      const users = postgresUserStore(pool)
      // Half of them migrate by their first use.
      const state = postgresState(pool)
      if (index % 2 === 0) await Promise.all([state.prepare(), users.prepare()])
      await state.tokens.createFamily(family({ sid: named(`sid-${index}`) }))
      await users.create({ username: `user-${index}`, passwordHash: 'h' })
    })
  )
  const [pool = new Pool()] = pools
  t.same((await pool.query(LOG)).rows, MIGRATED)
  t.equal((await postgresState(pool).tokens.listFamiliesOfUser('user-19367', 0)).length, 20)
})

t.test('postgres: runs no migration at a start on a current database', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool()
  await postgresState(pool).prepare()
  const statements: string[] = []
  const state = postgresState({
    async query(text, params) {
      statements.push(text)
      return await pool.query(text, params)
    }
  })
  await Promise.all([state.keys.list(), state.keys.list(), state.keys.list()])
  // The three parallel reads share one statement.
  t.equal(statements.length, 3)
  await state.prepare()
  t.equal(statements.length, 10)
  t.notOk(statements.some((text) => /^DO|CREATE|ALTER/.test(text)))
})

t.test('postgres: refuses the database of a newer release, and leaves it unchanged', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool()
  await Promise.all([postgresState(pool).prepare(), postgresUserStore(pool).prepare()])
  for (const component of ['records:authority_records', 'users:authority_users'])
    await pool.query('INSERT INTO authority_migrations VALUES ($1, 99, now(), 99)', [component])
  const before = [(await pool.query(LOG)).rows, (await pool.query(TABLES)).rows]
  const state = postgresState(pool)
  const calls: Array<() => Promise<unknown>> = [
    () => state.prepare(),
    () => state.tokens.createFamily(family()),
    () => postgresUserStore(pool).prepare(),
    () => postgresUserStore(pool).findById('a')
  ]
  for (const call of calls) {
    await t.rejects(call(), {
      name: 'StartError',
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: /newer release \(version 99/
    })
  }
  t.same([(await pool.query(LOG)).rows, (await pool.query(TABLES)).rows], before)
  t.equal((await pool.query('SELECT count(*)::int AS n FROM authority_records')).rows[0].n, 0)
})

// covers B9
t.test('postgres: starts an older release on a newer database with only additions', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool()
  const older = ['CREATE TABLE a (b integer)']
  const added = [...older, { sql: 'ALTER TABLE a ADD COLUMN c integer', minReader: 1 }]
  const start = async (steps: typeof added | string[]): Promise<void> => {
    await connect(pool, { component: 'x', steps, prefix: '', named: false }).prepare()
  }
  await start(older)
  await start(added)
  await t.resolves(start(older))
  await t.resolves(start(added))
  t.same((await pool.query('SELECT version, min_reader FROM authority_migrations ORDER BY version')).rows, [
    { version: 1, min_reader: 1 },
    { version: 2, min_reader: 1 }
  ])
  await start([...added, 'ALTER TABLE a DROP COLUMN b'])
  await t.rejects(start(added), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS',
    message: /newer release \(version 3, which works for code of version 3 on; this one knows 2\)/
  })
})

// covers B9 FED-29
t.test('postgres: removes the links of a removed user', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool({ max: 1 })
  const users = postgresUserStore(pool)
  await users.createWithIdentity({ username: 'ann', passwordHash: null }, newLink())
  t.equal((await users.findByIdentity(newLink()))?.username, 'ann')
  // Changes the table by hand, as hosts may.
  await pool.query("DELETE FROM authority_users WHERE username = 'ann'")
  t.equal(await users.findByIdentity(newLink()), null)
  t.same((await pool.query('SELECT count(*)::int AS n FROM authority_users_identities')).rows, [{ n: 0 }])
})

t.test('postgres: names the link tables of long table names without conflicts', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool()
  for (const [index, table] of ['a'.repeat(63), `${'a'.repeat(62)}b`, 'a'.repeat(53), 'a'].entries()) {
    const users = postgresUserStore(pool, { table })
    const username = `user-${index}`
    const { id } = await users.createWithIdentity({ username, passwordHash: null }, newLink())
    await t.rejects(users.createWithIdentity({ username: 'other', passwordHash: null }, newLink()), {
      code: 'FST_AUTHORITY_IDENTITY_TAKEN'
    })
    t.equal(await users.linkIdentity(id, newLink({ subject: 'other' })), 'linked')
    t.equal(await users.unlinkIdentity(id, newLink(), false), 'unlinked')
    t.match(await users.listIdentities(id), [{ subject: 'other' }])
  }
})

t.test('postgres: refuses an instance that waited for a newer release to migrate', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool()
  const steps = ['CREATE TABLE a (b integer)']
  const newer = connect(pool, {
    component: 'x',
    steps: [...steps, 'CREATE TABLE c (d integer)'],
    prefix: '',
    named: false
  })
  // The newer release migrates after this one's first check and before its lock.
  const racing: PostgresDatabase = {
    async query(text, params) {
      if (text.startsWith('DO')) await newer.prepare()
      return await pool.query(text, params)
    }
  }
  await t.rejects(connect(racing, { component: 'x', steps, prefix: '', named: false }).prepare(), StartError)
  t.same((await pool.query(LOG)).rows.length, 2)
})

t.test('postgres: rolls back a failed migration step', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool()
  await pool.query('CREATE TABLE authority_records (of_the_host integer)')
  await t.rejects(postgresState(pool).prepare(), { name: 'StartError', message: /"part".*42703/ })
  t.same((await pool.query(TABLES)).rows, [{ table_name: 'authority_records' }])
})

t.test('postgres: rejects with StartError on missing rights, and with an outage when unreachable', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool()
  await pool.query('CREATE ROLE powerless LOGIN')
  await pool.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC')
  const powerless = database.pool({ user: 'powerless' })
  await t.rejects(postgresState(powerless).prepare(), { name: 'StartError', message: /permission denied.*42501/ })
  await t.rejects(postgresState(powerless, { schema: 'other' }).prepare(), {
    name: 'StartError',
    message: /permission denied.*42501/
  })
  await t.rejects(postgresUserStore(powerless).prepare(), StartError)

  const state = postgresState(pool)
  const users = postgresUserStore(pool)
  await server.refuseConnections(true)
  const calls: Array<() => Promise<unknown>> = [() => state.prepare(), () => users.prepare(), () => state.keys.list()]
  for (const call of calls) {
    const error: unknown = await call().then(
      () => null,
      (reason: unknown) => reason
    )
    t.ok(error instanceof Error && !(error instanceof StartError))
  }
  await server.refuseConnections(false)
  t.same(await state.keys.list(), [])
  await users.prepare()
  t.same((await pool.query(LOG)).rows, MIGRATED)
  await t.rejects(postgresState(powerless).keys.list(), StartError, 'the tables are there, but not for this role')
  await t.rejects(async () => await postgresState(powerless).pending?.(), {
    name: 'StartError',
    message: /permission denied.*42501/
  })
})

t.test('postgres: refuses a database of another encoding or isolation level', async (t) => {
  const admin = (await server.database()).pool()
  await admin.query("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
  const latin = new Pool({ connectionString: server.url.replace(/\/postgres$/, '/latin'), max: 1 })
  await t.rejects(postgresState(latin).prepare(), { name: 'StartError', message: /LATIN1; it must be UTF8/ })
  await latin.end()
  const strict = new Pool({ connectionString: server.url, options: '-c default_transaction_isolation=serializable' })
  await t.rejects(postgresState(strict).prepare(), { name: 'StartError', message: /READ COMMITTED/ })
  await strict.end()
})

t.test('postgres: keeps states in two schemas of one database apart', async (t) => {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pool = database.pool()
  const [first, second] = [postgresState(pool, { schema: 'Auth_1' }), postgresState(pool, { schema: 'auth_2' })]
  await first.tokens.createFamily(family())
  t.equal(await second.tokens.findFamily(named('sid-1'), 0), null)
  t.ok(await first.tokens.findFamily(named('sid-1'), 0))
  t.same((await pool.query(TABLES)).rows, [])
})

// covers ASVS-1.2.4
t.test('postgres: rejects invalid table and schema names, and invalid bounds', async (t) => {
  const db: PostgresDatabase = {
    async query() {
      throw new Error('not asked')
    }
  }
  for (const name of ['', 'a b', 'a"; DROP TABLE x; --', '1a', 'ä', 'a'.repeat(64), '$step$']) {
    t.throws(() => postgresUserStore(db, { table: name }), TypeError)
    t.throws(() => postgresState(db, { schema: name }), TypeError)
  }
  for (const max of [0, -1, 1.5, NaN, 1001, 2 ** 31]) {
    t.throws(() => postgresState(db, { maxFamiliesPerUser: max }), RangeError)
    t.throws(() => postgresState(db, { maxSessionsPerUser: max }), /maxSessionsPerUser/)
  }
})
