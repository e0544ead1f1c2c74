import { hash } from 'node:crypto'
import type { AttemptLimit, AttemptOutcome, AttemptStanding, AttemptStore } from '../../ports/attempt-store.ts'
import type { RedisConnection } from './connection.ts'
import { COUNTER_COMMANDS, evictionPolicyOf, requireRights } from './server.ts'
import { defineScript } from './refusal.ts'

interface RedisAttemptStoreOptions {
  /** The beginning of the keys of all counters. No braces, because they mark the hash slot. Default `rl:`. */
  prefix?: string | undefined
  /**
   * A clock for tests, in milliseconds that never go backwards. Default: the clock of the Redis server, which all
   * instances share.
   */
  now?: (() => number) | undefined
}

/** The first 132 bits of a digest of rule and key, so that every name has 22 characters. */
const nameOf = ({ rule, key }: AttemptLimit): string => hash('sha256', `${rule}\0${key}`, 'base64url').slice(0, 22)

/**
 * A hash of 48 bits, enough to tell the few attempts of one counter apart. The hash need not resist deliberate
 * collisions, because no caller chooses the id of an attempt.
 */
function idOf(attemptId: string): number {
  let high = 0x811c9dc5
  let low = 0
  for (let at = 0; at < attemptId.length; at++) {
    const code = attemptId.charCodeAt(at)
    high = Math.imul(high ^ code, 0x01000193)
    low = (Math.imul(low, 31) + code) | 0
  }
  return (high & 0xffff) * 0x1_0000_0000 + (low >>> 0)
}

function outcomeOf(limits: readonly AttemptLimit[], reply: unknown): AttemptOutcome {
  const numbers = typeof reply === 'string' ? reply.split(' ') : []
  if (numbers.length !== 1 + 2 * limits.length) throw unreadable()
  const standings: AttemptStanding[] = []
  let refusedBy: AttemptStanding | null = null
  for (let index = 0; index < limits.length; index++) {
    const { rule, max, windowMs } = limits[index] as AttemptLimit
    const used = count(numbers[2 * index + 1])
    const standing = { rule, max, windowMs, remaining: Math.max(0, max - used), resetMs: count(numbers[2 * index + 2]) }
    standings.push(standing)
    if (used >= max && (refusedBy === null || standing.resetMs > refusedBy.resetMs)) refusedBy = standing
  }
  if (count(numbers[0]) === 1) return { allowed: true, standings }
  if (refusedBy === null) throw unreadable()
  return { allowed: false, refusedBy, standings }
}

const unreadable = (): TypeError =>
  new TypeError('Redis answered with an invalid count. Another program may have changed a counter.')

function count(text: string | undefined): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw unreadable()
  return number
}

export interface RedisAttemptStore extends AttemptStore {
  /**
   * Checks that counting works. Rejects with a `StartError` if an operator must fix the cause, and with another error
   * on an outage.
   */
  prepare(): Promise<void>
  /** The `maxmemory-policy` by which the server may evict counters. `null`: it evicts nothing or reports no policy. */
  evictionPolicy(): Promise<string | null>
}

/**
 * Counts attempts in Redis, for all instances together: an exact sliding log per key, on the clock of the Redis server.
 * `reserve` and `refund` each run one script. All counters lie in one hash slot, because one script decides on several
 * counters. Redis removes a counter `windowMs` after its newest attempt. On an outage, the methods reject.
 */
