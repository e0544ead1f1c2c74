import { setTimeout as delay } from 'node:timers/promises'
import t from '../support/tap.ts'
import { memoryAttemptStore } from '../../lib/adapters/memory/attempt-store.ts'
import { redisAttemptStore } from '../../lib/adapters/redis/attempt-store.ts'
import { type RedisClient, redisConnection } from '../../lib/adapters/redis/connection.ts'
import type { AttemptLimit } from '../../lib/ports/attempt-store.ts'
import { attemptStoreContract } from '../../lib/testing/attempt-store-contract.ts'
import { delayed, steppedClock } from '../../lib/testing/doubles.ts'
import { runContract } from '../../lib/testing/contract.ts'
import { settlesWithin } from '../support/in-time.ts'
import { until } from '../support/redis-process.ts'
import { startRedis, startRedisCluster } from '../support/redis-server.ts'

const redis = await startRedis()
const cluster = await startRedisCluster()
t.teardown(async () => {
  await redis.stop()
  await cluster.stop()
})

const client = redis.client()
const test = (prefix: string) => (name: string, run: () => Promise<void>) => t.test(`${prefix} ${name}`, run)

let stores = 0
/** Counters of its own for each case. */
const suite = (on: RedisClient, wrap: typeof delayed = (store) => store): ReturnType<typeof attemptStoreContract> =>
  attemptStoreContract(async (clock) => ({
    store: wrap(redisAttemptStore(redisConnection(on), { prefix: `rl:${++stores}:`, now: clock.monotonic }))
  }))

runContract(suite(client), test('RL Redis'))
runContract(suite(client, delayed), test('RL delayed Redis'))
runContract(suite(cluster.client()), test('RL Redis Cluster'))
runContract(suite(redis.client({ keyPrefix: 'app:' })), test('RL Redis with a key prefix'))

const limit = (fields: Partial<AttemptLimit> = {}): AttemptLimit => ({
  rule: 'ip',
  key: 'key-1',
  windowMs: 60_000,
  max: 3,
  ...fields
})

// covers RA1
t.test('gives the same outcomes as the memory store in 5000 random steps', async (t) => {
  const clock = steppedClock()
  const memory = memoryAttemptStore({ clock })
  const store = redisAttemptStore(redisConnection(client), { prefix: 'same:', now: clock.monotonic })
  const rules = [
    limit({ rule: 'ip', windowMs: 5000, max: 7 }),
    limit({ rule: 'account', windowMs: 60_000, max: 20 }),
    limit({ rule: 'pair', windowMs: 1000, max: 3 }),
    limit({ rule: 'off', max: 0 })
  ]
  let state = 1
  /** A fixed sequence: the same steps in every run. */
  const below = (end: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor(state / 65_536) % end
  }
  const made: Array<{ id: string; limits: AttemptLimit[] }> = []
  const seen = { allowed: 0, refused: 0 }
  for (let step = 0; step < 5000; step++) {
    const kind = below(10)
    if (kind < 7) {
      const limits = rules
        .filter(({ rule }) => below(rule === 'off' ? 50 : 2) === 0)
        .map((rule) => ({ ...rule, key: `key-${below(3)}`, max: rule.max - below(2) }))
      const id = `attempt-${step}`
      const [expected, outcome] = [memory.reserve(id, limits), await store.reserve(id, limits)]
      if (JSON.stringify(outcome) !== JSON.stringify(expected)) {
        t.same(outcome, expected, `step ${step}`)
        return
      }
      seen[outcome.allowed ? 'allowed' : 'refused']++
      made.push({ id, limits })
    } else if (kind < 8) {
      const { id, limits } = made[made.length - 1 - below(Math.min(made.length, 10))] ?? { id: 'none', limits: [] }
      memory.refund(id, limits)
      await store.refund(id, limits)
    } else {
      clock.step(below(400))
    }
  }
  t.ok(seen.allowed > 500 && seen.refused > 500, JSON.stringify(seen))
})

// covers RA2
t.test('counts a rate limit window by the clock of the Redis server for two instances', async (t) => {
  const one = redisAttemptStore(redisConnection(client))
  const other = redisAttemptStore(redisConnection(redis.client()))
  const narrow = limit({ key: 'real-time', windowMs: 500, max: 1 })
  const begin = performance.now()
  // Sent at once, so that the window does not pass between them.
  const [first, second] = await Promise.all([one.reserve('a', [narrow]), other.reserve('b', [narrow])])
  t.not(first.allowed, second.allowed)
  const { resetMs = 0 } = (first.allowed ? second : first).standings[0] ?? {}
  // Both may happen in the same millisecond. The time of an attempt is rounded up and the current time down.
  t.ok(resetMs > 0 && resetMs <= 501, `${resetMs} ms`)
  const passes = async (): Promise<void> => {
    while (!(await other.reserve('c', [narrow])).allowed) await delay(5)
  }
  t.equal(await settlesWithin(1500, passes()), true)
  t.ok(performance.now() - begin >= 499)
})

