import t from '../../support/tap.ts'
import { setImmediate as turn } from 'node:timers/promises'
import { memoryAttemptStore } from '../../../lib/adapters/memory/attempt-store.ts'
import { surviveOutages } from '../../../lib/boundary/attempt-outages.ts'
import type { AttemptStore, OnStoreError } from '../../../lib/ports/attempt-store.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'

type Mood = 'well' | 'throws' | 'rejects' | 'hangs'
const LIMITS = [{ rule: 'login', key: 'a', windowMs: 60_000, max: 3 }]

function stage(onStoreError: OnStoreError = 'local') {
  const clock = steppedClock()
  const log: string[] = []
  const calls = { reserve: 0, refund: 0 }
  let mood: Mood = 'well'
  const real = memoryAttemptStore({ clock })
  const answer = <T>(work: () => T): T | Promise<T> => {
    if (mood === 'throws') throw new Error('down')
    if (mood === 'rejects') return Promise.reject(new Error('down'))
    if (mood === 'hangs') return new Promise<T>(() => {})
    return Promise.resolve(work())
  }
  const flaky: AttemptStore = {
    reserve(id, limits) {
      calls.reserve++
      return answer(() => real.reserve(id, limits))
    },
    refund(id, limits) {
      calls.refund++
      return answer(() => {
        real.refund(id, limits)
      })
    }
  }
  const store = surviveOutages({
    store: flaky,
    localStore: memoryAttemptStore({ clock }),
    onStoreError,
    clock,
    onDegraded: (error) => {
      log.push(`degraded: ${error instanceof Error ? error.message : ''}`)
    },
    onRecovered: () => {
      log.push('recovered')
    }
  })
  let id = 0
  /** Reserves an attempt. Steps the clock by 250 ms if the store hangs. */
  const attempt = async (): Promise<boolean> => {
    const pending = Promise.resolve(store.reserve(String(++id), LIMITS))
    // The rejection is checked below. Marks it as handled until then.
    pending.catch(() => {})
    await turn()
    if (mood === 'hangs') clock.step(250)
    return (await pending).allowed
  }
  return {
    clock,
    store,
    log,
    calls,
    attempt,
    be(next: Mood) {
      mood = next
    }
  }
}

for (const mood of ['throws', 'rejects', 'hangs'] as const) {
  // covers RL-22
  t.test(`local: counts in this process when a store ${mood}, and reports the outage once`, async (t) => {
    const { attempt, be, log, calls } = stage()
    be(mood)
    t.same(
      [await attempt(), await attempt(), await attempt(), await attempt()],
      [true, true, true, false],
      'the limit still holds'
    )
    t.same(log, [`degraded: ${mood === 'hangs' ? 'no answer within 250 ms' : 'down'}`])
    t.equal(calls.reserve, 1, 'it is left alone: nobody else waits for it')
  })

  // covers RL-22
  t.test(`deny: answers 503 with Retry-After when a store ${mood}`, async (t) => {
    const { attempt, be, log, store } = stage('deny')
    be(mood)
    for (let i = 0; i < 2; i++) {
      const error: unknown = await attempt().catch((error: unknown) => error)
      t.match(error, { error: 'temporarily_unavailable', statusCode: 503, headers: { 'retry-after': '1' } })
    }
    const pending = Promise.resolve(store.reserve('late', LIMITS))
    t.match(await pending.catch((error: unknown) => error), { error: 'temporarily_unavailable' }, 'a rejection')
    t.equal(log.length, 1)
  })

  // covers RL-22
  t.test(`allow: limits no attempts when a store ${mood}`, async (t) => {
    const { attempt, be, log } = stage('allow')
    be(mood)
    for (let i = 0; i < 10; i++) t.equal(await attempt(), true)
    t.equal(log.length, 1)
  })
}

// covers RL-22 ASVS-13.1.3
t.test('waits for the store for exactly 250 ms', async (t) => {
  const { store, clock, be } = stage()
  be('hangs')
  let settled = false
  const pending = Promise.resolve(store.reserve('a', LIMITS)).then((outcome) => {
    settled = true
    return outcome
  })
  clock.step(249)
  await turn()
  t.equal(settled, false)
  clock.step(1)
  await turn()
  t.equal(settled, true)
  t.equal((await pending).allowed, true)
})

// covers RL-22
t.test('returns to the store after a second, and reports the recovery', async (t) => {
  const { attempt, be, log, calls, clock } = stage()
  be('rejects')
  await attempt()
  be('well')
  clock.step(999)
  await attempt()
  t.equal(calls.reserve, 1, 'not before a second has passed')
  clock.step(1)
  await attempt()
  t.same(log, ['degraded: down', 'recovered'])
  await attempt()
  t.equal(calls.reserve, 3)
  be('rejects')
  await attempt()
  t.equal(log.length, 3, 'a new outage is said again')
})

// covers RL-22
t.test('reports no second outage for a failed probe, and lets other calls continue', async (t) => {
  const { store, be, log, calls, clock } = stage()
  be('rejects')
  await store.reserve('a', LIMITS)
  clock.step(1000)
  be('hangs')
  const probe = store.reserve('b', LIMITS)
  t.equal((await store.reserve('c', LIMITS)).allowed, true)
  t.equal(calls.reserve, 2)
  clock.step(250)
  t.equal((await probe).allowed, true)
  t.same(log, ['degraded: down'])
})

// covers RL-22
t.test('refunds an attempt in the local store during an outage, and resolves when a refund fails', async (t) => {
  const { store, be, attempt } = stage()
  be('rejects')
  await store.reserve('mine', LIMITS)
  await store.refund('mine', LIMITS)
  t.same([await attempt(), await attempt(), await attempt(), await attempt()], [true, true, true, false])
  const other = stage()
  await other.store.reserve('x', LIMITS)
  other.be('rejects')
  await t.resolves(Promise.resolve(other.store.refund('x', LIMITS)))
  t.same(other.log, ['degraded: down'])
})