export function redisAttemptStore(
  connection: RedisConnection,
  { prefix = 'rl:', now }: RedisAttemptStoreOptions = {}
): RedisAttemptStore {
  if (/[{}]/.test(prefix))
    throw new TypeError('The prefix of the rate limits must have no braces: they mark the hash slot of a key.')
  const root = `${prefix}{limits}`
  const store: RedisAttemptStore = {
    prepare: async () => {
      await requireRights(
        connection,
        { what: 'the counting of attempts', key: `${root}:trial`, prefix, commands: COUNTER_COMMANDS },
        async () => {
          const limits = [{ rule: 'trial', key: '', windowMs: 1000, max: 1000 }]
          await Promise.all([store.reserve('trial', limits), store.refund('trial', limits)])
        }
      )
    },
    evictionPolicy: async () => await evictionPolicyOf(connection, root),
    async reserve(attemptId, limits) {
      if (limits.length === 0) return { allowed: true, standings: [] }
      const args: Array<string | number> = [now === undefined ? '' : now(), idOf(attemptId)]
      for (const limit of limits) args.push(nameOf(limit), Math.ceil(limit.windowMs), limit.max)
      return outcomeOf(limits, await connection.run(RESERVE, root, args))
    },
    async refund(attemptId, limits) {
      if (limits.length > 0) await connection.run(REFUND, root, [idOf(attemptId), ...limits.map(nameOf)])
    }
  }
  return store
}

/**
 * A counter is one string with 12 bytes for each attempt, oldest first: 6 bytes for the time in milliseconds and 6 for
 * the hash of the attempt's id. ARGV: the time (empty: the server's), the hash of the id, then name, windowMs and max
 * of each limit. The reply is one text: 1 (allowed) or 0, then for each limit the number of counted attempts and the
 * milliseconds until another attempt passes. The clock of a test may be slower than the server's, so with a given time
 * the counters live a minute longer.
 *
 * Times are whole milliseconds. The time of an attempt is rounded up and the current time down, so that an attempt
 * stays in the window slightly too long, never too short. A time in the future comes from a clock that was ahead. The
 * script replaces it by the current time, so that it blocks for at most one more window.
 */
const RESERVE = defineScript(`
local now = tonumber(ARGV[1])
local spare = 60000
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + time[2] / 1000
  spare = 0
end
local later = math.ceil(now)
now = math.floor(now)
local logs, reply = {}, {1}
for i = 3, #ARGV, 3 do
  local window = tonumber(ARGV[i + 1])
  local log = redis.call('GET', KEYS[1] .. ':' .. ARGV[i]) or ''
  local first = 1
  while first < #log and now - struct.unpack('>I6', log, first) >= window do first = first + 12 end
  log = string.sub(log, first)
  if #log > 0 and struct.unpack('>I6', log, #log - 11) > later then
    local mended = {}
    for at = 1, #log, 12 do
      local time = math.min(later, (struct.unpack('>I6', log, at)))
      mended[#mended + 1] = struct.pack('>I6', time) .. string.sub(log, at + 6, at + 11)
    end
    log = table.concat(mended)
    redis.call('SET', KEYS[1] .. ':' .. ARGV[i], log, 'PX', later - now + window + spare)
  end
  logs[i] = log
  if #log / 12 >= tonumber(ARGV[i + 2]) then reply[1] = 0 end
end
for i = 3, #ARGV, 3 do
  local window, max, log = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), logs[i]
  if reply[1] == 1 then
    log = log .. struct.pack('>I6I6', later, tonumber(ARGV[2]))
    redis.call('SET', KEYS[1] .. ':' .. ARGV[i], log, 'PX', later - now + window + spare)
  end
  local used = #log / 12
  local reset = 0
  if max < 1 then reset = window end
  -- Where max was lowered, more than one has to expire before the next passes.
  local frees = math.max(0, used - max) * 12 + 1
  if frees < #log then reset = struct.unpack('>I6', log, frees) + window - now end
  reply[#reply + 1] = string.format('%.14g %.14g', used, reset)
end
return table.concat(reply, ' ')
`)

/** ARGV: the hash of the attempt's id, then the name of each limit. */
const REFUND = defineScript(`
local id = struct.pack('>I6', tonumber(ARGV[1]))
for i = 2, #ARGV do
  local key = KEYS[1] .. ':' .. ARGV[i]
  local log = redis.call('GET', key) or ''
  for at = #log - 11, 1, -12 do
    if string.sub(log, at + 6, at + 11) == id then
      if #log == 12 then
        redis.call('DEL', key)
      else
        redis.call('SET', key, string.sub(log, 1, at - 1) .. string.sub(log, at + 12), 'KEEPTTL')
      end
      break
    end
  end
end
return 1
`)
