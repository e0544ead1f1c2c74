import type { FactorStore } from '../../ports/factor-store.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { RedisClient } from './connection.ts'
import { isAppendOnly, requireFactorServer } from './factor-server.ts'
import { redisRecords } from './record-store.ts'
import { sharedConnection } from './shared-connection.ts'

export interface RedisFactorStoreOptions {
  /**
   * What all its keys begin with, after the client's own `keyPrefix`, as of `redisState`, and it may be the same:
   * `factors:` follows. No braces. Default `authority:`.
   */
  prefix?: string | undefined
}

export interface RedisFactorStore extends Required<FactorStore> {
  /**
   * Whether the server writes each change to its append-only file. Without one, what was added in the last minutes is
   * lost when it crashes. An outage rejects.
   */
  isAppendOnly(): Promise<boolean>
}

/**
 * Second factors in Redis 6.2 or later, or Valkey: any number of instances. `client` is a `Redis` or a `Cluster` of
 * ioredis, and may be that of the state; it stays the host's, who closes it. What a user has lies in one hash slot and
 * has no TTL. A trip to the server rejects within 250 ms where there is no answer. The start fails unless the server's
 * `maxmemory-policy` is `noeviction`; without an append-only file, what was added last is lost when the server crashes,
 * and a code that was used counts again.
 */
export function redisFactorStore(
  client: RedisClient,
  { prefix = 'authority:', ...others }: RedisFactorStoreOptions = {}
): RedisFactorStore {
  noOthers('redisFactorStore', others)
  const ours = { prefix: `${prefix}factors:` }
  const connection = sharedConnection(client)
  return {
    // `prepare` refuses a server that evicts.
    ...recordFactorStore({ ...redisRecords(client, ours), durable: true, evicts: false }),
    prepare: () => requireFactorServer(connection, ours),
    isAppendOnly: () => isAppendOnly(connection, ours)
  }
}
