import { redisConnection } from './connection.ts'
import type { RedisClient, RedisConnection } from './connection.ts'

const connections = new WeakMap<RedisClient, RedisConnection>()

/** The connection of all stores on this client: what they ask for in one turn of the event loop goes together. */
export function sharedConnection (client: RedisClient): RedisConnection {
  const known = connections.get(client) ?? redisConnection(client)
  connections.set(client, known)
  return known
}
