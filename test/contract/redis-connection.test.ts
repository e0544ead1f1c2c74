import { setTimeout as delay } from 'node:timers/promises'
import type { Cluster, Redis } from 'ioredis'
import t, { type Test } from '../support/tap.ts'
import { codeOf, defineScript, RedisRefusal, withoutArguments } from '../../lib/adapters/redis/refusal.ts'
import { type RedisClient, redisConnection } from '../../lib/adapters/redis/connection.ts'
import { isOutage, OutageError } from '../../lib/ports/outage.ts'
import { settlesAtOnce, settlesWithin } from '../support/in-time.ts'
import { type RedisServer, startRedis, startRedisCluster } from '../support/redis-server.ts'

const SECRET = 'sw0rdfish'
const TIMEOUT_MS = 250
/** A time limit for results that must not depend on the tested limit, so that a failing test does not hang. */
const NOT_BY_TIME = { timeoutMs: 600_000 }
const BROKEN = 'The connection to Redis broke before it answered.'
const SET = defineScript("redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])")
const COUNT = defineScript("return redis.call('INCR', KEYS[1])")

export const fitsWithoutCasts = (redis: Redis, cluster: Cluster): RedisClient[] => [redis, cluster]

const unhandled: unknown[] = []
const note = (reason: unknown): void => {
  unhandled.push(reason)
}
process.on('unhandledRejection', note)
t.teardown(() => {
  process.off('unhandledRejection', note)
})

async function server(t: Test, options: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
  const redis = await startRedis(options)
  t.teardown(() => redis.stop())
  return redis
}

