import { kindOf } from '../../errors.ts'
import { redisConnection } from './connection.ts'
import type { RedisClient, RedisConnection, RedisConnectionOptions } from './connection.ts'

const connections = new WeakMap<RedisClient, RedisConnection>()

/**
 * The connection shared by all stores of this client, so that their calls of one turn of the event loop go in one
 * write. The first call for a client decides the options.
 */
export function sharedConnection(client: RedisClient, options?: RedisConnectionOptions): RedisConnection {
  if (typeof (client as Partial<RedisClient> | null | undefined)?.evalsha !== 'function')
    throw new TypeError(
      'A store on Redis takes an ioredis client. ' +
        `It got ${typeof client === 'string' ? 'a string: connect first, as new Redis(url)' : kindOf(client)}.`
    )
  const known = connections.get(client) ?? redisConnection(client, options)
  connections.set(client, known)
  return known
}
