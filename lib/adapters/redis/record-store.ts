import {
  ANY,
  NEVER,
  type RecordStore,
  type RecordWrite,
  type StoredRecord,
  VERSION_LENGTH
} from '../../ports/record-store.ts'
import type { RedisClient } from './connection.ts'
import { list, textOrNull } from './replies.ts'
import { defineKeyScript, SLACK } from './script.ts'
import { sharedConnection } from './shared-connection.ts'

interface RedisRecordsOptions {
  /** The start of all keys, after the client's own `keyPrefix`. No braces. */
  prefix: string
}

/** KEYS: the records. */
const READ = defineKeyScript("return redis.call('MGET', unpack(KEYS))")

/**
 * KEYS: the records. ARGV, three for each record: the required version (empty: no record, `*`: any), the new value
 * (empty: removed, `-`: unchanged), and the milliseconds to live (0: no end). Replies 1, or all current records if one
 * is not as expected.
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
 * Records in Redis 6.2 or later, or Valkey: a string each. A partition is a hash tag, so that its records lie in one
 * slot. The scripts touch only the keys that they declare. A record without an end has no TTL.
 */
export function redisRecords(client: RedisClient, { prefix }: RedisRecordsOptions): RecordStore {
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
      // Redis removes what has expired by itself.
    }
  }
}
