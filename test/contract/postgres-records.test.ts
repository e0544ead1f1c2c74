/** Races of commits on real connections, whatever the server does between the steps of a statement. */
import t, { type Test } from '../support/tap.ts'
import { ANY, type StoredRecord } from '../../lib/ports/record-store.ts'
import { parallel } from '../../lib/testing/contract.ts'
import { sharedPostgres } from '../support/shared-postgres.ts'
import {
  keep,
  NOW,
  nth,
  put,
  record,
  recordInstances,
  type Shape,
  version
} from './support/postgres-record-instances.ts'

const server = await sharedPostgres(t)
const instances = async (t: Test, shape?: Shape) => await recordInstances(server, t, shape)

for (const shape of ['one table', 'partitions'] as const) {
  t.test(`${shape}: lets one of 30 commits add the same record, and returns that record to the others`, async (t) => {
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

  t.test(`${shape}: completes at most one of two commits that each compare the record the other adds`, async (t) => {
    const { at, rows } = await instances(t, shape)
    await rows(`CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NULL; END $$;
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

  t.test(`${shape}: completes one of two commits that each compare the record the other replaces`, async (t) => {
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

  t.test(`${shape}: shows a constant sum of six records during parallel moves between them`, async (t) => {
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
    /**
     * Moves one unit from the first account to the second. The commit names all accounts, so that a conflict returns
     * all.
     */
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

t.test('returns the new record to a commit that waited for another', async (t) => {
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

t.test('returns all current records to a commit of several that waited', async (t) => {
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

t.test('treats a record that is removed during the wait of a commit as absent', async (t) => {
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

t.test('locks only one partition, and reads without waiting', async (t) => {
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
