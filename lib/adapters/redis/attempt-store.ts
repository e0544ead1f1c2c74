import { createHash } from 'node:crypto'
import type { AttemptLimit, AttemptStanding, AttemptStore } from '../../ports/attempt-store.ts'
import { defineScript } from './connection.ts'
import type { RedisConnection } from './connection.ts'

export interface RedisAttemptStoreOptions {
  /** What the names of all counters begin with: no braces, which mark the hash slot. Default `rl:`. */
  prefix?: string
  /** Milliseconds that never go backwards, for tests. Default: the clock of the Redis server, which is one for all instances. */
  now?: () => number
}

/**
 * A counter is one string: 12 bytes an attempt, oldest first, 6 of its time in milliseconds and 6 of the digest of its id.
 * ARGV: the time (empty: the server's), the id, then name, windowMs and max of each limit. The reply: 1 or 0, then of each limit
 * how many are counted and when one more passes. A time given by a test may go slower than the server's, hence the longer life.
 */
const RESERVE = defineScript(`
local now = tonumber(ARGV[1])
local spare = 60000
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  spare = 0
end
local logs, reply = {}, {1}
for i = 3, #ARGV, 3 do
  local window = tonumber(ARGV[i + 1])
  local log = redis.call('GET', KEYS[1] .. ':' .. ARGV[i]) or ''
  local first = 1
  while first < #log and now - struct.unpack('>I6', log, first) >= window do first = first + 12 end
  log = string.sub(log, first)
  logs[i] = log
  if #log / 12 >= tonumber(ARGV[i + 2]) then reply[1] = 0 end
end
for i = 3, #ARGV, 3 do
  local window, max, log = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), logs[i]
  if reply[1] == 1 then
    -- A clock set back must not put this one before those that are there.
    local at = now
    if #log > 0 then at = math.max(now, (struct.unpack('>I6', log, #log - 11))) end
    log = log .. struct.pack('>I6I6', at, tonumber(ARGV[2]))
    redis.call('SET', KEYS[1] .. ':' .. ARGV[i], log, 'PX', at - now + window + spare)
  end
  local used = #log / 12
  local reset = 0
  if max < 1 then reset = window end
  -- Where max was lowered, more than one has to expire before the next passes.
  local frees = math.max(0, used - max) * 12 + 1
  if frees < #log then reset = struct.unpack('>I6', log, frees) + window - now end
  reply[#reply + 1] = used
  reply[#reply + 1] = reset
end
return reply
`)

/** ARGV: the id, then the name of each limit. */
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

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** 128 bits of the digest of rule and key: 22 characters, whatever they are made from. */
const nameOf = ({ rule, key }: AttemptLimit): string => digest(`${rule}\0${key}`).toString('base64url', 0, 16)

/** 48 bits of the digest: enough to tell the few attempts of one counter apart. */
const idOf = (attemptId: string): number => digest(attemptId).readUIntBE(0, 6)

function numbersOf (reply: unknown, count: number): number[] {
  const numbers = Array.isArray(reply) ? reply.map(Number) : []
  if (numbers.length !== count || !numbers.every(Number.isSafeInteger)) throw new TypeError('Redis holds a counter that is none, or answered with what is no count.')
  return numbers
}

/**
 * Attempts in Redis, counted for all instances together: an exact sliding log per key, on the clock of the Redis server. One
 * script and one round trip a step. All counters lie in one slot, since one attempt is decided on several of them at once; each
 * goes `windowMs` after its newest attempt. An outage rejects.
 */
export function redisAttemptStore ({ run }: RedisConnection, { prefix = 'rl:', now }: RedisAttemptStoreOptions = {}): AttemptStore {
  if (/[{}]/.test(prefix)) throw new TypeError('The prefix of the rate limits must have no braces: they mark the hash slot of a key.')
  const root = `${prefix}{limits}`

  return {
    async reserve (attemptId, limits) {
      if (limits.length === 0) return { allowed: true, standings: [] }
      const args = limits.flatMap((limit) => [nameOf(limit), Math.ceil(limit.windowMs), limit.max])
      const reply = await run(RESERVE, root, [now === undefined ? '' : Math.floor(now()), idOf(attemptId), ...args])
      const [allowed, ...counts] = numbersOf(reply, 1 + 2 * limits.length)
      const judged = limits.map(({ rule, max, windowMs }, index) => {
        const [used = 0, resetMs = 0] = counts.slice(2 * index)
        const standing: AttemptStanding = { rule, max, windowMs, remaining: Math.max(0, max - used), resetMs }
        return { standing, refuses: used >= max }
      })
      const standings = judged.map(({ standing }) => standing)
      if (allowed === 1) return { allowed: true, standings }
      const refusedBy = judged.filter(({ refuses }) => refuses).map(({ standing }) => standing).reduce((a, b) => b.resetMs > a.resetMs ? b : a)
      return { allowed: false, refusedBy, standings }
    },

    async refund (attemptId, limits) {
      if (limits.length > 0) await run(REFUND, root, [idOf(attemptId), ...limits.map(nameOf)])
    }
  }
}