async function refusal(call: () => Promise<unknown>): Promise<Error> {
  try {
    await call()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('was not rejected')
}

/**
 * Four times its time limit, because the connection checks its calls several times and a busy process is late for each
 * check. A paused server never answers, so a call without a limit would not settle at all.
 */
const inTime = async (call: () => Promise<unknown>): Promise<boolean> =>
  await settlesWithin(4 * TIMEOUT_MS, refusal(call))

/** Lets the event loop turn twenty times, without timers. */
async function refusedAtOnce(t: Test, call: () => Promise<unknown>): Promise<void> {
  for (let index = 0; index < 20; index++) t.equal(await settlesAtOnce(refusal(call)), true)
}

/** Calls repeatedly until the connection recovers by itself. */
async function recovered(call: () => Promise<unknown>, withinMs = 10_000): Promise<void> {
  const deadline = performance.now() + withinMs
  for (;;) {
    try {
      await call()
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await delay(20)
    }
  }
}

/** Calls of this turn are sent at its end. */
const sent = async (): Promise<void> => {
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
}

async function reaches(client: Redis, status: Redis['status']): Promise<void> {
  while (client.status !== status) await delay(5)
}

// covers RC1
t.test('sends the full script only when the server does not know it', async (t) => {
  const redis = await server(t)
  const client = redis.client()
  const { run } = redisConnection(client)
  t.equal(await run(COUNT, '{a}', []), 1)
  t.equal(await run(COUNT, '{a}', []), 2)
  await client.script('FLUSH')
  t.equal(await run(COUNT, '{a}', []), 3)
  const statistics = await client.info('commandstats')
  t.match(statistics, /cmdstat_eval:calls=2,/)
  t.match(statistics, /cmdstat_evalsha:calls=3,/)
})

// covers RC2
t.test('applies the key prefix of the client to keys that a script derives', async (t) => {
  const redis = await server(t)
  const { run } = redisConnection(redis.client({ keyPrefix: 'app:' }))
  await run(defineScript("redis.call('SET', KEYS[1] .. ':b', ARGV[1]) return 1"), '{a}', ['x'])
  t.equal(await redis.client().get('app:{a}:b'), 'x')
})

for (const [name, options] of [
  ['with', { enableAutoPipelining: true }],
  ['without', {}]
] as const) {
  // covers RC3
  t.test(`runs 200 parallel calls ${name} automatic pipelines`, async (t) => {
    const redis = await server(t)
    const { run } = redisConnection(redis.client(options))
    const replies = await Promise.all(Array.from({ length: 200 }, () => run(COUNT, '{a}', [])))
    t.same(
      replies,
      Array.from({ length: 200 }, (_, index) => index + 1)
    )
  })
}

// covers RC4
t.test('reads the time of the Redis server', async (t) => {
  const redis = await server(t)
  const { time } = redisConnection(redis.client())
  const before = Date.now()
  const now = await time('{a}')
  t.ok(now >= before && now <= Date.now(), `${now} since ${before}`)
})

// covers RC5
t.test('connects an ioredis client that is not connected yet, and waits for it', async (t) => {
  const redis = await server(t)
  const lazy = redis.client({ lazyConnect: true, enableOfflineQueue: false })
  const { run } = redisConnection(lazy)
  t.same(await Promise.all([run(SET, '{a}', ['1']), run(SET, '{b}', ['2'])]), ['1', '2'])
  const connecting = redis.client({ enableOfflineQueue: false })
  t.equal(connecting.status, 'connecting')
  const many = redisConnection(connecting)
  const listenersBefore = connecting.listenerCount('ready')
  const replies = Array.from({ length: 50 }, () => many.run(SET, '{a}', ['3']))
  t.ok(connecting.listenerCount('ready') <= listenersBefore + 1, 'one listener for all that wait')
  await Promise.all(replies)
  t.equal(connecting.listenerCount('ready'), listenersBefore)
})

for (const enableOfflineQueue of [true, false]) {
  const suffix = `(offline queue ${enableOfflineQueue ? 'on' : 'off'})`

  // covers RC6
  t.test(`rejects within the timeout when Redis hangs, then at once, and recovers ${suffix}`, async (t) => {
    const redis = await server(t)
    const client = redis.client({ enableOfflineQueue })
    const { run } = redisConnection(client)
    await run(COUNT, '{a}', [])
    redis.pause()
    const begin = performance.now()
    t.equal(await inTime(() => run(COUNT, '{a}', [])), true)
    t.ok(performance.now() - begin >= TIMEOUT_MS - 5)
    await refusedAtOnce(t, () => run(COUNT, '{a}', []))
    redis.resume()
    await recovered(() => run(SET, '{b}', ['x']))
    t.equal(await client.get('{a}'), '2', 'only what was sent before it was known to hang was done late')
  })

  // covers RC7
  t.test(`rejects at once when the server is killed, and recovers with the same client ${suffix}`, async (t) => {
    const redis = await server(t, { appendOnly: true })
    const client = redis.client({ enableOfflineQueue })
    const { run } = redisConnection(client, NOT_BY_TIME)
    await run(COUNT, '{a}', [])
    redis.pause()
    const broken = refusal(() => run(COUNT, '{a}', []))
    await redis.kill()
    t.equal((await broken).message, BROKEN, 'what was under way is told at once')
    await refusedAtOnce(t, () => run(COUNT, '{a}', []))
    await redis.restart()
    await recovered(() => run(SET, '{b}', ['x']))
    t.equal(await client.get('{a}'), '1', 'nothing was sent again by the client')
  })
}

// covers RC8
t.test('runs an open command at most once when the connection breaks', async (t) => {
  const redis = await server(t)
  const client = redis.client()
  const { run } = redisConnection(client, NOT_BY_TIME)
  await run(COUNT, '{a}', [])
  redis.pause()
  const broken = refusal(() => run(COUNT, '{a}', []))
  await sent()
  client.stream.destroy()
  t.equal((await broken).message, BROKEN)
  redis.resume()
  await recovered(() => run(SET, '{b}', ['x']))
  t.equal(await client.get('{a}'), '2')
})

// covers RC9
t.test('rejects a call on a client that ended or never reached its server', async (t) => {
  const redis = await server(t)
  const ended = redis.client()
  await reaches(ended, 'ready')
  ended.disconnect()
  await reaches(ended, 'end')
  await redis.kill()
  const { run } = redisConnection(ended)
  t.equal((await refusal(() => run(COUNT, '{a}', []))).message, 'Redis is not connected.')
  const lost = redisConnection(redis.client({ lazyConnect: true }))
  t.equal(await inTime(() => lost.run(COUNT, '{a}', [])), true)
})

// covers RC10
t.test('reports Redis errors without keys and arguments', async (t) => {
  const redis = await server(t)
  const client = redis.client()
  const connection = redisConnection(client)
  const calls = [
    () => connection.run(defineScript('return redis.call(ARGV[1], KEYS[1])'), `{${SECRET}}`, [SECRET]),
    () => connection.run(defineScript('error(ARGV[1])'), `{${SECRET}}`, [SECRET]),
    () => connection.run(defineScript('return redis.error_reply("WRONG " .. ARGV[1])'), `{${SECRET}}`, [SECRET]),
    () => connection.run(defineScript('syntax error'), `{${SECRET}}`, [SECRET])
  ]
  const errors = await Promise.all(calls.map(refusal))
  redis.pause()
  errors.push(await refusal(() => connection.run(SET, `{${SECRET}}`, [SECRET])))
  redis.resume()
  await recovered(() => connection.run(SET, '{b}', ['x']))
  redis.pause()
  const broken = refusal(() => connection.run(SET, `{${SECRET}}`, [SECRET]))
  await redis.kill()
  errors.push(await broken, await refusal(() => connection.run(SET, `{${SECRET}}`, [SECRET])))
  for (const error of errors) {
    t.ok(error instanceof RedisRefusal || error instanceof OutageError)
    t.same(
      Object.getOwnPropertyNames(error).filter(
        (name) => !['message', 'stack', 'code', 'isOutage', 'refusesWrites'].includes(name)
      ),
      []
    )
    t.notMatch(JSON.stringify(Object.getOwnPropertyDescriptors(error)), SECRET)
  }
  t.equal(errors[2]?.message, 'Redis refused: WRONG.')
  t.same(
    errors.map(isOutage),
    [false, false, false, false, true, true, true],
    'B3 what the server refused is no outage'
  )
})

// covers B3
t.test('treats a temporary refusal of the server as an outage, and a permanent one as an error', async (t) => {
  const redis = await server(t)
  const connection = redisConnection(redis.client())
  const answered = async (code: string): Promise<boolean> =>
    isOutage(await refusal(() => connection.run(defineScript(`return redis.error_reply("${code} now")`), '{a}', [])))
  for (const code of [
    'READONLY',
    'LOADING',
    'MASTERDOWN',
    'NOREPLICAS',
    'CLUSTERDOWN',
    'TRYAGAIN',
    'BUSY',
    'OOM',
    'MISCONF'
  ])
    t.equal(await answered(code), true, code)
  for (const code of ['NOPERM', 'WRONGTYPE', 'CROSSSLOT', 'ERR']) t.equal(await answered(code), false, code)
})

// covers B3
t.test('finds the error of a command in the script errors of Redis 6.2', (t) => {
  const reply = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' })
  const wrapped = 'ERR Error running script (call to f_5b3ab): @user_script:12: '
  for (const [message, code, told] of [
    ["READONLY You can't write against a read only replica.", 'READONLY', 'Redis refused: READONLY.'],
    [
      `${wrapped}@user_script: 12: -READONLY You can't write against a read only replica.`,
      'READONLY',
      'Redis refused: READONLY, line 12 of the script.'
    ],
    [
      `${wrapped}-OOM command not allowed when used memory > 'maxmemory'.`,
      'OOM',
      'Redis refused: OOM, line 12 of the script.'
    ],
    [`${wrapped}SWORDFISH is what the script was given`, 'ERR', 'Redis refused: ERR, line 12 of the script.'],
    [
      'ERR user_script:3: SWORDFISH script: 5b3ab, on @user_script:3.',
      'ERR',
      'Redis refused: ERR, line 3 of the script.'
    ],
    ['NOSCRIPT No matching script. Please use EVAL.', 'NOSCRIPT', 'Redis refused: NOSCRIPT.']
  ] as const) {
    t.equal(codeOf(reply(message)), code)
    t.equal(withoutArguments(reply(message)).message, told)
  }
  t.equal(codeOf(new Error('READONLY')), null)
  t.end()
})

// covers RC11
t.test('shares the listeners of one client between many connections', async (t) => {
  const redis = await server(t)
  const client = redis.client()
  const before = client.listenerCount('close')
  for (let index = 0; index < 30; index++) redisConnection(client)
  t.equal(client.listenerCount('close'), before + 1)
})

// covers RC12
t.test('reaches keys on each master of a cluster, and on the other masters when one is down', async (t) => {
  const cluster = await startRedisCluster()
  t.teardown(() => cluster.stop())
  const client = cluster.client()
  const { run, time } = redisConnection(client)
  const keys = Array.from({ length: 30 }, (_, index) => `{key-${index}}`)
  await recovered(() => run(SET, '{a}', ['x']))
  t.same(await Promise.all(keys.map((key) => run(SET, key, [key]))), keys)
  const before = Date.now()
  const now = await time('{a}')
  t.ok(now >= before && now <= Date.now(), `${now} since ${before}`)

  await Promise.all(keys.map((key) => run(COUNT, `${key}:once`, [])))
  const [node] = client.nodes('master')
  for (const master of cluster.masters) master.pause()
  const broken = keys.map((key) => refusal(() => run(COUNT, `${key}:once`, [])))
  await sent()
  node?.stream.destroy()
  await Promise.all(broken)
  for (const master of cluster.masters) master.resume()
  await recovered(() => Promise.all(keys.map((key) => run(SET, key, [key]))))
  t.same(
    await Promise.all(keys.map((key) => client.get(`${key}:once`))),
    keys.map(() => '2'),
    'done once, also where the connection broke'
  )

  // The last third of the slots.
  const slots = await Promise.all(keys.map((key) => client.cluster('KEYSLOT', key)))
  const lost = keys.filter((_, index) => (slots[index] ?? 0) >= 2 * Math.ceil(16_384 / 3))
  const alive = keys.filter((key) => !lost.includes(key))
  t.ok(lost.length > 0 && alive.length > 0, `${alive.length} of ${keys.length}`)
  cluster.masters[2]?.pause()
  const calls = new Map(keys.map((key) => [key, run(COUNT, `${key}:count`, [])]))
  t.same(
    await Promise.all([...calls.values()].map(async (call) => await inTime(() => call))),
    keys.map(() => true)
  )
  for (const key of lost) await t.rejects(calls.get(key) ?? Promise.resolve())
  await cluster.masters[2]?.kill()
  for (const key of lost) t.equal(await inTime(() => run(COUNT, `${key}:count`, [])), true)
  await recovered(() => Promise.all(alive.map((key) => run(SET, key, [key]))))

  await cluster.masters[2]?.restart()
  await recovered(() => Promise.all(keys.map((key) => run(SET, key, [key]))))
  await delay(1000)
  const counts = await Promise.all(keys.map((key) => client.get(`${key}:count`)))
  t.same(
    counts,
    keys.map((key) => (alive.includes(key) ? '1' : null)),
    'nothing was sent again after it had been rejected'
  )
})

// covers RC13
t.test('leaves no rejection unhandled after the outages above', async (t) => {
  t.same(unhandled, [])
})
