import { ATTEMPT_SCRIPTS } from './attempt-scripts.ts'
import { CONNECTION_SCRIPTS, redisConnection } from './connection.ts'
import type { RedisClient, RedisConnection } from './connection.ts'
import { CONSENT_SCRIPTS } from './consent-store.ts'
import { FAMILY_SCRIPTS } from './family-scripts.ts'
import { KEY_SCRIPTS } from './key-store.ts'
import { ONE_TIME_TOKEN_SCRIPTS } from './one-time-token-store.ts'
import { programmeOf } from './script.ts'
import { SERVER_SCRIPTS } from './server.ts'
import { SESSION_SCRIPTS } from './session-scripts.ts'

/** Every script there is, in an order that is the same in all processes: the server keeps one programme for all of them. */
const PROGRAMME = programmeOf([
  ...CONNECTION_SCRIPTS, ...SERVER_SCRIPTS, ...FAMILY_SCRIPTS, ...ATTEMPT_SCRIPTS, ...SESSION_SCRIPTS, ...CONSENT_SCRIPTS, ...ONE_TIME_TOKEN_SCRIPTS, ...KEY_SCRIPTS
])

const connections = new WeakMap<RedisClient, RedisConnection>()

/** The connection of all stores on this client: what they ask for in one turn of the event loop goes together. */
export function sharedConnection (client: RedisClient): RedisConnection {
  const known = connections.get(client) ?? redisConnection(client, { programme: PROGRAMME })
  connections.set(client, known)
  return known
}
