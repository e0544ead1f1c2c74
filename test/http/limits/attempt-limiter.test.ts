import Fastify from 'fastify'
import rateLimit from '@fastify/rate-limit'
import t from '../../support/tap.ts'
import { memoryAttemptStore } from '../../../lib/adapters/memory/attempt-store.ts'
import { createAttemptLimiter } from '../../../lib/adapters/rate-limit/limiter.ts'
import { steppedClock } from '../../../lib/testing/doubles.ts'
import type { AttemptOutcome } from '../../../lib/ports/attempt-store.ts'

const limit = (rule: string, max: number) => ({ rule, key: 'k', windowMs: 1000, max })

async function app(
  t: { teardown(task: () => Promise<void>): void },
  limiter: ReturnType<typeof createAttemptLimiter>,
  host = Fastify()
) {
  let id = 0
  host.get(
    '/',
    async (): Promise<AttemptOutcome> => await limiter.reserve(String(++id), [limit('login', 3), limit('account', 2)])
  )
  t.teardown(async () => {
    await host.close()
  })
  return host
}

// covers RL-18
t.test('reserves several limits in one store call, and returns its outcome', async (t) => {
  const calls: number[] = []
  const store = memoryAttemptStore({ clock: steppedClock() })
  const host = await app(
    t,
    createAttemptLimiter({
      reserve(id, limits) {
        calls.push(limits.length)
        return store.reserve(id, limits)
      },
      refund() {}
    })
  )
  const outcomes = await Promise.all([1, 2, 3, 4].map(async () => (await host.inject('/')).json<AttemptOutcome>()))
  t.same(
    outcomes.map(({ allowed }) => allowed),
    [true, true, false, false]
  )
  t.match(outcomes[2], {
    refusedBy: { rule: 'account', max: 2, remaining: 0, resetMs: 1000 },
    standings: [
      { rule: 'login', remaining: 1 },
      { rule: 'account', remaining: 0 }
    ]
  })
  t.same(calls, [2, 2, 2, 2], 'one call each')
})

// covers RL-14
t.test('ignores a group id that a host hook sets on our route', async (t) => {
  const host = Fastify()
  host.addHook('onRoute', (route) => {
    route.config = { ...route.config, rateLimit: { groupId: 'theirs' } }
  })
  await app(t, createAttemptLimiter(memoryAttemptStore({ clock: steppedClock() })), host)
  t.same((await host.inject('/')).json().allowed, true)
})

t.test('RL counts separately from @fastify/rate-limit of the host', async (t) => {
  const host = Fastify()
  await host.register(rateLimit, { max: 1 })
  await app(t, createAttemptLimiter(memoryAttemptStore({ clock: steppedClock() })), host)
  const first = await host.inject('/')
  t.equal(first.headers['x-ratelimit-limit'], '1', 'theirs counts')
  t.match(first.json(), {
    allowed: true,
    standings: [
      { rule: 'login', remaining: 2 },
      { rule: 'account', remaining: 1 }
    ]
  })
  t.equal((await host.inject('/')).statusCode, 429)
})

// covers RL-22
t.test('passes errors of the store through', async (t) => {
  for (const reserve of [
    () => {
      throw new Error('down')
    },
    async () => {
      throw new Error('down')
    }
  ]) {
    const host = await app(t, createAttemptLimiter({ reserve, refund() {} }))
    const reply = await host.inject('/')
    t.equal(reply.statusCode, 500)
    t.equal(reply.json().message, 'down')
  }
})
