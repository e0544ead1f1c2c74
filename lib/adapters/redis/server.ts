import { StartError } from '../../errors.ts'
import type { RedisConnection } from './connection.ts'
import type { Names } from './names.ts'
import { list, textOrNull } from './replies.ts'
import { defineScript, type Script } from './script.ts'

/** The first that has all that the scripts use. */
const OLDEST = '6.2'

/**
 * What the server tells of itself, where it lets us ask. It also renews the life of the signing keys: a write, so that a server
 * which takes none is seen at start.
 */
const LOOK = defineScript(`
redis.call('PEXPIRE', KEYS[1], 34560000000)
local function info (section)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and text
end
return { info('server'), info('memory'), type(rawget(_G, 'cmsgpack')) }
`)

export const SERVER_SCRIPTS: readonly Script[] = [LOOK]

/** No right, no such command, no script: nothing that passes, as loading, a failover or a full memory do. */
const REFUSED = /^Redis refused: (NOPERM|NOAUTH|WRONGPASS|ERR)\b/

const unfit = (message: string, cause?: unknown): StartError =>
  new StartError('FST_AUTHORITY_INVALID_OPTIONS', message, cause === undefined ? {} : { cause })

function isOlder (version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = than.split('.').map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}

const fieldOf = (info: string | null, name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info ?? '')?.[1]

/** @throws StartError where only a person can mend it; an outage rejects with anything else. */
export async function requireFitServer ({ run }: RedisConnection, { keys }: Names): Promise<void> {
  let reply: unknown
  try {
    reply = await run(LOOK, keys, [])
  } catch (error) {
    if (error instanceof Error && REFUSED.test(error.message)) {
      throw unfit('The Redis server refuses what redisState does: the user of this connection needs scripts (EVAL, EVALSHA) and all commands on the keys under its prefix.', error)
    }
    throw error
  }
  const [server, , cmsgpack] = list(reply)
  const version = fieldOf(textOrNull(server ?? null), 'redis_version')
  if (version !== undefined && isOlder(version, OLDEST)) throw unfit(`redisState needs Redis ${OLDEST} or later; the server is ${version}.`)
  if (cmsgpack !== 'table') throw unfit('redisState needs cmsgpack in scripts, as Redis and Valkey have it; this server has none.')
}

/** The `maxmemory-policy` by which the server may throw records away; `null` where it throws none away, or does not tell. */
export async function evictionPolicyOf ({ run }: RedisConnection, { keys }: Names): Promise<string | null> {
  const [, memory] = list(await run(LOOK, keys, []))
  const info = textOrNull(memory ?? null)
  const policy = fieldOf(info, 'maxmemory_policy')
  return policy === undefined || policy === 'noeviction' || fieldOf(info, 'maxmemory') === '0' ? null : policy
}
