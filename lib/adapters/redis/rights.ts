import { StartError } from '../../errors.ts'
import { RedisRefusal } from './refusal.ts'
import type { RedisConnection } from './connection.ts'
import { texts } from './replies.ts'
import { defineKeyScript } from './script.ts'

/** The commands in the scripts of the record store and of the counters. A test holds them, and the guide, to that. */
export const RECORD_COMMANDS: readonly string[] = ['GETRANGE', 'MGET', 'SET', 'DEL', 'TIME']
export const COUNTER_COMMANDS: readonly string[] = ['SET', 'GET', 'DEL', 'TIME']
export const FACTOR_COMMANDS: readonly string[] = ['GETRANGE', 'MGET', 'SET', 'DEL']

/**
 * KEYS[1]: a key that is used for nothing else. ARGV: commands to try on it. Replies those that the user of the
 * connection may not run.
 */
const TRY = defineKeyScript(`
local key = KEYS[1]
local ARGUMENTS = {
  SET = { key, '1', 'PX', 60000 }, GET = { key }, GETRANGE = { key, 0, 0 }, MGET = { key }, EXISTS = { key },
  DEL = { key }, TIME = {}
}
local refused = {}
for _, command in ipairs(ARGV) do
  local reply = redis.pcall(command, unpack(ARGUMENTS[command]))
  if type(reply) == 'table' and reply.err then
    if string.find(reply.err, 'READONLY', 1, true) then
      return redis.error_reply('READONLY This server takes no writes.')
    end
    -- As 7 and 6.2 say that somebody may not.
    local isForbidden = string.find(reply.err, 'ermission', 1, true) or string.find(reply.err, "can't", 1, true)
    if not isForbidden then return reply end
    table.insert(refused, command)
  end
end
return refused
`)

/**
 * Permanent refusals: a missing right, an unknown command, an invalid script. Loading, a failover and a full memory are
 * temporary.
 */
const REFUSED: readonly string[] = ['NOPERM', 'NOAUTH', 'WRONGPASS', 'ERR']

const unfit = (message: string, cause?: unknown): StartError =>
  new StartError('FST_AUTHORITY_INVALID_OPTIONS', message, cause === undefined ? {} : { cause })

interface Trial {
  /** The name in messages: `redisState` or `the rate limits`. */
  what: string
  /** The key on which the commands are tried. */
  key: string
  prefix: string
  commands: readonly string[]
}

/**
 * Runs `work` and tries each command, all in one trip.
 * @throws StartError that names the missing rights of the connection's user; an outage rejects with another error
 */
export async function requireRights(
  { run }: RedisConnection,
  { what, key, prefix, commands }: Trial,
  work: () => Promise<void>
): Promise<void> {
  const [done, tried] = await Promise.allSettled([work(), run(TRY, [key], commands)])
  if (done.status === 'rejected' && done.reason instanceof StartError) throw done.reason
  if (tried.status === 'fulfilled') {
    const missing = texts(tried.value)
    if (missing.length > 0)
      throw unfit(
        `The user of the Redis connection may not run ${missing.join(', ')} on keys that begin ` +
          `with "${prefix}", and ${what} does. The guide on where the state is kept lists all rights.`
      )
  }
  for (const outcome of [done, tried]) {
    if (outcome.status === 'fulfilled') continue
    const error: unknown = outcome.reason
    if (!(error instanceof RedisRefusal && REFUSED.includes(error.code))) throw error
    throw unfit(
      `The Redis server refuses what ${what} does: the user of this connection needs scripts ` +
        '(EVAL, EVALSHA) and the commands that the guide on where the state is kept lists, on keys ' +
        `that begin with "${prefix}".`,
      error
    )
  }
}
