import type { FactorStore } from '../../ports/factor-store.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { RedisClient, RedisConnection } from './connection.ts'
import { redisRecords } from './record-store.ts'
import { sharedConnection } from './shared-connection.ts'
import { StartError } from '../../errors.ts'
import { list, textOrNull } from './replies.ts'
import { FACTOR_COMMANDS, requireRights } from './rights.ts'
import { defineKeyScript } from './script.ts'
import { fieldOf, INFO, requireFit } from './server.ts'

export interface RedisFactorStoreOptions {
  /**
   * The beginning of all its keys, after the client's own `keyPrefix`. It may be the same as of `redisState`, because
   * `factors:` follows. No braces. Default `authority:`.
   */
  prefix?: string | undefined
}

export interface RedisFactorStore extends Required<FactorStore> {
  /**
   * True if the server writes each change to its append-only file. Without one, additions of the last minutes are lost
   * when it crashes. An outage rejects.
   */
  isAppendOnly(): Promise<boolean>
}

/**
 * Second factors in Redis 6.2 or later, or Valkey: any number of instances. `client` is a `Redis` or a `Cluster` of
 * ioredis, and may be that of the state; the host closes it. All records of a user lie in one hash slot and have no
 * TTL. A trip to the server rejects after 250 ms without an answer. The start fails unless the server's
 * `maxmemory-policy` is `noeviction`. Without an append-only file, the last additions are lost when the server crashes,
 * and a used code counts again.
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

const WHAT = 'redisFactorStore'

/** A write, so that a server which takes none is seen at start. */
const LOOK = defineKeyScript(`
redis.call('SET', KEYS[1], '1', 'PX', 60000)
${INFO}
return { info('server'), info('memory'), info('persistence') }
`)

interface Place {
  /** The start of all keys. */
  prefix: string
}

/** A key that nothing else has. */
const trialOf = (prefix: string): string => `${prefix}{trial}`

const unfit = (message: string): StartError => new StartError('FST_AUTHORITY_INVALID_OPTIONS', message)

/** @throws StartError where only a person can mend it; an outage rejects with anything else. */
async function requireFactorServer(connection: RedisConnection, { prefix }: Place): Promise<void> {
  const key = trialOf(prefix)
  await requireRights(connection, { what: WHAT, key, prefix, commands: FACTOR_COMMANDS }, async () => {
    const [server, memory] = list(await connection.run(LOOK, [key], []))
    requireFit(WHAT, server)
    const policy = fieldOf(textOrNull(memory ?? null), 'maxmemory_policy')
    if (policy === undefined)
      throw unfit(
        `${WHAT} must know whether the Redis server may throw second factors away: let the user of ` +
          'this connection run INFO.'
      )
    if (policy !== 'noeviction')
      throw unfit(
        `The Redis server with the second factors has maxmemory-policy ${policy}, so it may throw ` +
          'them away when its memory is full, and leave users with a password alone. Set it to ' +
          'noeviction, or keep the factors in a database.'
      )
  })
}

/**
 * True if the server writes each change to its append-only file. Without one, additions of the last minutes are lost
 * when it crashes.
 */
async function isAppendOnly({ run }: RedisConnection, { prefix }: Place): Promise<boolean> {
  const [, , persistence] = list(await run(LOOK, [trialOf(prefix)], []))
  return fieldOf(textOrNull(persistence ?? null), 'aof_enabled') === '1'
}
