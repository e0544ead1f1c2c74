import { deepEqual, equal, ok } from 'node:assert/strict'
import type { AttemptLimit, AttemptOutcome, AttemptStore } from '../ports/attempt-store.ts'
import type { Clock } from '../ports/clock.ts'
import { steppedClock } from './doubles.ts'
import { caseOf, parallel } from './contract.ts'
import type { Closable, ContractCase } from './contract.ts'

export interface AttemptStoreSubject extends Closable {
  store: AttemptStore
}

interface Stage {
  store: AttemptStore
  /** Moves the clock forward by this time. */
  pass(ms: number): void
  /** Reserves an attempt with a new id. Resolves to true if the store allowed it. */
  attempt(...limits: AttemptLimit[]): Promise<boolean>
}

const WINDOW = 60_000
const limit = (fields: Partial<AttemptLimit> = {}): AttemptLimit => ({
  rule: 'ip',
  key: 'key-1',
  windowMs: WINDOW,
  max: 3,
  ...fields
})
const remaining = (outcome: AttemptOutcome): number[] => outcome.standings.map((standing) => standing.remaining)

/**
 * The contract of every `AttemptStore`. `make` gives each case an empty store that takes its time only from `clock`.
 */
export function attemptStoreContract(make: (clock: Clock) => Promise<AttemptStoreSubject>): ContractCase[] {
  const cases: ContractCase[] = []
  const define = (name: string, check: (stage: Stage) => Promise<void>): void => {
    const stage = async (): Promise<Stage & Closable> => {
      const clock = steppedClock()
      const { store, ...subject } = await make(clock)
      let attempts = 0
      return {
        store,
        pass(ms) {
          clock.step(ms)
        },
        async attempt(...limits) {
          return (await store.reserve(`attempt-${++attempts}`, limits)).allowed
        },
        async close() {
          await subject.close?.()
        }
      }
    }
    cases.push(caseOf(stage, `attempts: ${name}`, check))
  }

  define('allows max attempts in a window, and refuses the next ones', async ({ attempt }) => {
    for (const expected of [true, true, true, false, false]) equal(await attempt(limit()), expected)
  })

  define('allows 5 of 50 parallel attempts when max is 5', async ({ attempt }) => {
    const results = await parallel(50, () => attempt(limit({ max: 5 })))
    equal(results.filter(Boolean).length, 5)
  })

  define('stops counting an attempt exactly windowMs after it, and not 1 ms earlier', async ({ attempt, pass }) => {
    equal(await attempt(limit()), true)
    pass(WINDOW / 2)
    equal(await attempt(limit()), true)
    equal(await attempt(limit()), true)
    pass(WINDOW / 2 - 1)
    equal(await attempt(limit()), false)
    pass(1)
    equal(await attempt(limit()), true, 'the first has left the window')
    equal(await attempt(limit()), false, 'the other two have not')
    pass(WINDOW / 2 - 1)
    equal(await attempt(limit()), false)
    pass(1)
    deepEqual([await attempt(limit()), await attempt(limit()), await attempt(limit())], [true, true, false])
  })

  define(
    'allows at most max attempts in any span of windowMs, and refuses none below max',
    async ({ attempt, pass }) => {
      const allowedAt: number[] = []
      let now = 0
      for (let index = 0; index < 400; index++) {
        const gap = ((index * 7919) % 31) * 53
        pass(gap)
        now += gap
        if (await attempt(limit({ windowMs: 5000 }))) {
          allowedAt.push(now)
        } else {
          equal(allowedAt.filter((at) => at > now - 5000).length, 3, 'refused only where max are in the window')
        }
      }
      ok(allowedAt.length > 10)
      allowedAt.forEach((at, index) => {
        const fourth = allowedAt[index + 3]
        ok(fourth === undefined || fourth - at >= 5000, `${at} to ${fourth}`)
      })
    }
  )

  define('does not count refused attempts', async ({ attempt, pass }) => {
    for (let index = 0; index < 3; index++) await attempt(limit())
    pass(WINDOW - 1)
    for (let index = 0; index < 20; index++) equal(await attempt(limit()), false)
    pass(1)
    equal(await attempt(limit()), true)
  })

  define('counts the attempts of each key separately', async ({ attempt }) => {
    for (let index = 0; index < 3; index++) await attempt(limit())
    equal(await attempt(limit()), false)
    equal(await attempt(limit({ key: 'key-2' })), true)
  })

  define('counts an attempt on all of its limits, or on none when one refuses it', async ({ attempt }) => {
    const narrow = limit({ rule: 'account', key: 'account-1', max: 1 })
    const wide = limit()
    equal(await attempt(narrow, wide), true)
    for (let index = 0; index < 5; index++) {
      equal(await attempt(narrow, wide), false)
      equal(await attempt(wide, narrow), false, 'in either order')
    }
    deepEqual(
      [await attempt(wide), await attempt(wide), await attempt(wide)],
      [true, true, false],
      'the refused took nothing of the wide limit'
    )
  })

  define(
    'allows 4 of 50 parallel attempts on limits of 4 and 10, and leaves 6 attempts of the wider limit',
    async ({ attempt }) => {
      const narrow = limit({ rule: 'account', key: 'account-1', max: 4 })
      const wide = limit({ max: 10 })
      const results = await parallel(50, (index) => (index % 2 === 0 ? attempt(narrow, wide) : attempt(wide, narrow)))
      equal(results.filter(Boolean).length, 4)
      const rest = await parallel(50, () => attempt(wide))
      equal(rest.filter(Boolean).length, 6)
    }
  )

  define('returns the remaining attempts and the exact wait for each limit', async ({ store, pass }) => {
    const limits = [limit({ max: 2 }), limit({ rule: 'account', key: 'account-1', max: 5, windowMs: 2 * WINDOW })]
    const first = await store.reserve('a', limits)
    equal(first.allowed, true)
    deepEqual(
      first.standings.map(({ rule, max, windowMs }) => [rule, max, windowMs]),
      [
        ['ip', 2, WINDOW],
        ['account', 5, 2 * WINDOW]
      ]
    )
    deepEqual(remaining(first), [1, 4])
    deepEqual(
      first.standings.map(({ resetMs }) => resetMs),
      [WINDOW, 2 * WINDOW]
    )
    pass(1000)
    const second = await store.reserve('b', limits)
    deepEqual(remaining(second), [0, 3])
    const third = await store.reserve('c', limits)
    ok(!third.allowed)
    deepEqual(remaining(third), [0, 3])
    deepEqual([third.refusedBy.rule, third.refusedBy.resetMs], ['ip', WINDOW - 1000])
    pass(third.refusedBy.resetMs - 1)
    equal((await store.reserve('d', limits)).allowed, false)
    pass(1)
    equal((await store.reserve('e', limits)).allowed, true, 'resetMs is exact')
  })

  define('names the limit with the longest wait in refusedBy when several limits refuse', async ({ store }) => {
    const limits = [
      limit({ max: 1 }),
      limit({ rule: 'account', key: 'account-1', max: 1, windowMs: 3 * WINDOW }),
      limit({ rule: 'pair', key: 'pair-1', max: 1 })
    ]
    await store.reserve('a', limits)
    const refused = await store.reserve('b', limits)
    ok(!refused.allowed)
    deepEqual([refused.refusedBy.rule, refused.refusedBy.resetMs], ['account', 3 * WINDOW])
  })

  define('refunds an attempt once, and ignores the refund of an unknown attempt', async ({ store, attempt }) => {
    await store.reserve('a', [limit()])
    await store.reserve('b', [limit()])
    await store.reserve('c', [limit()])
    equal(await attempt(limit()), false)
    await store.refund('unknown', [limit()])
    equal(await attempt(limit()), false)
    for (let time = 0; time < 3; time++) await store.refund('b', [limit()])
    deepEqual([await attempt(limit()), await attempt(limit())], [true, false])
  })

  define('counts an attempt after a refund for its own full window', async ({ store, attempt, pass }) => {
    await store.reserve('a', [limit({ max: 1 })])
    pass(WINDOW / 2)
    await store.refund('a', [limit({ max: 1 })])
    equal(await attempt(limit({ max: 1 })), true)
    pass(WINDOW / 2)
    equal(await attempt(limit({ max: 1 })), false)
  })

  define(
    'refunds an attempt on all of its limits, and ignores a second refund after the window',
    async ({ store, attempt, pass }) => {
      const limits = [limit({ max: 1 }), limit({ rule: 'account', key: 'account-1', max: 1 })]
      await store.reserve('a', limits)
      await store.refund('a', limits)
      equal(await attempt(...limits), true)
      pass(WINDOW)
      await store.refund('a', limits)
      deepEqual([await attempt(...limits), await attempt(...limits)], [true, false])
    }
  )

  define(
    'allows max new attempts after the allowed ones of 50 parallel attempts are refunded',
    async ({ store, attempt }) => {
      await parallel(50, async (index) => {
        const { allowed } = await store.reserve(`own-${index}`, [limit()])
        if (allowed) await store.refund(`own-${index}`, [limit()])
      })
      deepEqual(
        [await attempt(limit()), await attempt(limit()), await attempt(limit()), await attempt(limit())],
        [true, true, true, false]
      )
    }
  )

  return cases
}
