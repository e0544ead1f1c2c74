import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState } from '../../records/state.ts'
import type { RedisClient } from './connection.ts'
import { redisRecords } from './record-store.ts'
import { evictionPolicyOf, requireFitServer } from './server.ts'
import { sharedConnection } from './shared-connection.ts'

export interface RedisStateOptions {
  /** The beginning of all its keys, after the client's own `keyPrefix`. No braces. Default `authority:`. */
  prefix?: string | undefined
  /**
   * How many devices one user may be signed in on; one more signs out the one that signed in first. Default 100; from 1
   * to 1,000.
   */
  maxFamiliesPerUser?: number | undefined
  /**
   * How many browsers one user may be signed in with on the hosted pages; one more ends the first. Default 100; from 1
   * to 1,000.
   */
  maxSessionsPerUser?: number | undefined
}

export interface RedisState extends State {
  prepare(): Promise<void>
  time(): Promise<number>
  claimFor(issuer: string): Promise<string>
  /**
   * The `maxmemory-policy` under which the server may evict records, and so sign users out. `null` if it evicts
   * nothing, or does not tell. An outage rejects.
   */
  evictionPolicy(): Promise<string | null>
}

/**
 * State in Redis 6.2 or later, or Valkey: any number of instances. `client` is a `Redis` or a `Cluster` of ioredis; it
 * stays the host's, who closes it. Every trip is one script that reads records, or compares and writes them. The
 * scripts of one turn of the event loop are one round trip, which rejects within 250 ms where there is no answer. The
 * records of a user lie in one hash slot. No key holds anything of a user or a client but digests.
 */
export function redisState(
  client: RedisClient,
  { prefix = 'authority:', maxFamiliesPerUser, maxSessionsPerUser, ...others }: RedisStateOptions = {}
): RedisState {
  noOthers('redisState', others)
  const records = redisRecords(client, { prefix })
  const connection = sharedConnection(client)
  return {
    ...recordState(records, { maxFamiliesPerUser, maxSessionsPerUser }),
    prepare: () => requireFitServer(connection, { what: 'redisState', prefix }),
    time: () => connection.time(`${prefix}{service}:time`),
    evictionPolicy: () => evictionPolicyOf(connection, `${prefix}{service}:k`)
  }
}
