import {
  ANY,
  NEVER,
  type RecordStore,
  type RecordWrite,
  type StoredRecord,
  VERSION_LENGTH
} from '../../ports/record-store.ts'
import type { RedisClient } from './connection.ts'
import { defineKeyScript, list, SLACK, textOrNull } from './refusal.ts'
import {
  evictionPolicyOf,
  RECORD_COMMANDS,
  isAppendOnly,
  requireFitServer,
  sharedConnection,
  trialKey
} from './server.ts'
import type { State } from '../../ports/state.ts'
import { noOthers } from '../../protocol/bounds.ts'
import { recordState, type RecordStateOptions } from '../../records/state.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import { recordFactorStore } from '../../records/factor-store.ts'
import type { ApiKeyStore } from '../../ports/api-key-store.ts'
import { recordApiKeyStore } from '../../records/api-key-store.ts'
import { invalidOptions } from '../../errors.ts'

interface RedisRecordsOptions {
  /** The start of all keys, after the client's own `keyPrefix`. No braces. */
  prefix: string
}

/** KEYS: the keys of the records. */
const READ = defineKeyScript("return redis.call('MGET', unpack(KEYS))")

/**
 * KEYS: the keys of the records. ARGV, three for each record: the required version (empty: no record, `*`: any), the
 * new value (empty: removed, `-`: unchanged), and the milliseconds to live (0: no end). Replies with 1, or with all
 * current records if one is not as expected.
 */
const COMMIT = defineKeyScript(`
${SLACK}
for at, key in ipairs(KEYS) do
  local expected = ARGV[at * 3 - 2]
  if expected ~= '${ANY}' and redis.call('GETRANGE', key, 0, ${VERSION_LENGTH - 1}) ~= expected then
    return redis.call('MGET', unpack(KEYS))
  end
end
for at, key in ipairs(KEYS) do
  local record, left = ARGV[at * 3 - 1], tonumber(ARGV[at * 3])
  if record == '' then redis.call('DEL', key)
  elseif record ~= '-' then
    if left == 0 then redis.call('SET', key, record) else redis.call('SET', key, record, 'PX', left + SLACK_MS) end
  end
end
return 1
`)

/** The version comes first, so that it can be compared without the value. */
function recordIn(reply: unknown): StoredRecord | null {
  const record = textOrNull(reply ?? null)
  return record === null ? null : { version: record.slice(0, VERSION_LENGTH), value: record.slice(VERSION_LENGTH) }
}

function argumentsOf({ expect, change }: RecordWrite, now: number): Array<string | number> {
  const expected = expect ?? ''
  if (change === 'delete') return [expected, '', 0]
  if (change === 'keep') return [expected, '-', 0]
  const left = change.expiresAt === NEVER ? 0 : Math.max(1, Math.ceil(change.expiresAt - now))
  return [expected, change.version + change.value, left]
}

/**
 * Records in Redis 6.2 or later, or Valkey. Each record is a string. A partition is a hash tag, so that its records lie
 * in one slot. The scripts touch only the keys that they declare. A record without an end has no TTL.
 */
export function redisRecords(
  client: RedisClient,
  { prefix }: RedisRecordsOptions
): RecordStore & Required<Pick<RecordStore, 'time'>> {
  const { run, time } = sharedConnection(client)
  if (/[{}]/.test(prefix))
    throw new TypeError(`The prefix ${JSON.stringify(prefix)} has braces, which mark the hash slot of a key in Redis.`)
  const keyOf = (partition: string, key: string): string => `${prefix}{${partition}}:${key}`
  return {
    kind: 'redis',
    shared: true,
    durable: false,
    evicts: true,
    async read(partition, keys) {
      if (keys.length === 0) return []
      const names = keys.map((key) => keyOf(partition, key))
      return list(await run(READ, names, [])).map(recordIn)
    },
    async commit(partition, writes, now) {
      if (writes.length === 0) return null
      const names = writes.map(({ key }) => keyOf(partition, key))
      const args = writes.flatMap((write) => argumentsOf(write, now))
      const reply = await run(COMMIT, names, args)
      return reply === 1 ? null : list(reply).map(recordIn)
    },
    time: () => time(keyOf('service', 'time')),
    sweep() {
      // Redis removes expired records by itself.
    }
  }
}

export interface RedisStateOptions extends Omit<RecordStateOptions, 'remembered'> {
  /** The beginning of all keys of the state, after the client's own `keyPrefix`. No braces. Default `authority:`. */
  prefix?: string | undefined
}

