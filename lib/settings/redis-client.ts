import type { FastifyInstance } from 'fastify'
import type { RedisClient } from '../adapters/redis/connection.ts'
import { invalid } from './option-error.ts'
import type { Settings } from './settings.ts'

/**
 * The client of the option `redis`, or `null`.
 * @throws StartError if the app has none by that name
 */
export function redisClientOf(host: FastifyInstance, { redis }: Settings): RedisClient | null {
  if (redis !== true) return redis
  const found: unknown = (host as unknown as { redis?: unknown }).redis
  if (found === undefined)
    throw invalid('redis', true, 'true only after @fastify/redis is registered in the same app; or an ioredis client')
  // With namespaces, `app.redis` is their collection, and only the host knows which one is meant.
  if (!isRedisClient(found))
    throw invalid(
      'redis',
      true,
      'true only where @fastify/redis is registered without a namespace; else that client, such as app.redis.name'
    )
  return found
}

/** True if it has the methods of an ioredis `Redis` or `Cluster` that the library uses. */
export function isRedisClient(value: unknown): value is RedisClient {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['evalsha', 'eval', 'pipeline', 'connect', 'on', 'off'].every(
      (name) => typeof (value as Record<string, unknown>)[name] === 'function'
    ) &&
    typeof (value as { status?: unknown }).status === 'string'
  )
}
