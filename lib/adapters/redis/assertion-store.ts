import type { AssertionStore } from '../../ports/assertion-store.ts'
import type { RedisConnection } from './connection.ts'
import type { Names } from './names.ts'
import { isOne } from './replies.ts'
import { defineKeyScript, SLACK } from './script.ts'

/**
 * ARGV: expiresAt. By the server's clock a claim is only freed, ten minutes after its end: an instance's clock may be
 * behind.
 */
const CLAIM = defineKeyScript(`
${SLACK}
local time = redis.call('TIME')
local ttl = math.max(0, math.ceil(tonumber(ARGV[1]) - time[1] * 1000 - time[2] / 1000)) + SLACK_MS
return redis.call('SET', KEYS[1], '1', 'PX', ttl, 'NX') and 1 or 0
`)

/** Claimed assertions in Redis: a key each, spread over all slots, and one script a method. */
export function redisAssertionStore({ run }: RedisConnection, names: Names): AssertionStore {
  return {
    claim: async (digest, expiresAt) =>
      isOne(await run(CLAIM, `${names.rootOf(digest)}:x:${digest}`, [expiresAt])) ? 'fresh' : 'replayed'
  }
}