// covers RA3
t.test('sets a TTL on every rate limit counter, and keeps the key out of its name', async (t) => {
  const store = redisAttemptStore(redisConnection(client), { prefix: 'ends:' })
  const limitsOf = (windowMs: number): AttemptLimit[] => [
    limit({ key: 'secret-1', windowMs }),
    limit({ rule: 'account', key: 'secret-2', windowMs: windowMs + 200 })
  ]
  const limits = limitsOf(60_000)
  await store.reserve('a', limits)
  await store.reserve('b', limits)
  await store.refund('b', limits)
  const names = await client.keys('ends:*')
  t.equal(names.length, 2)
  for (const name of names) {
    t.match(name, /^ends:\{limits\}:[\w-]{22}$/)
    const ttlMs = await client.pttl(name)
    // The time of an attempt is rounded up, and so is its end.
    t.ok(ttlMs > 0 && ttlMs <= 60_201, `${ttlMs} ms`)
  }
  await store.refund('a', limits)
  t.same(await client.keys('ends:*'), [], 'what is refunded in full is gone')
  await store.reserve('c', limitsOf(50))
  await until('the end of what has expired', async () => (await client.keys('ends:*')).length === 0)
})

// covers RA4
t.test('makes one Redis round trip for a reserve and one for a refund', async (t) => {
  const store = redisAttemptStore(redisConnection(client), { prefix: 'trips:' })
  const limits = [limit(), limit({ rule: 'account' }), limit({ rule: 'pair' })]
  const roundTrips = async (): Promise<number> => {
    const statistics = await client.info('commandstats')
    return Array.from(statistics.matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+)/g)).reduce(
      (sum, [, calls]) => sum + Number(calls),
      0
    )
  }
  await store.reserve('a', limits)
  await store.refund('a', limits)
  const before = await roundTrips()
  await store.reserve('b', limits)
  t.equal(await roundTrips(), before + 1)
  await store.refund('b', limits)
  t.equal(await roundTrips(), before + 2)
})

// covers RA5
t.test('refuses a prefix of the counters with a hash tag', async (t) => {
  t.throws(() => redisAttemptStore(redisConnection(client), { prefix: '{app}:' }), TypeError)
})

// covers RA6
t.test('rejects reserve and refund while Redis is down', async (t) => {
  const dying = await startRedis()
  t.teardown(() => dying.stop())
  const store = redisAttemptStore(redisConnection(dying.client()))
  await store.reserve('a', [limit()])
  await dying.kill()
  await t.rejects(Promise.resolve(store.reserve('b', [limit()])))
  await t.rejects(Promise.resolve(store.refund('a', [limit()])))
})

// covers B13
t.test('blocks for one window after attempts by a clock that was an hour ahead', async (t) => {
  let now = 10_000_000
  const store = redisAttemptStore(redisConnection(client), { prefix: 'ahead:', now: () => now })
  const narrow = limit({ max: 2 })
  now += 3_600_000
  t.equal((await store.reserve('a', [narrow])).allowed, true)
  t.equal((await store.reserve('b', [narrow])).allowed, true)
  now -= 3_600_000
  const refused = await store.reserve('c', [narrow])
  t.equal(refused.allowed, false)
  t.equal(refused.standings[0]?.resetMs, 60_000)
  now += 59_999
  t.equal((await store.reserve('d', [narrow])).allowed, false)
  now += 1
  t.equal((await store.reserve('e', [narrow])).allowed, true)
  t.equal((await store.reserve('f', [narrow])).allowed, true)
  t.equal((await store.reserve('g', [narrow])).allowed, false)
})

// covers B13
t.test('allows no attempt earlier when the clock goes back a little', async (t) => {
  let now = 20_000_000
  const store = redisAttemptStore(redisConnection(client), { prefix: 'back:', now: () => now })
  const narrow = limit({ max: 3 })
  for (const [step, id] of [
    [0, 'a'],
    [40, 'b'],
    [-30, 'c']
  ] as const) {
    now += step
    t.equal((await store.reserve(id, [narrow])).allowed, true)
  }
  now += 59_989
  t.equal((await store.reserve('d', [narrow])).allowed, false, 'the first is 59,999 ms old')
  now += 1
  t.equal((await store.reserve('e', [narrow])).allowed, true)
  t.equal((await store.reserve('f', [narrow])).allowed, false)
  now += 10
  t.equal((await store.reserve('g', [narrow])).allowed, true)
})

// covers B14
t.test('allows at most max attempts in any span of windowMs, to the microsecond', async (t) => {
  let now = 30_000_000
  const store = redisAttemptStore(redisConnection(client), { prefix: 'exact:', now: () => now })
  const narrow = limit({ windowMs: 60, max: 1 })
  const allowedAt: number[] = []
  for (let step = 0; step < 2000; step++) {
    now = Math.round((now + ((step * 7919) % 997) / 1000) * 1000) / 1000
    if ((await store.reserve(`exact-${step}`, [narrow])).allowed) allowedAt.push(now)
  }
  t.ok(allowedAt.length > 10)
  const gaps = allowedAt.slice(1).map((at, index) => at - (allowedAt[index] ?? 0))
  t.ok(Math.min(...gaps) >= 60, `${Math.min(...gaps)} ms`)
  t.ok(Math.max(...gaps) < 63, 'and little is given away')
})
