import fastifyRedis from '@fastify/redis'
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import t from '../support/tap.ts'
import authPlugin, {
  type AuthorityOptions,
  memoryState,
  memoryUserStore,
  redisState,
  StartError
} from '../../lib/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { settlesWithin } from '../support/in-time.ts'
import { startRedis } from '../support/redis-server.ts'

const server = await startRedis()
t.teardown(async () => {
  await server.stop()
})
t.beforeEach(async () => {
  await server.client().flushall()
})

const refresh = { method: 'POST', url: '/auth/token' } as const
const keysOf = async (): Promise<string[]> => (await server.client().keys('*')).toSorted()

/** Two instances over the same users and the same Redis. */
async function twoInstances(options: Partial<AuthorityOptions> = {}) {
  const users = memoryUserStore()
  const secret = 'two instances have one secret, of 32 bytes'
  return await Promise.all([0, 1].map(async () => await testApp({ users, secret, redis: server.client(), ...options })))
}

t.test('shares sign-ins, rotations and revocations between two instances', async (t) => {
  const [one, two] = (await twoInstances()) as [
    Awaited<ReturnType<typeof testApp>>,
    Awaited<ReturnType<typeof testApp>>
  ]
  await signUp(one.app)
  const tokens = await signIn(one.app)
  t.equal(
    (await two.app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode,
    200,
    'keys are shared'
  )
  const rotated = await two.app.inject({
    ...refresh,
    payload: { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  })
  t.equal(rotated.statusCode, 200)
  const again = await one.app.inject({
    ...refresh,
    payload: { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  })
  t.equal(again.json().refresh_token, rotated.json().refresh_token, 'one successor, whoever is asked')
  await one.app.inject({ method: 'POST', url: '/auth/revoke', payload: { token: rotated.json().refresh_token } })
  t.match(
    (
      await two.app.inject({
        ...refresh,
        payload: { grant_type: 'refresh_token', refresh_token: rotated.json().refresh_token }
      })
    ).json(),
    { error: 'invalid_grant' }
  )
  t.equal((await two.app.inject({ url: '/auth/sessions', headers: bearer(tokens.access_token) })).statusCode, 401)
  for (const { close } of [one, two]) await close()
})

t.test('checks 5 of 50 parallel guesses on two instances, and rejects the others with 429', async (t) => {
  const instances = await twoInstances({ rateLimit: {} })
  await signUp((instances[0] as Awaited<ReturnType<typeof testApp>>).app)
  const replies = await Promise.all(
    Array.from(
      { length: 50 },
      async (_, index) =>
        await (instances[index % 2] as Awaited<ReturnType<typeof testApp>>).app.inject({
          ...refresh,
          payload: { grant_type: 'password', username: 'ann', password: `wrong ${index}` }
        })
    )
  )
  t.equal(replies.filter(({ statusCode }) => statusCode === 400).length, 5)
  t.equal(replies.filter(({ statusCode }) => statusCode === 429).length, 45)
  t.ok((await keysOf()).some((key) => key.startsWith('rl:')))
  for (const { close } of instances) await close()
})

t.test('begins the names of the counters in Redis with rateLimit.prefix', async (t) => {
  const { app, close } = await testApp({ redis: server.client(), rateLimit: { prefix: 'other:' } })
  await signUp(app)
  const keys = await keysOf()
  t.ok(keys.some((key) => key.startsWith('other:')))
  t.notOk(keys.some((key) => key.startsWith('rl:')))
  await close()
})

t.test('stores only the counters in Redis when the state is elsewhere', async (t) => {
  const { app, close } = await testApp({ redis: server.client(), state: memoryState(), rateLimit: {} })
  await signUp(app)
  await signIn(app)
  const keys = await keysOf()
  t.ok(keys.length > 0)
  t.ok(
    keys.every((key) => key.startsWith('rl:')),
    keys.join(' ')
  )
  await close()
})

t.test('redis: true uses app.redis of @fastify/redis', async (t) => {
  const { app, close } = await testApp({ redis: true }, {}, async (host) => {
    await host.register(fastifyRedis, { host: '127.0.0.1', port: server.port })
  })
  await signUp(app)
  await signIn(app)
  t.ok((await keysOf()).some((key) => key.startsWith('authority:')))
  await close()
})

t.test('redis: true stops the start without a client or with several, and explains the fix', async (t) => {
  const start = async (before: (app: ReturnType<typeof Fastify>) => unknown): Promise<unknown> => {
    const app = Fastify()
    await before(app)
    try {
      await app.register(authPlugin, { issuer: ISSUER, users: memoryUserStore(), redis: true })
      return undefined
    } catch (error) {
      return error
    } finally {
      await app.close()
    }
  }
  const missing = await start(() => {})
  t.type(missing, StartError)
  t.match(
    (missing as Error).message,
    /^Invalid option "redis": got true; it takes true only after @fastify\/redis is registered/
  )
  const several = await start(async (app) => {
    await app.register(fastifyRedis, { host: '127.0.0.1', port: server.port, namespace: 'sessions' })
  })
  t.match((several as Error).message, /without a namespace; else that client, such as app\.redis\.name/)
})

t.test('starts without Redis, answers 503, and recovers when Redis comes', async (t) => {
  const late = await startRedis()
  const client = new Redis({ host: '127.0.0.1', port: late.port, retryStrategy: () => 50 })
  client.on('error', () => {})
  await late.kill()
  const { app, events, close } = await testApp({ redis: client, rateLimit: {} }, {}, (host) => {
    host.get('/ping', async () => 'pong')
  })
  const refusing = app.inject({
    ...refresh,
    payload: { grant_type: 'refresh_token', refresh_token: `${'A'.repeat(38)}.${'A'.repeat(43)}` }
  })
  t.equal(await settlesWithin(2000, refusing), true)
  const refused = await refusing
  t.equal(refused.statusCode, 503)
  t.match(refused.json(), { error: 'temporarily_unavailable' })
  t.ok(Number(refused.headers['retry-after']) > 0)
  t.equal((await app.inject('/ping')).body, 'pong')
  t.ok(events.some(({ name, payload }) => name === 'store_degraded' && payload['store'] === 'state'))
  await late.restart()
  await new Promise<void>((resolve) => {
    if (client.status === 'ready') resolve()
    else
      client.once('ready', () => {
        resolve()
      })
  })
  await signUp(app)
  await signIn(app)
  await close()
  client.disconnect()
  await late.stop()
})

t.test('counts or rejects guesses as onStoreError says when Redis is lost', async (t) => {
  for (const [onStoreError, expected] of [
    ['local', [400, 400, 400, 400, 400, 429, 429]],
    ['deny', [503, 503, 503, 503, 503, 503, 503]],
    ['allow', [400, 400, 400, 400, 400, 400, 400]]
  ] as const) {
    const lost = await startRedis()
    const { app, close, events } = await testApp({
      redis: lost.client(),
      state: memoryState(),
      rateLimit: { onStoreError }
    })
    await signUp(app)
    await lost.kill()
    const statuses: number[] = []
    for (let attempt = 0; attempt < 7; attempt++)
      statuses.push(
        (
          await app.inject({
            ...refresh,
            payload: { grant_type: 'password', username: 'ann', password: `wrong ${attempt}` }
          })
        ).statusCode
      )
    t.strictSame(statuses, expected, onStoreError)
    t.equal(events.filter(({ name }) => name === 'store_degraded').length, 1, 'said once')
    await close()
    await lost.stop()
  }
})

// covers B5
t.test('warns about a Redis with an eviction policy, and names the data that it stores', async (t) => {
  const lru = await startRedis({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] })
  t.teardown(async () => {
    await lru.stop()
  })
  const warnings = async (options: Parameters<typeof testApp>[0]): Promise<string[]> => {
    const lines: string[] = []
    const { close } = await testApp(
      { rateLimit: {}, ...options },
      {
        logger: {
          level: 'warn',
          stream: {
            write(line: string) {
              lines.push(line)
            }
          }
        }
      }
    )
    await close()
    return lines
      .filter((line) => line.includes('maxmemory-policy allkeys-lru') && line.includes('noeviction'))
      .map((line) => /the Redis with the [a-z ]+?(?= has)/.exec(line)?.[0] ?? line)
      .toSorted()
  }
  t.strictSame(await warnings({ redis: lru.client() }), ['the Redis with the rate limits', 'the Redis with the state'])
  t.strictSame(await warnings({ redis: lru.client(), state: redisState(server.client(), { prefix: 'b5:' }) }), [
    'the Redis with the rate limits'
  ])
  t.strictSame(await warnings({ redis: server.client(), state: redisState(lru.client(), { prefix: 'b5:' }) }), [
    'the Redis with the state'
  ])
  t.strictSame(
    await warnings({ redis: lru.client(), rateLimit: false, state: redisState(server.client(), { prefix: 'b5:' }) }),
    [],
    'nothing is counted there'
  )
})

// covers B12
t.test('stops the start when the Redis user may not write the counters', async (t) => {
  const admin = server.client()
  await admin.acl('SETUSER', 'nocounters', 'on', '>p', '~authority:*', '+@all')
  const starting = testApp({ rateLimit: {}, redis: server.client({ username: 'nocounters', password: 'p' }) })
  await t.rejects(starting, { code: 'FST_AUTHORITY_INVALID_OPTIONS', message: /counting of attempts.*"rl:"/ })
})

t.test('keeps the Redis client of the host open after app.close(), and adds no listeners with each app', async (t) => {
  const client = server.client()
  await client.ping()
  const useAndClose = async (username: string): Promise<Array<[string | symbol, number]>> => {
    const { app, close } = await testApp({ redis: client })
    await signUp(app, username, PASSWORD)
    await close()
    t.equal(await client.ping(), 'PONG')
    return client.eventNames().map((name) => [name, client.listenerCount(name)])
  }
  const listeners = await useAndClose('bob')
  for (const username of ['eve', 'joe']) t.same(await useAndClose(username), listeners, username)
})
