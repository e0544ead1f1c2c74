/** Reads and commits that arrive together, and are one statement or one transaction of the database. */
import { setImmediate } from 'node:timers/promises'
import Database from 'libsql'
import t, { type Test } from '../support/tap.ts'
import { postgresRecords } from '../../lib/adapters/postgres/record-store.ts'
import { sqliteRecords } from '../../lib/adapters/sqlite/record-store.ts'
import { ANY, type RecordStore, type RecordWrite } from '../../lib/ports/record-store.ts'
import { settlesWithin } from '../support/in-time.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'
import { nth, NOW, put, recordInstances, TABLE } from './support/postgres-record-instances.ts'

const server = await sharedPostgres(t)
const DONE = { status: 'fulfilled', value: null }

interface Counted {
  store: RecordStore
  /** The statements since the last look, without their parameters. */
  statements(): string[]
}

async function onPostgres(t: Test): Promise<Counted> {
  const { pool } = await recordInstances(server, t)
  const found: string[] = []
  const query = async (text: string, parameters?: unknown[]): Promise<{ rows: unknown[] }> => {
    found.push(text)
    return await pool.query(text, parameters)
  }
  return { store: postgresRecords({ query }, TABLE), statements: () => found.splice(0) }
}

async function onSqlite(t: Test): Promise<Counted> {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const found: string[] = []
  const exec = (sql: string): void => {
    if (sql.includes('BEGIN')) found.push(sql)
    db.exec(sql)
  }
  const store = sqliteRecords({ exec, prepare: (sql) => db.prepare(sql) as never }, { table: 'records' })
  await store.prepare?.()
  return { store, statements: () => found.splice(0) }
}

for (const [name, make] of Object.entries({ postgres: onPostgres, sqlite: onSqlite })) {
  t.test(`${name}: joins the commits of one event loop turn, and gives each its own outcome`, async (t) => {
    const { store, statements } = await make(t)
    const first = [1, 2, 3].map((user) => put('a', null, user))
    for (const [at, one] of first.entries()) await store.commit(`p${at}`, [one], NOW)
    statements()
    const next = first.map(({ change }, at) => put('a', at === 1 ? 'another' : change.version, `next ${at}`))
    t.strictSame(await Promise.all(next.map((one, at) => store.commit(`p${at}`, [one], NOW))), [
      null,
      [{ version: nth(first, 1).change.version, value: '2' }],
      null
    ])
    // PostgreSQL reads the record that was not as expected.
    t.equal(statements().length, name === 'postgres' ? 2 : 1)
    t.match(await Promise.all([0, 1, 2].map((at) => store.read(`p${at}`, ['a']))), [
      [{ value: '"next 0"' }],
      [{ value: '2' }],
      [{ value: '"next 2"' }]
    ])
    t.equal(statements().length, name === 'postgres' ? 1 : 0, 'reads of one turn are one')
  })

  t.test(`${name}: lets the second of two parallel commits on one record see the first`, async (t) => {
    const { store } = await make(t)
    const first = put('a', null, 1)
    await store.commit('p', [first], NOW)
    const both = [2, 3].map((value) => put('a', first.change.version, value))
    t.match(await Promise.all(both.map((one) => store.commit('p', [one], NOW))), [null, [{ value: '2' }]])
  })

  t.test(`${name}: rejects only the commit whose value has a NUL`, async (t) => {
    const { store } = await make(t)
    const first = [0, 1, 2].map((at) => put('a', null, at))
    for (const [at, one] of first.entries()) await store.commit(`p${at}`, [one], NOW)
    const next = first.map(({ change }, at) => put('a', change.version, `next ${at}`))
    nth(next, 1).change.value = 'a NUL: \0'
    const outcomes = await Promise.allSettled(next.map((one, at) => store.commit(`p${at}`, [one], NOW)))
    t.match(outcomes, [DONE, { reason: TypeError }, DONE])
    t.match(await Promise.all([0, 1, 2].map((at) => store.read(`p${at}`, ['a']))), [
      [{ value: '"next 0"' }],
      [{ value: '1' }],
      [{ value: '"next 2"' }]
    ])
  })
}

