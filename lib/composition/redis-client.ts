import type { FastifyInstance } from 'fastify'
import type { RedisClient } from '../adapters/redis/connection.ts'
import { isRedisClient } from '../settings/check.ts'
import { invalid } from '../settings/option-error.ts'
import type { Settings } from '../settings/settings.ts'

/**
 * The client of the option `redis`, or `null`.
 * @throws StartError if the option is `true` and `app.redis` is no client
 */
export function redisClientOf(host: FastifyInstance, { redis }: Settings): RedisClient | null {
  if (redis !== true) return redis
  const found: unknown = (host as unknown as { redis?: unknown }).redis
  if (found === undefined)
    throw invalid('redis', true, 'true only after @fastify/redis is registered in the same app; or an ioredis client')
  // With namespaces, `app.redis` is their collection, and only the host knows which client the option means.
  if (!isRedisClient(found))
    throw invalid(
      'redis',
      true,
      'true only where @fastify/redis is registered without a namespace; else that client, such as app.redis.name'
    )
  return found
}
