import rateLimit from '@fastify/rate-limit'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible'
import { memoryAttemptStore } from '../lib/adapters/memory/attempt-store.ts'
import { systemClock, systemRandom } from '../lib/adapters/node/system.ts'
import { createAttemptLimiter } from '../lib/adapters/rate-limit/limiter.ts'
import { redisAttemptStore } from '../lib/adapters/redis/attempt-store.ts'
import { sharedConnection } from '../lib/adapters/redis/server.ts'
import { accountKey, addressKey, customKey } from '../lib/limits/attempt.ts'
import { surviveOutages } from '../lib/boundary/attempt-outages.ts'
import type { AttemptStore } from '../lib/ports/attempt-store.ts'
import { redisClient } from './rounds.ts'
import { type HttpBenchmark, listen, type LoadedRequest, type Subject } from './subject.ts'

/**
 * So many people, each from an address of their own: no limit refuses, and every counter holds a handful of attempts.
 */
const PEOPLE = 5000
const WINDOW_MS = 1000
const MAX = 200

const requests: LoadedRequest[] = Array.from({ length: PEOPLE }, (_none, index) => ({
  method: 'GET',
  path: '/',
  headers: { 'x-forwarded-for': `192.0.${index >> 8}.${index & 255}`, 'x-user': `user-${index}` },
  body: ''
}))
const userOf = (request: FastifyRequest): string => String(request.headers['x-user'])
/** The three that are counted under, as a host has them at hand. */
const KEYS: ReadonlyArray<(request: FastifyRequest) => string> = [
  (request) => request.ip,
  userOf,
  (request) => `${request.ip} ${userOf(request)}`
]

type Count = (request: FastifyRequest) => Promise<unknown>

/** The handler waits for the count, as ours do. */
async function subject(countOn: (app: FastifyInstance) => Promise<Count | null>): Promise<Subject> {
  const app = Fastify({ trustProxy: true }) as unknown as FastifyInstance
  const count = await countOn(app)
  if (count === null) app.get('/', async () => ({ hello: 'world' }))
  else {
    app.get('/', async (request) => {
      await count(request)
      return { hello: 'world' }
    })
  }
  return { port: await listen(app), requests, status: 200 }
}

/** As the plugin does it: the store behind what survives its outages, and @fastify/rate-limit in front. */
async function ours(store: AttemptStore): Promise<Subject> {
  const random = systemRandom()
  const surviving = surviveOutages({
    store,
    localStore: memoryAttemptStore({ clock: systemClock }),
    onStoreError: 'deny',
    clock: systemClock,
    onDegraded(error) {
      throw error
    },
    onRecovered() {}
  })
  const limiter = createAttemptLimiter(surviving)
  return await subject(async () => async (request) => {
    const { ip } = request
    const user = userOf(request)
    const { allowed } = await limiter.reserve(random.id(), [
      { rule: 'address', key: addressKey(ip), windowMs: WINDOW_MS, max: MAX },
      { rule: 'account', key: accountKey(user), windowMs: WINDOW_MS, max: MAX },
      { rule: 'pair', key: customKey(`${ip} ${user}`), windowMs: WINDOW_MS, max: MAX }
    ])
    if (!allowed) throw new Error('refused')
  })
}

/** The address of the request and the digests of the three keys, and no count: what is left of the cost is the count. */
async function keysAlone(): Promise<Subject> {
  return await subject(async () => async (request) => {
    const user = userOf(request)
    return [addressKey(request.ip), accountKey(user), customKey(`${request.ip} ${user}`)]
  })
}

/** A request that asks Redis for the time alone, in the same way: most of it is the client of Redis. */
async function clockOfRedis(): Promise<Subject> {
  const connection = sharedConnection(redisClient())
  return await subject(async () => async () => await connection.time('{limits}'))
}

/** Its own store; it counts one key a call. */
async function fastifyRateLimit(redis?: Redis): Promise<Subject> {
  return await subject(async (app) => {
    await app.register(rateLimit, { global: false, ...(redis === undefined ? { cache: 3 * PEOPLE } : { redis }) })
    const checks = KEYS.map((keyGenerator, index) =>
      app.createRateLimit({
        max: MAX,
        timeWindow: WINDOW_MS,
        keyGenerator: (request) => `${index} ${keyGenerator(request)}`
      })
    )
    return async (request) => {
      for (const result of await Promise.all(checks.map(async (check) => await check(request)))) {
        if (!result.isAllowed && result.isExceeded) throw new Error('refused')
      }
    }
  })
}

async function flexible(redis?: Redis): Promise<Subject> {
  const limiters = KEYS.map((_key, index) => {
    const options = { keyPrefix: `flexible-${index}`, points: MAX, duration: WINDOW_MS / 1000 }
    return redis === undefined
      ? new RateLimiterMemory(options)
      : new RateLimiterRedis({ ...options, storeClient: redis, useRedisPackage: false })
  })
  return await subject(
    async () => async (request) =>
      await Promise.all(
        limiters.map(async (limiter, index) => await limiter.consume((KEYS[index] as typeof userOf)(request)))
      )
  )
}

/** An attempt that counts towards three limits at once: the address, the account and the pair of both. */
export const limits: HttpBenchmark = {
  title: 'three limits at once',
  shotMs: 1000,
  concurrency: 50,
  databases: ['redis'],
  subjects: {
    'bare route': { start: async () => await subject(async () => null) },
    'three keys, no limit': { start: keysAlone },
    'the clock of Redis': { start: clockOfRedis },
    'three limits, memory': { start: async () => await ours(memoryAttemptStore({ clock: systemClock })), goal: 1.4 },
    'three limits, Redis': {
      start: async () => await ours(redisAttemptStore(sharedConnection(redisClient()))),
      goal: 2
    },
    'rate-limiter-flexible, memory': { start: async () => await flexible() },
    'rate-limiter-flexible, Redis': { start: async () => await flexible(redisClient()) },
    '@fastify/rate-limit, memory': { start: async () => await fastifyRateLimit() },
    '@fastify/rate-limit, Redis': { start: async () => await fastifyRateLimit(redisClient()) }
  }
}
