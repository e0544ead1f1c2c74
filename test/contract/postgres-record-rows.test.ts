/** The rows in the table of records, and how they are swept. */
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from '../support/tap.ts'
import { postgresRecords } from '../../lib/adapters/postgres/record-store.ts'
import { NEVER } from '../../lib/ports/record-store.ts'
import { parallel } from '../../lib/testing/contract.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'
import {
  DAY,
  keep,
  NOW,
  nth,
  put,
  record,
  recordInstances,
  type Shape,
  TABLE
} from './support/postgres-record-instances.ts'

const server = await sharedPostgres(t)
const instances = async (t: Test, shape?: Shape) => await recordInstances(server, t, shape)

t.test('accepts one of 20 parallel commits of two records, with texts and numbers as parameters', async (t) => {
  const { database } = await instances(t)
  const pool = database.pool({ max: 1 })
  const types = new Set<string>()
  const store = postgresRecords(
    {
      async query(text, params = []) {
        for (const param of params) types.add(param === null ? 'null' : typeof param)
        return await pool.query(text, params)
      }
    },
    TABLE
  )
  await store.prepare()
  const outcomes = await parallel(20, (index) => store.commit('p', [put('a', null, index), put('b', null)], NOW))
  t.equal(outcomes.filter((outcome) => outcome === null).length, 1)
  t.same([...types].toSorted(), ['number', 'string'])
})

t.test('returns values and keys with special characters unchanged', async (t) => {
  const { at } = await instances(t)
  const values = ['"', '\\', '{}', ',', 'NULL', 'null', "'", ' ', '\n\t', 'ä🙂', '', '\\"{', 'a,b', '$1', '\u0001']
  const writes = values.map((value, index) => ({
    key: `k:${index} {"\\,}'`,
    expect: null,
    change: record(value, { userId: value, kind: value, expiresAt: NEVER })
  }))
  t.equal(await at(0).commit('p', writes, NOW), null)
  const keys = writes.map(({ key }) => key)
  const stored = writes.map(({ change: { version, value } }) => ({ version, value }))
  t.same(await at(1).read('p', keys), stored)
  t.same(
    await at(1).commit(
      'p',
      writes.map(({ key }) => put(key, null)),
      NOW
    ),
    stored
  )
  t.same(await at(1).read('p', [nth(keys, 3), 'none', nth(keys, 1)]), [stored[3], null, stored[1]])
  t.same(await at(1).commit('p', [{ ...nth(writes, 0), expect: 'other' }], NOW), [stored[0]])
  await t.rejects(at(0).commit('p', [put('a\0', null)], NOW), TypeError)
  await t.rejects(at(0).commit('p', [{ ...put('a', null), change: record(0, { value: '"\ud800"' }) }], NOW), TypeError)
})

t.test('reads and commits 1,100 records in one call', async (t) => {
  const { at } = await instances(t)
  const writes = Array.from({ length: 1100 }, (_, index) => put(`k${index}`, null, index))
  t.equal(await at(0).commit('p', writes, NOW), null)
  const found = await at(0).read(
    'p',
    writes.map(({ key }) => key)
  )
  t.same(
    found.map((one) => Number(one?.value)),
    writes.map((_, index) => index)
  )
  t.same(await at(0).read('p', []), [])
  t.equal(await at(0).commit('p', [], NOW), null)
  const removals = writes.map(({ key, change }) => ({ key, expect: change.version, change: 'delete' as const }))
  t.equal(await at(0).commit('p', removals, NOW), null)
  t.same(await at(0).read('p', ['k0', 'k1099']), [null, null])
})

t.test('reports an error without the contents of a record', async (t) => {
  const { at, rows } = await instances(t)
  await rows('ALTER TABLE authority_records ADD CHECK (value <> \'"canary"\')')
  for (const more of [[], [put('b', null)]]) {
    const error: unknown = await at(0)
      .commit('p', [put('a', null, 'canary'), ...more], NOW)
      .catch((error: unknown) => error)
    t.match(error, { name: 'PostgresError', code: '23514' })
    t.notMatch(JSON.stringify(error, Object.getOwnPropertyNames(error)), 'canary')
  }
  t.same(await at(0).read('p', ['a', 'b']), [null, null])
})

const EXPIRED = `INSERT INTO authority_records
  SELECT 'p' || i, 'k', 'test', NULL, 'v', '0', 10 + i % 2, 10 + i % 2 FROM generate_series(1, 6000) AS i`

