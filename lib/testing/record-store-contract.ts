import { deepEqual, equal } from 'node:assert/strict'
import { caseOf, type ContractCase } from './contract.ts'
import {
  type Define,
  keep,
  newVersion,
  put,
  type RecordStoreSubject,
  remove,
  storedBy,
  type Subject,
  withShorthands
} from './record-fixtures.ts'
import { raceCases } from './record-race-contract.ts'
import { expiryCases, valueCases } from './record-value-contract.ts'
import { ANY } from '../ports/record-store.ts'

/**
 * The contract of every `RecordStore`. A store that passes holds a whole state: `recordState(store)`.
 * @example runContract(recordStoreContract(async () => ({ store: await myEmptyStore() })), test)
 */
export function recordStoreContract(make: () => Promise<RecordStoreSubject>): ContractCase[] {
  const define = (name: string, check: (subject: Subject) => Promise<void>): ContractCase =>
    caseOf(make, `records: ${name}`, async (subject) => {
      await subject.store.prepare?.()
      await check(withShorthands(subject))
    })
  return [commitCases, valueCases, expiryCases, raceCases].flatMap((casesOf) => casesOf(define))
}

/** Reads and commits of one caller. Part of `recordStoreContract`. */
const commitCases = (define: Define): ContractCase[] => [
  define('reads records in the order of the keys, and null for those that there are not', async ({ read, done }) => {
    const [a, b] = [put('a', null), put('b', null)]
    deepEqual(await read('p', 'a', 'b'), [null, null])
    await done('p', a, b)
    deepEqual(await read('p', 'b', 'none', 'a'), [storedBy(b), null, storedBy(a)])
    deepEqual(await read('p', 'a'), [storedBy(a)])
    deepEqual(await read('p'), [])
  }),
  define('commits a write only where its record has the expected version', async ({ read, commit, done }) => {
    const [first, second] = [put('a', null, 1), put('a', null, 2)]
    await done('p', first)
    deepEqual(await commit('p', second), [storedBy(first)], 'none was expected')
    deepEqual(await commit('p', put('a', newVersion())), [storedBy(first)], 'another was expected')
    deepEqual(await commit('p', put('b', newVersion())), [null], 'one was expected')
    const third = put('a', first.change.version, 3)
    await done('p', third)
    deepEqual(await commit('p', put('a', first.change.version, 4)), [storedBy(third)], 'a former one was expected')
    deepEqual(await read('p', 'a', 'b'), [storedBy(third), null])
  }),
  define('compares versions exactly', async ({ commit, done }) => {
    const first = put('a', null, 1, { version: 'AbCdEfGhIjKlM-' })
    await done('p', first)
    for (const other of ['abcdefghijklm-', 'AbCdEfGhIjKlM_', 'AbCdEfGhIjKl%_', 'AbCdEfGhIjKlM'])
      deepEqual(await commit('p', put('a', other)), [storedBy(first)], other)
  }),
  define('commits all writes or none, and answers with the records of all', async ({ read, commit, done }) => {
    const [a, c] = [put('a', null), put('c', null)]
    await done('p', a, c)
    const wrong = [put('a', a.change.version, 2), put('b', null), remove('c', newVersion()), put('d', ANY)]
    deepEqual(await commit('p', ...wrong), [storedBy(a), null, storedBy(c), null])
    deepEqual(await commit('p', ...wrong.reverse()), [null, storedBy(c), null, storedBy(a)])
    deepEqual(await read('p', 'a', 'b', 'c', 'd'), [storedBy(a), null, storedBy(c), null])
  }),
  define('only compares a record that is kept', async ({ read, commit, done }) => {
    const a = put('a', null)
    await done('p', a)
    await done('p', keep('a', a.change.version), keep('b', null))
    deepEqual(await commit('p', keep('a', newVersion()), put('b', null)), [storedBy(a), null])
    deepEqual(await commit('p', keep('b', newVersion())), [null])
    deepEqual(await commit('p', put('b', null), keep('a', null)), [null, storedBy(a)])
    await done('p', keep('a', ANY), keep('c', ANY))
    deepEqual(await read('p', 'a', 'b', 'c'), [storedBy(a), null, null])
  }),
  define('replaces and deletes whatever there is, where any version is expected', async ({ read, done }) => {
    const [a, b, again] = [put('a', ANY), put('b', null), put('b', ANY, 2)]
    await done('p', a, b)
    await done('p', remove('a', ANY), again, remove('none', ANY))
    deepEqual(await read('p', 'a', 'b', 'none'), [null, storedBy(again), null])
  }),
  define('deletes a record of the expected version, and nothing else', async ({ read, commit, done }) => {
    const [a, b] = [put('a', null), put('b', null)]
    await done('p', a, b)
    deepEqual(await commit('p', remove('a', newVersion())), [storedBy(a)])
    deepEqual(await commit('p', remove('a', null)), [storedBy(a)])
    await done('p', remove('a', a.change.version))
    await done('p', remove('a', null))
    deepEqual(await read('p', 'a', 'b'), [null, storedBy(b)])
    await done('p', put('a', null, 'again'))
  }),
  define('recognizes a commit that is sent again by its versions', async ({ read, commit, done }) => {
    const [a, b] = [put('a', null), put('b', null)]
    await done('p', a, b)
    deepEqual(await commit('p', a, b), [storedBy(a), storedBy(b)])
    deepEqual(await read('p', 'a', 'b'), [storedBy(a), storedBy(b)])
  }),
  define('commits nothing, and compares nothing, without writes', async ({ commit }) => {
    equal(await commit('p'), null)
  }),
  define('keeps partitions apart', async ({ read, done }) => {
    const partitions = ['p', 'P', 'p_', 'p-', 'pa', 'ab', 'service', '0'.repeat(43)]
    const writes = partitions.map((partition) => put('a', null, partition))
    for (const [at, partition] of partitions.entries()) await done(partition, writes[at] ?? put('a', null))
    for (const [at, partition] of partitions.entries())
      deepEqual(await read(partition, 'a', 'aa', 'b'), [{ ...storedBy(writes[at] ?? put('a', null)) }, null, null])
    await done('p', remove('a', ANY))
    deepEqual(await read('P', 'a'), [storedBy(writes[1] ?? put('a', null))])
  })
]
