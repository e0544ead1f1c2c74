/**
 * Any history of attempts and refunds, one at a time and several at once, is counted as the model counts: in memory,
 * and by Redis for all instances.
 */
import { deepEqual } from 'node:assert/strict'
import * as fc from 'fast-check'
import t from '../support/tap.ts'
import { memoryAttemptStore } from '../../lib/adapters/memory/attempt-store.ts'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { redisConnection } from '../../lib/adapters/redis/connection.ts'
import type { AttemptLimit, AttemptStore } from '../../lib/ports/attempt-store.ts'
import { steppedClock } from '../../lib/testing/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { property } from './support/property.ts'
import { explained } from './support/worlds.ts'

/** The attempts that were allowed, by rule and key, oldest first. */
type World = Record<string, Array<{ id: string; at: number }>>

interface History {
  worlds: World[]
  run: number
  made: Array<{ id: string; limits: AttemptLimit[] }>
  outcomes: string[]
}

const clock = steppedClock()
const counterOf = ({ rule, key }: AttemptLimit): string => `${rule} ${key}`

/** Counts as the port requires: all limits or none, and at most `max` in any `windowMs`. */
function reserve(world: World, id: string, limits: readonly AttemptLimit[]): unknown {
  const now = clock.monotonic()
  for (const limit of limits)
    world[counterOf(limit)] = (world[counterOf(limit)] ?? []).filter(({ at }) => now - at < limit.windowMs)
  const full = limits.filter((limit) => (world[counterOf(limit)] ?? []).length >= limit.max)
  if (full.length === 0) for (const limit of limits) world[counterOf(limit)]?.push({ id, at: now })
  const standings = limits.map(({ rule, key, max, windowMs }) => {
    const attempts = world[`${rule} ${key}`] ?? []
    // After `max` was lowered, several attempts have to leave the window before one more passes.
    const frees = attempts[Math.max(0, attempts.length - max)]
    return {
      rule,
      max,
      windowMs,
      remaining: Math.max(0, max - attempts.length),
      resetMs: frees === undefined ? (max < 1 ? windowMs : 0) : frees.at + windowMs - now
    }
  })
  if (full.length === 0) return { allowed: true, standings }
  const refusing = standings.filter((_, at) => full.includes(limits[at] as AttemptLimit))
  return {
    allowed: false,
    refusedBy: refusing.find(({ resetMs }) => resetMs === Math.max(...refusing.map((one) => one.resetMs))),
    standings
  }
}

function refund(world: World, id: string, limits: readonly AttemptLimit[]): void {
  for (const limit of limits)
    world[counterOf(limit)] = (world[counterOf(limit)] ?? []).filter((attempt) => attempt.id !== id)
}

type Command = fc.AsyncCommand<History, AttemptStore>
interface Step {
  id: string
  limits: AttemptLimit[]
  isRefund: boolean
}
type MakeStep = (history: History, at: number) => Step

const RULES = [
  { rule: 'ip', windowMs: 5000, max: 4 },
  { rule: 'account', windowMs: 60_000, max: 6 },
  { rule: 'pair', windowMs: 1000, max: 2 }
]
const limits = fc
  .subarray(RULES, { minLength: 1 })
  .chain((rules) =>
    fc.tuple(
      ...rules.map((rule) =>
        fc
          .record({ key: fc.nat(1), less: fc.constantFrom(0, 0, 0, 1, 2) })
          .map(({ key, less }) => ({ ...rule, key, max: rule.max - less }))
      )
    )
  )
const reserving = limits.map((limits): MakeStep => ({ run, made }, at) => {
  const step = {
    id: `${run}-${made.length}-${at}`,
    limits: limits.map((limit) => ({ ...limit, key: `${run} ${limit.key}` })),
    isRefund: false
  }
  made.push(step)
  return step
})
const refunding = fc.tuple(fc.nat(5), fc.integer({ min: 0, max: 9 })).map(([back, part]): MakeStep => ({ made }) => {
  const { id, limits } = made.at(-1 - back) ?? { id: 'unknown', limits: [] }
  return { id: part === 0 ? 'unknown' : id, limits: part === 1 ? limits.slice(1) : limits, isRefund: true }
})
const anyStep = fc.oneof({ arbitrary: reserving, weight: 4 }, refunding)

const atOnce = (makes: readonly MakeStep[]): Command => {
  let shown = 'not called'
  return {
    check: () => true,
    async run(history, store) {
      const steps = makes.map((make, at) => make(history, at))
      shown = steps
        .map(
          ({ id, limits, isRefund }) =>
            `${isRefund ? 'refund' : 'reserve'}(${id}, ` +
            `${limits.map(({ rule, key, max }) => `${rule} ${key} ${max}`).join(', ')})`
        )
        .join(' at once with ')
      const answers = await Promise.all(
        steps.map(async ({ id, limits, isRefund }) =>
          isRefund ? await store.refund(id, limits) : await store.reserve(id, limits)
        )
      )
      history.worlds = explained(history.worlds, steps.length, (world, at) => {
        const { id, limits, isRefund } = steps[at] as Step
        deepEqual(answers[at], isRefund ? refund(world, id, limits) : reserve(world, id, limits))
      })
      for (const [at, { isRefund }] of steps.entries())
        history.outcomes.push(
          isRefund ? 'refunded' : (answers[at] as { allowed: boolean }).allowed ? 'allowed' : 'refused'
        )
    },
    toString: () => shown
  }
}

const histories = fc.commands(
  [
    anyStep.map((make) => atOnce([make])),
    anyStep.map((make) => atOnce([make])),
    fc.array(anyStep, { minLength: 2, maxLength: 3 }).map(atOnce),
    fc.constantFrom(1, 400, 999, 1000, 4999, 5000).map((ms): Command => ({
      check: () => true,
      async run() {
        clock.step(ms)
      },
      toString: () => `${ms} ms pass`
    }))
  ],
  { maxCommands: 60, size: 'max' }
)

const redis = await startRedis()
t.teardown(() => redis.stop())

let runs = 0
for (const [name, store, share] of [
  ['memory', memoryAttemptStore({ clock }), 0.2],
  // No time limits, because the machine may be busy.
  ['Redis', redisAttemptStore(redisConnection(redis.client(), { timeoutMs: 30_000 }), { now: clock.monotonic }), 0.1]
] as const) {
  property(
    `counts attempts and refunds as the model does (${name})`,
    [histories],
    { share, cases: ['allowed', 'refused', 'refunded'] },
    async (commands) => {
      runs += 1
      const history: History = { worlds: [{}], run: runs, made: [], outcomes: [] }
      await fc.asyncModelRun(() => ({ model: history, real: store }), commands)
      return history.outcomes
    }
  )
}