export interface RedisState extends State {
  prepare(): Promise<void>
  time(): Promise<number>
  claimFor(issuer: string): Promise<string>
  /**
   * The `maxmemory-policy` under which the server may evict records, and so sign users out. `null` if it evicts
   * nothing, or reports no policy. An outage rejects.
   */
  evictionPolicy(): Promise<string | null>
  /**
   * True if the server writes each change to its append-only file. `null` if the user of the connection may not run
   * `INFO`. An outage rejects.
   */
  isAppendOnly(): Promise<boolean | null>
}

/**
 * State in Redis 6.2 or later, or Valkey: any number of instances. `client` is a `Redis` or a `Cluster` of ioredis,
 * which the host closes. Every operation is a script that reads records, or compares and writes them. The scripts of
 * one turn of the event loop share one round trip (in a Cluster one for each slot). The calls reject after 250 ms
 * without an answer. The records of a user lie in one hash slot. A key contains only digests of data of a user or a
 * client.
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
    time: records.time,
    evictionPolicy: () => evictionPolicyOf(connection, `${prefix}{service}:k`),
    isAppendOnly: () => isAppendOnly(connection, `${prefix}{service}:k`)
  }
}

export interface RedisFactorStoreOptions {
  /**
   * The beginning of all keys of the store, after the client's own `keyPrefix`. It may be the prefix of `redisState`,
   * because `factors:` (or `api-keys:`) follows. No braces. Default `authority:`.
   */
  prefix?: string | undefined
}

export interface RedisFactorStore extends Required<FactorStore> {
  /**
   * True if the server writes each change to its append-only file. `null` if the user of the connection may not run
   * `INFO`. Without this file, a crash of the server loses the additions of the last minutes. An outage rejects.
   */
  isAppendOnly(): Promise<boolean | null>
}

/**
 * Second factors in Redis 6.2 or later, or Valkey: any number of instances. `client` is a `Redis` or a `Cluster` of
 * ioredis, which the host closes. The state may use the same client. All records of a user lie in one hash slot. The
 * record of the factors has no TTL. A trip to the server rejects after 250 ms without an answer. The start fails unless
 * the server's `maxmemory-policy` is `noeviction`. Without an append-only file, a crash of the server loses the last
 * changes, and a used code works again.
 */
export function redisFactorStore(
  client: RedisClient,
  { prefix = 'authority:', ...others }: RedisFactorStoreOptions = {}
): RedisFactorStore {
  noOthers('redisFactorStore', others)
  const ours = { prefix: `${prefix}factors:` }
  const connection = sharedConnection(client)
  return {
    // `evicts` is false, because `prepare` refuses a server that evicts.
    ...recordFactorStore({ ...redisRecords(client, ours), durable: true, evicts: false }),
    prepare: () =>
      requireFitServer(
        connection,
        { what: 'redisFactorStore', ...ours, commands: RECORD_COMMANDS },
        noEviction('redisFactorStore', 'second factors', 'and leave users with a password alone')
      ),
    isAppendOnly: () => isAppendOnly(connection, trialKey(ours.prefix))
  }
}

/**
 * API keys in Redis, under `api-keys:` after the prefix. The prefix may be that of `redisState`. Otherwise works like
 * `redisFactorStore`.
 */
export function redisApiKeyStore(
  client: RedisClient,
  { prefix = 'authority:', ...others }: RedisFactorStoreOptions = {}
): Required<ApiKeyStore> {
  noOthers('redisApiKeyStore', others)
  const ours = { prefix: `${prefix}api-keys:` }
  return {
    ...recordApiKeyStore({ ...redisRecords(client, ours), durable: true, evicts: false }),
    prepare: () =>
      requireFitServer(
        sharedConnection(client),
        { what: 'redisApiKeyStore', ...ours, commands: RECORD_COMMANDS },
        noEviction('redisApiKeyStore', 'API keys', 'and end programs that use them')
      )
  }
}

/** Makes a check that throws a `StartError` unless the server reports the `maxmemory-policy` `noeviction`. */
const noEviction =
  (what: string, records: string, harm: string) =>
  (fieldOf: (name: string) => string | undefined): void => {
    const policy = fieldOf('maxmemory_policy')
    if (policy === undefined)
      throw invalidOptions(
        `${what} must know whether the Redis server may throw ${records} away: let the user of this ` +
          'connection run INFO.'
      )
    if (policy !== 'noeviction')
      throw invalidOptions(
        `The Redis server with the ${records} has maxmemory-policy ${policy}, so it may throw them away when its ` +
          `memory is full, ${harm}. Set it to noeviction, or keep the ${records} in a database.`
      )
  }
