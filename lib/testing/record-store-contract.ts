import { deepEqual, equal } from 'node:assert/strict'
import { caseOf, type ContractCase } from './contract.ts'
import {
  DAY,
  type Define,
  keep,
  MOST_RECORDS,
  newVersion,
  NOW,
  put,
  type RecordStoreSubject,
  remove,
  storedBy,
  type Subject,
  withShorthands
} from './record-fixtures.ts'
import { raceCases } from './record-race-contract.ts'
import { ANY, NEVER } from '../ports/record-store.ts'

/**
 * The contract of every `RecordStore`. A store that passes can keep the service's whole state: `recordState(store)`.
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

/** The cases of reads and commits without parallel calls. Part of `recordStoreContract`. */
const commitCases = (define: Define): ContractCase[] => [
  define('reads records in the order of the keys, with null for each missing one', async ({ read, done }) => {
    const [a, b] = [put('a', null), put('b', null)]
    deepEqual(await read('p', 'a', 'b'), [null, null])
    await done('p', a, b)
    deepEqual(await read('p', 'b', 'none', 'a'), [storedBy(b), null, storedBy(a)])
    deepEqual(await read('p', 'a'), [storedBy(a)])
    deepEqual(await read('p'), [])
  }),
  define('commits a write only if its record has the expected version', async ({ read, commit, done }) => {
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
  define('commits all writes or none, and answers a refusal with all records', async ({ read, commit, done }) => {
    const [a, c] = [put('a', null), put('c', null)]
    await done('p', a, c)
    const wrong = [put('a', a.change.version, 2), put('b', null), remove('c', newVersion()), put('d', ANY)]
    deepEqual(await commit('p', ...wrong), [storedBy(a), null, storedBy(c), null])
    deepEqual(await commit('p', ...wrong.reverse()), [null, storedBy(c), null, storedBy(a)])
    deepEqual(await read('p', 'a', 'b', 'c', 'd'), [storedBy(a), null, storedBy(c), null])
  }),
  define('compares a kept record, and does not change it', async ({ read, commit, done }) => {
    const a = put('a', null)
    await done('p', a)
    await done('p', keep('a', a.change.version), keep('b', null))
    deepEqual(await commit('p', keep('a', newVersion()), put('b', null)), [storedBy(a), null])
    deepEqual(await commit('p', keep('b', newVersion())), [null])
    deepEqual(await commit('p', put('b', null), keep('a', null)), [null, storedBy(a)])
    await done('p', keep('a', ANY), keep('c', ANY))
    deepEqual(await read('p', 'a', 'b', 'c'), [storedBy(a), null, null])
  }),
  define('creates, replaces and deletes any record when ANY is expected', async ({ read, done }) => {
    const [a, b, again] = [put('a', ANY), put('b', null), put('b', ANY, 2)]
    await done('p', a, b)
    await done('p', remove('a', ANY), again, remove('none', ANY))
    deepEqual(await read('p', 'a', 'b', 'none'), [null, storedBy(again), null])
  }),
  define('deletes only a record with the expected version', async ({ read, commit, done }) => {
    const [a, b] = [put('a', null), put('b', null)]
    await done('p', a, b)
    deepEqual(await commit('p', remove('a', newVersion())), [storedBy(a)])
    deepEqual(await commit('p', remove('a', null)), [storedBy(a)])
    await done('p', remove('a', a.change.version))
    await done('p', remove('a', null))
    deepEqual(await read('p', 'a', 'b'), [null, storedBy(b)])
    await done('p', put('a', null, 'again'))
  }),
  define('returns the stored records to a repeated commit, and changes nothing', async ({ read, commit, done }) => {
    const [a, b] = [put('a', null), put('b', null)]
    await done('p', a, b)
    deepEqual(await commit('p', a, b), [storedBy(a), storedBy(b)])
    deepEqual(await read('p', 'a', 'b'), [storedBy(a), storedBy(b)])
  }),
  define('accepts a commit without writes', async ({ commit }) => {
    equal(await commit('p'), null)
  }),
  define('separates records with the same key in different partitions', async ({ read, done }) => {
    const partitions = ['p', 'P', 'p_', 'p-', 'pa', 'ab', 'service', '0'.repeat(43)]
    const writes = partitions.map((partition) => put('a', null, partition))
    for (const [at, partition] of partitions.entries()) await done(partition, writes[at] ?? put('a', null))
    for (const [at, partition] of partitions.entries())
      deepEqual(await read(partition, 'a', 'aa', 'b'), [{ ...storedBy(writes[at] ?? put('a', null)) }, null, null])
    await done('p', remove('a', ANY))
    deepEqual(await read('P', 'a'), [storedBy(writes[1] ?? put('a', null))])
  })
]

const PRINTABLE = Array.from({ length: 95 }, (_, at) => String.fromCodePoint(32 + at)).join('')

/** The cases of unusual keys, values and user ids, which a store must not change. Part of `recordStoreContract`. */
const valueCases = (define: Define): ContractCase[] => [
  define('distinguishes similar keys', async ({ read, done }) => {
    const keys = [
      'a',
      'A',
      'a ',
      ' a',
      'a%',
      'a_',
      '%',
      '_',
      '*',
      'f:*',
      'a.b',
      'a:b',
      "a'b",
      'a"b',
      'a\\b',
      '__proto__'
    ]
    keys.push(PRINTABLE, 'k'.repeat(200), 'k'.repeat(199))
    keys.push(...[...PRINTABLE].filter((character) => !keys.includes(character)))
    const writes = keys.map((key) => put(key, null, `value of ${key}`))
    await done('p', ...writes)
    deepEqual(await read('p', ...keys), writes.map(storedBy))
    for (const [at, key] of keys.entries()) deepEqual(await read('p', key), writes.slice(at, at + 1).map(storedBy))
  }),
  define('returns values unchanged', async ({ read, done }) => {
    const texts = [
      '',
      ' ',
      'a\u0000b',
      '\ud800',
      '👩‍👩‍👧 é e\u0301',
      'a\r\n\t',
      "'; DROP TABLE x; --",
      '$1 ? :a {}',
      '\\',
      '"'
    ]
    const values = [...texts, texts, { a: null, b: [1.5, true] }, 0, '\u{1f600}'.repeat(262_143)]
    const writes = values.map((value, at) => put(`k${at}`, null, value))
    await done('p', ...writes)
    deepEqual(await read('p', ...writes.map(({ key }) => key)), writes.map(storedBy))
    const spaced = { ...put('spaced', null), change: { ...put('', null).change, value: ' { "b":1, "a" : 2,"b":3 } ' } }
    await done('p', spaced)
    deepEqual(await read('p', 'spaced'), [storedBy(spaced)], 'as text, not as an object')
  }),
  define('accepts any user id, and null', async ({ read, done }) => {
    const users = [null, '', "o'hara", '👩 é', 'u'.repeat(1_000)]
    const writes = users.map((userId, at) => put(`k${at}`, null, at, { userId }))
    await done('p', ...writes)
    deepEqual(await read('p', ...writes.map(({ key }) => key)), writes.map(storedBy))
  }),
  define(`commits, reads and deletes ${MOST_RECORDS} records in one call`, async ({ read, commit, done }) => {
    const writes = Array.from({ length: MOST_RECORDS }, (_, at) => put(`k${at}`, null, at))
    const keys = writes.map(({ key }) => key)
    await done('p', ...writes)
    sameLists(await read('p', ...keys), writes.map(storedBy))
    const last = writes.map((one, at) => keep(one.key, at === MOST_RECORDS - 1 ? newVersion() : one.change.version))
    sameLists(await commit('p', ...last), writes.map(storedBy))
    await done('p', ...writes.map((one) => remove(one.key, one.change.version)))
    sameLists(
      await read('p', ...keys),
      writes.map(() => null)
    )
  })
]

/** Compares element by element, because Node.js 22 takes gigabytes to print the difference of two long lists. */
function sameLists(found: readonly unknown[] | null, expected: readonly unknown[]): void {
  equal(found?.length, expected.length)
  for (const [place, one] of expected.entries()) deepEqual(found?.[place], one)
}

/** The cases of expired records. Part of `recordStoreContract`. */
const expiryCases = (define: Define): ContractCase[] => [
  define('sweeps a record at its end, and not 1 ms earlier', async ({ store, read, done, expiresByItself }) => {
    const [ends, stays, never] = [put('a', null, 1, { expiresAt: NOW + 1_000 }), put('b', null), put('c', null)]
    never.change.expiresAt = NEVER
    await done('p', ends, stays, never)
    await store.sweep(NOW + 999)
    deepEqual(await read('p', 'a', 'b', 'c'), [ends, stays, never].map(storedBy))
    await store.sweep(NOW + 1_000)
    if (!expiresByItself) deepEqual(await read('p', 'a'), [null])
    deepEqual(await read('p', 'b', 'c'), [stays, never].map(storedBy))
    await store.sweep(NOW + 100_000 * DAY)
    deepEqual(await read('p', 'c'), [storedBy(never)])
  }),
  define('sweeps a record by the end that its latest write set', async ({ store, read, done, expiresByItself }) => {
    const later = put('a', null, 1, { expiresAt: NOW + 1_000 })
    const sooner = put('b', null, 1, { expiresAt: NOW + 3 * DAY })
    await done('p', later, sooner)
    const moved = [
      put('a', later.change.version, 2, { expiresAt: NOW + 2 * DAY }),
      put('b', sooner.change.version, 2, { expiresAt: NOW + 1_000 })
    ]
    // Commits one record at a time, because a store may handle a single record separately.
    for (const write of moved) await done('p', write)
    await store.sweep(NOW + DAY)
    const [first, second] = await read('p', 'a', 'b')
    deepEqual(first, moved.map(storedBy)[0])
    if (!expiresByItself) equal(second, null)
  }),
  define('measures the lifetime of a record from the time of its commit', async ({ store, read }) => {
    for (const now of [NOW - 10_000 * DAY, NOW + 10_000 * DAY]) {
      const write = put(`at ${now}`, null, 1, { expiresAt: now + DAY })
      equal(await store.commit('p', [write], now), null)
      deepEqual(await read('p', write.key), [storedBy(write)])
    }
  }),
  define('keeps the end of a record that a commit only compares', async ({ store, read, done, expiresByItself }) => {
    const [ends, never] = [put('a', null, 1, { expiresAt: NOW + 1_000 }), put('b', null, 1, { expiresAt: NEVER })]
    await done('p', ends, never)
    await done('p', keep('a', ends.change.version), keep('b', never.change.version))
    await store.sweep(NOW + 999)
    deepEqual(await read('p', 'a', 'b'), [storedBy(ends), storedBy(never)])
    await store.sweep(NOW + DAY)
    deepEqual(
      (await read('p', 'a', 'b')).slice(expiresByItself ? 1 : 0),
      [null, storedBy(never)].slice(expiresByItself ? 1 : 0)
    )
  }),
  define(
    'sweeps thousands of expired records, and keeps a live one',
    async ({ store, read, done, expiresByItself }) => {
      const writes = Array.from({ length: MOST_RECORDS }, (_, at) => put(`k${at}`, null, at, { expiresAt: NOW + at }))
      await done('p', ...writes)
      await store.sweep(NOW + MOST_RECORDS - 2)
      const left = await read('p', ...writes.map(({ key }) => key))
      deepEqual(left.at(-1), writes.map(storedBy).at(-1))
      if (!expiresByItself) equal(left.filter((record) => record !== null).length, 1)
    }
  )
]
