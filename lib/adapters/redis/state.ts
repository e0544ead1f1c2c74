import type { State } from '../../ports/state.ts'
import { checkPerUser, noOthers } from '../../protocol/bounds.ts'
import { redisAssertionStore } from './assertion-store.ts'
import type { RedisClient } from './connection.ts'
import { redisConsentStore } from './consent-store.ts'
import { redisKeyStore } from './key-store.ts'
import { namesUnder } from './names.ts'
import { redisOneTimeTokenStore } from './one-time-token-store.ts'
import { claimFor } from './owner.ts'
import { evictionPolicyOf, requireFitServer } from './server.ts'
import { redisSessionStore } from './session-store.ts'
import { sharedConnection } from './shared-connection.ts'
import { redisTokenStore } from './token-store.ts'

export interface RedisStateOptions {
  /** What all its keys begin with, after the client's own `keyPrefix`. No braces. Default `authority:`. */
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
   * The `maxmemory-policy` by which the server may throw away what is kept here, and with it sign somebody out; `null`
   * where it throws nothing away, or does not tell. An outage rejects.
   */
  evictionPolicy(): Promise<string | null>
}

/**
 * State in Redis 6.2 or later, or Valkey: any number of instances. `client` is a `Redis` or a `Cluster` of ioredis; it
 * stays the host's, who closes it. Every operation is one script, those of one turn of the event loop one round trip,
 * and rejects within 250 ms where there is no answer. All that a user has lies in one hash slot, every key has a TTL,
 * and no key holds anything of a user or a client but digests.
 */
export function redisState(
  client: RedisClient,
  { prefix = 'authority:', maxFamiliesPerUser = 100, maxSessionsPerUser = 100, ...others }: RedisStateOptions = {}
): RedisState {
  noOthers('redisState', others)
  checkPerUser({ maxFamiliesPerUser, maxSessionsPerUser })
  const names = namesUnder(prefix)
  const connection = sharedConnection(client)
  return {
    kind: 'redis',
    shared: true,
    tokens: redisTokenStore(connection, names, maxFamiliesPerUser),
    oneTimeTokens: redisOneTimeTokenStore(connection, names),
    browserSessions: redisSessionStore(connection, names, maxSessionsPerUser),
    consents: redisConsentStore(connection, names),
    keys: redisKeyStore(connection, names),
    assertions: redisAssertionStore(connection, names),
    prepare: () => requireFitServer(connection, names),
    claimFor: (issuer) => claimFor(issuer, connection, names),
    time: () => connection.time(names.keys),
    evictionPolicy: () => evictionPolicyOf(connection, names.keys),
    sweep() {
      // Redis removes what has expired by itself.
    }
  }
}