for (const shape of ['one table', 'partitions'] as const) {
  t.test(`${shape}: sweeps from several instances at once, and keeps records that have not ended`, async (t) => {
    const { at, rows } = await instances(t, shape)
    await rows(EXPIRED)
    await parallel(3, async (index) => {
      await at(index).sweep(10)
    })
    t.same(await rows('SELECT count(*)::int AS n, min(expires_at)::int AS first FROM authority_records'), [
      { n: 3000, first: 11 }
    ])
  })

  t.test(`${shape}: sweeps without waiting, and keeps records that a commit has locked or prolonged`, async (t) => {
    const { at, rows, blocker } = await instances(t, shape)
    await rows(EXPIRED)
    await rows("UPDATE authority_records SET expires_at = 10, sweep_after = 10 WHERE part IN ('p1', 'p2')")
    await blocker.query('BEGIN')
    await blocker.query("UPDATE authority_records SET expires_at = 900 WHERE part = 'p1'")
    await blocker.query("SELECT 1 FROM authority_records WHERE part = 'p2' FOR UPDATE")
    await at(1).sweep(20)
    t.same(await rows('SELECT part FROM authority_records ORDER BY part'), [{ part: 'p1' }, { part: 'p2' }])
    await blocker.query('COMMIT')
    await at(1).sweep(20)
    t.same(await rows('SELECT part FROM authority_records'), [{ part: 'p1' }])
  })

  t.test(`${shape}: writes no index for at least 75% of uses that move the end of a record`, async (t) => {
    const { rows, database } = await instances(t, shape)
    const own = database.pool({ max: 1 })
    const store = postgresRecords(own, TABLE)
    const records = Array.from({ length: 100 }, (_, index) => ({ part: `p${index}`, version: '' }))
    const outcomes = new Set<unknown>()
    for (let turn = 0; turn <= 6; turn++) {
      const now = NOW + turn * 60 * 60_000
      for (const one of records) {
        const change = record(turn, { expiresAt: now + 30 * DAY })
        const write = { key: 'k', expect: turn === 0 ? null : one.version, change }
        outcomes.add(await store.commit(one.part, turn % 2 === 0 ? [write] : [write, keep('none', null)], now))
        one.version = change.version
      }
    }
    t.same([...outcomes], [null])
    await own.end()
    const counted = async () =>
      nth(
        await rows(`SELECT sum(n_tup_upd)::int AS updated, sum(n_tup_hot_upd)::int AS hot
          FROM pg_stat_user_tables WHERE relname LIKE 'authority_records%'`),
        0
      )
    // A connection reports its counters when it ends, which happens some time after the call to end it.
    while ((await counted())['updated'] !== 600) await wait(10)
    const hot = Number((await counted())['hot'])
    t.ok(hot >= 0.75 * 600, `${hot} of 600 updates are HOT`)
  })
}

t.test('sweeps a record soon after its end when that end moved closer', async (t) => {
  const { at, rows } = await instances(t)
  const first = put('a', null)
  first.change.expiresAt = NOW + 300 * DAY
  await at(0).commit('p', [first], NOW)
  const second = record(1, { expiresAt: NOW + 60_000 })
  await at(0).commit('p', [{ key: 'a', expect: first.change.version, change: second }], NOW)
  await at(0).sweep(NOW + 59_999)
  t.same(await rows('SELECT key FROM authority_records'), [{ key: 'a' }])
  await at(0).sweep(NOW + 600_000)
  t.same(await rows('SELECT key FROM authority_records'), [])
})

const DUE = `INSERT INTO authority_records
  SELECT md5(i::text), 'k', 'test', NULL, 'v', repeat('x', 300), ends, ends
  FROM (SELECT i, 1000 + abs(hashtext(i::text)::bigint) % 1000000 AS ends FROM generate_series(1, 40000) AS i) AS made`

t.test('reads only one slice per sweep query, despite outdated planner statistics', async (t) => {
  const { database, rows } = await instances(t)
  const own = database.pool({ max: 1 })
  await own.query('ALTER TABLE authority_records SET (autovacuum_enabled = off)')
  await own.query(DUE)
  await own.query('VACUUM ANALYZE authority_records')
  await own.query("UPDATE authority_records SET expires_at = 5, sweep_after = 5 WHERE part < '8'")
  await own.query('VACUUM authority_records')
  await postgresRecords(own, TABLE).sweep(6)
  await own.end()
  const read = async () =>
    Number(
      nth(
        await rows("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'authority_records_sweep'"),
        0
      )['idx_tup_read']
    )
  while ((await read()) === 0) await wait(10)
  const left = Number(nth(await rows('SELECT count(*) AS n FROM authority_records'), 0)['n'])
  t.ok(left > 19_000 && left < 21_000, `${left} left`)
  // Each slice is read once, plus the rows that the slice before has just removed. Reading all due rows for each slice
  // would be 400,000.
  t.ok((await read()) < 100_000, `${await read()} entries read`)
})

t.test('finds the rows of each statement by an index', async (t) => {
  const { database, rows } = await instances(t)
  await rows(DUE)
  await rows('ANALYZE authority_records')
  const pool = database.pool({ max: 1 })
  const plans: string[] = []
  const store = postgresRecords(
    {
      async query(text, params) {
        if (!/^(SELECT (1|key|version)|UPDATE|DELETE)/.test(text)) return await pool.query(text, params)
        const { rows: lines } = await pool.query<Record<string, string>>(`EXPLAIN ${text}`, params)
        plans.push(lines.map((line) => line['QUERY PLAN']).join('\n'))
        return { rows: [] }
      }
    },
    TABLE
  )
  const [replaced, compared] = [put('k', 'v'), keep('k', 'v')]
  await store.commit('p', [replaced], NOW)
  await store.commit('p', [compared], NOW)
  await store.commit('p', [{ ...compared, change: 'delete' }], NOW)
  await store.commit('p', [{ ...compared, expect: '*', change: 'delete' }], NOW)
  await store.read('p', ['k', 'l'])
  t.equal(plans.length, 8, 'four commits, of which three read what is there instead, and a read')
  t.same(
    plans.filter((plan) => !/authority_records_pkey/.test(plan) || /Seq Scan/.test(plan)),
    []
  )
})
