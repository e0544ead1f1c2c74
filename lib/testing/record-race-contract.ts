import { deepEqual, equal } from 'node:assert/strict'
import { type ContractCase, parallel } from './contract.ts'
import { DAY, type Define, keep, NOW, put, storedBy } from './record-fixtures.ts'

/** Parallel calls on the same records. Part of `recordStoreContract`. */
export const raceCases = (define: Define): ContractCase[] => [
  define('accepts one of 50 parallel commits that expect the same version', async ({ at, read, done }) => {
    const first = put('a', null)
    await done('p', first)
    for (const { expect, key } of [
      { key: 'a', expect: first.change.version },
      { key: 'new', expect: null }
    ]) {
      const writes = Array.from({ length: 50 }, (_, index) => put(key, expect, index))
      const answers = await parallel(50, (index) => at(index).commit('p', writes.slice(index, index + 1), NOW))
      const winners = writes.filter((_, index) => answers[index] === null)
      equal(winners.length, 1)
      deepEqual(await read('p', key), winners.map(storedBy))
      for (const answer of answers) if (answer !== null) deepEqual(answer, winners.map(storedBy))
    }
  }),
  define(
    'accepts one of two parallel commits when each compares the record that the other writes',
    async ({ at, read, done }) => {
      for (let turn = 0; turn < 20; turn++) {
        const partition = `p${turn}`
        const [a, b] = [put('a', null), put('b', null)]
        if (turn % 2 === 0) await done(partition, a, b)
        const [versionA, versionB] = turn % 2 === 0 ? [a.change.version, b.change.version] : [null, null]
        const answers = await Promise.all([
          at(0).commit(partition, [put('a', versionA, 'new'), keep('b', versionB)], NOW),
          at(1).commit(partition, [keep('a', versionA), put('b', versionB, 'new')], NOW)
        ])
        equal(answers.filter((answer) => answer === null).length, 1)
        const values = (await read(partition, 'a', 'b')).map((record) => record?.value)
        equal(values.filter((value) => value === '"new"').length, 1)
      }
    }
  ),
  define(
    'accepts one of 16 parallel commits to the same two records in different orders',
    async ({ at, read, done }) => {
      for (let turn = 0; turn < 5; turn++) {
        const partition = `p${turn}`
        const [a, b] = [put('a', null), put('b', null)]
        await done(partition, a, b)
        const writes = Array.from({ length: 16 }, (_, index) => {
          const both = [put('a', a.change.version, index), put('b', b.change.version, index)]
          return index % 2 === 0 ? both : both.toReversed()
        })
        const answers = await parallel(16, (index) => at(index).commit(partition, writes[index] ?? [], NOW))
        equal(answers.filter((answer) => answer === null).length, 1)
        const winner = JSON.stringify(answers.indexOf(null))
        deepEqual(
          (await read(partition, 'a', 'b')).map((record) => record?.value),
          [winner, winner]
        )
      }
    }
  ),
  define('does not sweep a record that a parallel commit has extended', async ({ at, read, done }) => {
    const before = Array.from({ length: 30 }, (_, index) => put(`k${index}`, null, 0, { expiresAt: NOW + 1_000 }))
    await done('p', ...before)
    const after = before.map(({ key, change }) => put(key, change.version, 1, { expiresAt: NOW + 9 * DAY }))
    const sweeps = async (): Promise<void> => {
      await parallel(2, async (index) => {
        await at(index).sweep(NOW + DAY)
      })
    }
    const [, answers] = await Promise.all([
      sweeps(),
      parallel(after.length, (index) => at(index).commit('p', after.slice(index, index + 1), NOW)),
      sweeps()
    ])
    const left = await read('p', ...after.map(({ key }) => key))
    for (const [index, write] of after.entries()) {
      // A record whose end was moved stays. If the sweep came first, the commit fails and the record is gone.
      if (answers[index] === null) deepEqual(left[index], storedBy(write))
      else deepEqual([answers[index], left[index]], [[null], null])
    }
  }),
  define('accepts 50 parallel commits to different records', async ({ at, read }) => {
    const writes = Array.from({ length: 50 }, (_, index) => put(`k${index}`, null, index))
    const answers = await parallel(50, (index) => at(index).commit('p', writes.slice(index, index + 1), NOW))
    deepEqual(
      answers,
      writes.map(() => null)
    )
    deepEqual(await read('p', ...writes.map(({ key }) => key)), writes.map(storedBy))
  }),
  define('never returns a half-written commit to a parallel read or refused commit', async ({ at, read, done }) => {
    const keys = ['a', 'b', 'c']
    const start = keys.map((key) => put(key, null, 0))
    await done('p', ...start)
    let former = start
    let isOver = false
    const torn: unknown[] = []
    const watch = async (index: number): Promise<void> => {
      while (!isOver) {
        const answer =
          index % 2 === 0
            ? await at(index).read('p', keys)
            : await at(index).commit(
                'p',
                keys.map((key) => keep(key, 'other')),
                NOW
              )
        const seen = (answer ?? []).map((record) => record?.value)
        if (new Set(seen).size !== 1) torn.push(seen)
        await new Promise<void>((resolve) => void setImmediate(resolve))
      }
    }
    const watching = parallel(4, watch)
    try {
      for (let turn = 1; turn <= 50; turn++) {
        const next = former.map(({ key, change }) => put(key, change.version, turn))
        equal(await at(turn).commit('p', turn % 2 === 0 ? next : next.toReversed(), NOW), null)
        former = next
      }
    } finally {
      isOver = true
      await watching
    }
    deepEqual(torn, [])
    deepEqual(await read('p', ...keys), former.map(storedBy))
  }),
  define('returns a list of records as of one moment while records are created', async ({ at }) => {
    const names = Array.from({ length: 60 }, (_, index) => `k${index}`)
    // Keeps only the first wrong answer, because Node.js 22 takes gigabytes to print the difference of long lists.
    let torn: unknown = null
    let isOver = false
    const watch = async (index: number): Promise<void> => {
      // Puts the count first or last, so that a store that reads the list in parts reads the count at another moment.
      const keys = index % 2 === 0 ? ['count', ...names] : [...names, 'count']
      while (!isOver) {
        const answer =
          index < 2
            ? await at(index).read('p', keys)
            : await at(index).commit(
                'p',
                keys.map((key) => keep(key, 'other')),
                NOW
              )
        const seen = new Map(keys.map((key, place) => [key, answer?.[place]?.value]))
        const count = Number(seen.get('count') ?? 0)
        const isOneMoment = names.every((key, place) => seen.get(key) === (place < count ? `"${key}"` : undefined))
        if (!isOneMoment) torn ??= [...seen]
        await new Promise<void>((resolve) => void setImmediate(resolve))
      }
    }
    const watching = parallel(4, watch)
    try {
      let expect: string | null = null
      for (const [index, key] of names.entries()) {
        const count = put('count', expect, index + 1)
        equal(await at(index).commit('p', [put(key, null), count], NOW), null)
        expect = count.change.version
      }
    } finally {
      isOver = true
      await watching
    }
    deepEqual(torn, null)
  }),
  define('returns a commit from every instance as soon as it resolves', async ({ at }) => {
    let expect: string | null = null
    for (let turn = 0; turn < 30; turn++) {
      const write = put('a', expect, turn)
      equal(await at(turn).commit('p', [write], NOW), null)
      deepEqual(await at(turn + 1).read('p', ['a']), [storedBy(write)])
      expect = write.change.version
    }
  })
]
