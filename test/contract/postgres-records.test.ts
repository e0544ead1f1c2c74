/** Races of commits on real connections: what must hold whatever the server does between the steps of a statement. */
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import type { Test } from 'tap'
import t from '../support/tap.ts'
import { postgresRecords } from '../../lib/adapters/postgres/record-store.ts'
import {
  ANY,
  NEVER,
  type NewRecord,
  type RecordStore,
  type RecordWrite,
  type StoredRecord
} from '../../lib/ports/record-store.ts'
import { parallel } from '../../lib/testing/contract.ts'
import { startPostgres } from '../support/postgres-server.ts'

const server = await startPostgres()
t.teardown(async () => {
  await server.stop()
})

const TABLE = { what: 'postgresState', table: 'authority_records' }
const NOW = 1_800_000_000_000
const DAY = 24 * 60 * 60 * 1000

let made = 0
const version = (): string => `v${String(++made).padStart(13, '0')}`

const record = (value: unknown, changes: Partial<NewRecord> = {}): NewRecord => ({
  kind: 'test',
  userId: 'user-1',
  version: version(),
  value: JSON.stringify(value),
  expiresAt: NOW + DAY,
  ...changes
})

const put = (key: string, expect: string | null, value: unknown = 0): RecordWrite & { change: NewRecord } => ({
  key,
  expect,
  change: record(value)
})
/** The element of that index, over and over. */
function nth<Element>(elements: readonly Element[], index: number): Element {
  const found = elements[index % elements.length]
  if (found === undefined) throw new TypeError('There are no elements.')
  return found
}
const keep = (key: string, expect: string | null): RecordWrite => ({ key, expect, change: 'keep' })

/** PARTITIONED as the guide says it. */
type Shape = 'one table' | 'partitions'

const PARTITIONED = `CREATE TABLE authority_records (
    part text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL,
    user_id text COLLATE "C", version text COLLATE "C" NOT NULL, value text NOT NULL,
    expires_at bigint NOT NULL, sweep_after bigint NOT NULL, PRIMARY KEY (part, key)
  ) PARTITION BY HASH (part);
  DO $$ BEGIN FOR part IN 0 .. 15 LOOP
    EXECUTE format('CREATE TABLE authority_records_%s PARTITION OF authority_records FOR VALUES WITH (MODULUS 16, REMAINDER %s) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)', part, part);
  END LOOP; END $$`

/** Three instances with pools of their own on one fresh database. */
async function instances(t: Test, shape: Shape = 'one table') {
  const database = await server.database()
  t.teardown(() => database.drop())
  const pools = Array.from({ length: 3 }, () => database.pool({ max: 10 }))
  const [pool = database.pool()] = pools
  if (shape === 'partitions') await pool.query(PARTITIONED)
  const stores = pools.map((one) => postgresRecords(one, TABLE))
  await Promise.all(stores.map((store) => store.prepare()))
  // Connected before the race, or it would be one of handshakes.
  await Promise.all(pools.map((one) => parallel(10, () => one.query('SELECT pg_sleep(0.05)'))))
  const blocker = new Client({ connectionString: database.url })
  await blocker.connect()
  t.teardown(() => blocker.end())
  return {
    at: (index: number) => nth<RecordStore>(stores, index),
    database,
    pool,
    blocker,
    rows: async (sql: string) => (await pool.query(sql)).rows as Array<Record<string, unknown>>,
    async waiting(count: number) {
      const WAITING = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
      while ((await blocker.query(WAITING)).rowCount !== count) await wait(1)
    }
  }
}