t.test('sqlite: rejects only the commit for which the disk has no room', async (t) => {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  const store = sqliteRecords(db as never, { table: 'records' })
  const first = [0, 1, 2].map((value) => put('a', null, value))
  for (const [part, one] of first.entries()) await store.commit(`p${part}`, [one], NOW)
  db.exec('PRAGMA max_page_count = 1')
  const next = first.map(({ change }, part) => put('a', change.version, part === 1 ? 'long'.repeat(10_000) : 'next'))
  t.match(await Promise.allSettled(next.map((one, part) => store.commit(`p${part}`, [one], NOW))), [
    DONE,
    { reason: { refusesWrites: true } },
    DONE
  ])
})

t.test('postgres: gives up waiting for a lock before PostgreSQL detects a deadlock', async (t) => {
  const { at, blocker, database, rows } = await recordInstances(server, t)
  const codes: unknown[] = []
  const watched = Array.from({ length: 2 }, () => {
    const own = database.pool({ max: 2 })
    return postgresRecords(
      {
        async query(text, parameters) {
          return await own.query(text, parameters).catch((error: { code?: string }) => {
            codes.push(error.code)
            throw error
          })
        }
      },
      TABLE
    )
  })
  const single = async (store: RecordStore, writes: readonly RecordWrite[]): Promise<unknown> =>
    await Promise.all(writes.map((write) => store.commit('p', [write], NOW)))
  const several = async (store: RecordStore, writes: readonly RecordWrite[]): Promise<unknown> =>
    await store.commit('p', writes, NOW)
  const anyA: RecordWrite = { key: 'a', expect: ANY, change: 'delete' }
  for (const [left, lastOf] of [
    [single, put],
    [several, put],
    [several, () => anyA]
  ] as const) {
    await rows('DELETE FROM authority_records')
    const [a, b, c] = [put('a', null), put('b', null), put('c', null)]
    await at(0).commit('p', [a, b, c], NOW)
    const next = ({ key, change }: typeof a): RecordWrite => put(key, change.version)
    await blocker.query('BEGIN')
    await blocker.query("SELECT FROM authority_records WHERE key = 'c' FOR UPDATE")
    const both = [
      left(nth(watched, 0), [next(b), next(c), lastOf(a.key, a.change.version)]),
      single(nth(watched, 1), [next(a), next(c), next(b)])
    ]
    while (!codes.includes('55P03')) await setImmediate()
    await blocker.query('COMMIT')
    t.ok(await settlesWithin(5000, Promise.all(both)))
    t.notOk(codes.splice(0).includes('40P01'), 'PostgreSQL ended none of them')
  }
})

t.test('postgres: commits the other records while one is locked', async (t) => {
  const { at, blocker } = await recordInstances(server, t)
  const first = [0, 1, 2].map((value) => put('a', null, value))
  for (const [part, one] of first.entries()) await at(0).commit(`p${part}`, [one], NOW)
  await blocker.query('BEGIN')
  await blocker.query("SELECT FROM authority_records WHERE part = 'p1' FOR UPDATE")
  const [left, locked, right] = first.map(({ change }, part) =>
    at(0).commit(`p${part}`, [put('a', change.version, `next ${part}`)], NOW)
  )
  t.ok(await settlesWithin(5000, Promise.all([left, right])))
  await blocker.query('COMMIT')
  t.strictSame(await Promise.all([left, locked, right]), [null, null, null])
})

t.test('postgres: rejects only the commit that a trigger of the operator refuses', async (t) => {
  const { at, rows } = await recordInstances(server, t)
  const first = [0, 1, 2].map((value) => put('a', null, value))
  for (const [part, one] of first.entries()) await at(0).commit(`p${part}`, [one], NOW)
  await rows(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
  await rows(`CREATE TRIGGER refusal BEFORE UPDATE ON authority_records FOR EACH ROW WHEN (NEW.part = 'p1')
    EXECUTE FUNCTION refuse()`)
  const next = first.map(({ change }, part) => put('a', change.version, `next ${part}`))
  t.match(await Promise.allSettled(next.map((one, part) => at(0).commit(`p${part}`, [one], NOW))), [
    DONE,
    { reason: { code: 'P0001' } },
    DONE
  ])
})