for (const shape of ['one table', 'partitions'] as const) {
  t.test(`${shape}: one of 30 commits that add the same record wins, and the others get its record`, async (t) => {
    const { at } = await instances(t, shape)
    for (let turn = 0; turn < 10; turn++) {
      const writes = Array.from({ length: 30 }, (_, index) => put('new', null, index))
      const results = await parallel(30, (index) =>
        at(index).commit(
          `p${turn}`,
          index % 2 === 0 ? [nth(writes, index)] : [nth(writes, index), put(`o${index}`, null)],
          NOW
        )
      )
      const winner = results.indexOf(null)
      t.equal(results.filter((result) => result === null).length, 1)
      const { version, value } = nth(writes, winner).change
      t.ok(results.every((result, index) => index === winner || result?.[0]?.version === version))
      t.same(await at(turn).read(`p${turn}`, ['new']), [{ version, value }])
    }
  })

  t.test(`${shape}: of commits that each compare what the other adds, one is done`, async (t) => {
    const { at, rows } = await instances(t, shape)
    await rows(`CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END $$;
      CREATE TRIGGER slowly AFTER INSERT ON authority_records FOR EACH ROW EXECUTE FUNCTION slowly()`)
    let turns = 0
    const skewed = async (): Promise<number> => {
      turns++
      const results = await parallel(20, async (index) => {
        const partition = `p-${turns}-${index % 10}`
        const [own, other] = index < 10 ? (['a', 'b'] as const) : (['b', 'a'] as const)
        return (await at(index < 10 ? 0 : 1).commit(partition, [put(own, null), keep(other, null)], NOW)) === null
      })
      return Array.from({ length: 10 }, (_, index) => results[index] && results[index + 10]).filter(Boolean).length
    }
    t.equal(await skewed(), 0)
    const [definition] = await rows(
      "SELECT pg_get_functiondef(oid) AS text FROM pg_proc WHERE proname = 'authority_records_commit'"
    )
    const text = String(definition?.['text'])
    const without = text.replace(/PERFORM pg_advisory_xact_lock\([^;]*;/, '')
    t.not(without, text)
    await rows(without)
    t.ok((await skewed()) > 0, 'without the lock of the partition both are')
  })

  t.test(`${shape}: of commits that each compare what the other replaces, one is done`, async (t) => {
    const { at } = await instances(t, shape)
    for (let turn = 0; turn < 20; turn++) {
      const [a, b] = [put('a', null), put('b', null)]
      await at(0).commit(`p${turn}`, [a, b], NOW)
      const results = await parallel(10, async (index) =>
        at(index).commit(
          `p${turn}`,
          index % 2 === 0
            ? [put('a', a.change.version, index), keep('b', b.change.version)]
            : [keep('a', a.change.version), put('b', b.change.version, index)],
          NOW
        )
      )
      t.equal(results.filter((result) => result === null).length, 1)
    }
  })

  t.test(`${shape}: what is moved between records is never lost, made or seen half moved`, async (t) => {
    const { at, rows } = await instances(t, shape)
    const keys = Array.from({ length: 6 }, (_, index) => `account-${index}`)
    await at(0).commit(
      'bank',
      keys.map((key) => put(key, null, 100)),
      NOW
    )
    let moved = 0
    let isDone = false
    const sums = new Set<number>()
    const add = (found: ReadonlyArray<StoredRecord | null>): void => {
      sums.add(found.reduce((sum, one) => sum + Number(one?.value ?? 0), 0))
    }
    const readers = parallel(3, async (index) => {
      while (!isDone) add(await at(index).read('bank', keys))
    })
    /** Moves one from the first account to the second. The others are in the commit so that a conflict shows them too. */
    const move = async (worker: number, accounts: readonly string[]): Promise<void> => {
      let found = await at(worker).read('bank', accounts)
      for (let tries = 0; tries < 3; tries++) {
        const [from, to] = found
        const writes = accounts.map((key, index) => {
          if (index > 1) return { key, expect: ANY, change: 'keep' as const }
          const [before, change] = index === 0 ? [from, -1] : [to, 1]
          return put(key, before?.version ?? null, Number(before?.value) + change)
        })
        const answer = await at(worker).commit('bank', writes, NOW)
        if (answer === null) {
          moved++
          return
        }
        add((found = answer))
      }
    }
    await parallel(20, async (worker) => {
      // In an order that differs from that of the others.
      for (let turn = 0; turn < 30; turn++)
        await move(
          worker,
          keys.map((_, index) => nth(keys, worker + (1 + 4 * (turn % 2)) * index))
        )
    })
    isDone = true
    await readers
    t.same([...sums], [600])
    t.ok(moved > 20, `${moved} moves`)
    t.same(await rows('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()'), [
      { deadlocks: 0 }
    ])
  })
}

t.test('a commit of one record that waited for another answers with what that one left', async (t) => {
  const { at, blocker, waiting } = await instances(t)
  for (const change of [record(2), 'delete', 'keep'] as const) {
    const first = put('a', null, 1)
    await at(0).commit('p', [first], NOW)
    const later = { version: version(), value: '"later"' }
    await blocker.query('BEGIN')
    await blocker.query("UPDATE authority_records SET version = $1, value = $2 WHERE key = 'a'", [
      later.version,
      later.value
    ])
    const commit = at(1).commit('p', [{ key: 'a', expect: first.change.version, change }], NOW)
    if (change === 'keep') t.equal(await commit, null, 'not yet committed')
    else await waiting(1)
    await blocker.query('COMMIT')
    if (change !== 'keep') t.same(await commit, [later])
    t.same(await at(1).commit('p', [{ key: 'a', expect: first.change.version, change: 'keep' }], NOW), [later])
    t.equal(await at(2).commit('p', [{ key: 'a', expect: ANY, change: 'delete' }], NOW), null)
    t.same(await at(2).read('p', ['a']), [null])
  }
})

t.test('a commit of several records answers with all of them as they are after it waited', async (t) => {
  const { at, blocker, waiting } = await instances(t)
  const [a, b] = [put('a', null, 1), put('b', null, 1)]
  await at(0).commit('p', [a, b], NOW)
  await blocker.query('BEGIN')
  await blocker.query("DELETE FROM authority_records WHERE key = 'a'")
  await blocker.query("UPDATE authority_records SET version = 'later', value = '2' WHERE key = 'b'")
  const commits = [
    [put('c', null), put('a', a.change.version), put('b', b.change.version)],
    [keep('b', b.change.version), put('c', ANY), keep('a', a.change.version)]
  ].map((writes) => at(1).commit('p', writes, NOW))
  await waiting(2)
  await blocker.query('COMMIT')
  const later = { version: 'later', value: '2' }
  t.same(await Promise.all(commits), [
    [null, null, later],
    [later, null, null]
  ])
})

t.test('a record that is removed while a commit waits for it counts as absent', async (t) => {
  const { at, blocker, waiting } = await instances(t)
  await at(0).commit('p', [put('a', null)], NOW)
  await blocker.query('BEGIN')
  await blocker.query("DELETE FROM authority_records WHERE key = 'a'")
  const commits = [put('a', null), { key: 'a', expect: ANY, change: record('any') }].map((write) =>
    at(1).commit('p', [write, keep('b', null)], NOW)
  )
  await waiting(2)
  await blocker.query('COMMIT')
  t.equal((await Promise.all(commits))[1], null, 'whatever there is')
  t.ok((await at(0).read('p', ['a']))[0])
})

t.test('partitions do not wait for each other, and a read waits for nobody', async (t) => {
  const { at, blocker } = await instances(t)
  const first = put('a', null, 1)
  await at(0).commit('p', [first], NOW)
  await blocker.query('BEGIN')
  await blocker.query('SELECT authority_records_commit($1, $2, $3, $2, $2, $2, $2, $4, $4, 0)', [
    'p',
    ['z'],
    ['*'],
    [1]
  ])
  await blocker.query('SELECT FROM authority_records FOR UPDATE')
  t.equal(await at(1).commit('q', [put('a', null), put('b', null)], NOW), null)
  t.match(await at(1).read('p', ['a', 'b']), [{ value: '1' }, null])
  await blocker.query('ROLLBACK')
})

t.test(
  'a statement with one connection is a transaction, and a driver needs to know texts and numbers alone',
  async (t) => {
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
    t.same([...types].toSorted(), ['null', 'number', 'string'])
  }
)

t.test('values and names come back as they were', async (t) => {
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

t.test('1,100 records are read and committed at once', async (t) => {
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

t.test('an error and its text hold nothing of a record', async (t) => {
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
  t.test(`${shape}: instances sweep at once, and leave what has not ended`, async (t) => {
    const { at, rows } = await instances(t, shape)
    await rows(EXPIRED)
    await parallel(3, async (index) => {
      await at(index).sweep(10)
    })
    t.same(await rows('SELECT count(*)::int AS n, min(expires_at)::int AS first FROM authority_records'), [
      { n: 3000, first: 11 }
    ])
  })

  t.test(`${shape}: a sweep waits for nobody, and removes nothing that a commit has locked or prolonged`, async (t) => {
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

  t.test(`${shape}: uses that move the end of a record write no index`, async (t) => {
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
    // A connection reports what it counted when it ends, which the server does later than it says.
    while ((await counted())['updated'] !== 600) await wait(10)
    const hot = Number((await counted())['hot'])
    t.ok(hot >= 0.75 * 600, `${hot} of 600 updates are HOT`)
  })
}

t.test('a record whose end comes nearer is swept soon after it', async (t) => {
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
