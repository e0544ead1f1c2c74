import { StartError } from '../../errors.ts'
import type { RedisConnection } from './connection.ts'
import { CREATE, REVOKE } from './family-scripts.ts'
import type { Names } from './names.ts'
import { requireRights, STATE_COMMANDS } from './rights.ts'
import { list, textOrNull } from './replies.ts'
import { defineKeyScript } from './script.ts'

/** The first that has all that the scripts use. */
const OLDEST = '6.2'

/** A section of what the server says about itself; false where it does not let us ask. */
export const INFO = `
local function info (section)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and text
end`

/**
 * What the server says about itself, where it lets us ask. It also renews the life of the signing keys: a write, so
 * that a server which takes none is seen at start.
 */
const LOOK = defineKeyScript(`
redis.call('PEXPIRE', KEYS[1], 34560000000)
${INFO}
return { info('server'), info('memory'), type(rawget(_G, 'cmsgpack')) }
`)

const unfit = (message: string): StartError => new StartError('FST_AUTHORITY_INVALID_OPTIONS', message)

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = than.split('.').map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}

export const fieldOf = (info: string | null, name: string): string | undefined =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info ?? '')?.[1]

/** @throws StartError where only a person can mend it; an outage rejects with anything else. */
export async function requireFitServer(connection: RedisConnection, { keys, trial, prefix }: Names): Promise<void> {
  const { run } = connection
  await requireRights(connection, { what: 'redisState', root: trial, prefix, commands: STATE_COMMANDS }, async () => {
    const family = ['trial', '0', '60000', '60000', '0', '[]', 'null', 'null', 'null', '1', '', 'trial']
    // All in one trip, and of two reasons the one that a person can mend first.
    const [looked, ...done] = await Promise.allSettled([
      run(LOOK, keys, []),
      run(CREATE, trial, ['trial', '1', ...family]),
      run(REVOKE, trial, ['trial', ''])
    ])
    if (looked.status === 'rejected') throw looked.reason
    const [server, , cmsgpack] = list(looked.value)
    requireFit('redisState', server, cmsgpack)
    for (const outcome of done) if (outcome.status === 'rejected') throw outcome.reason
  })
}

/** `server`: its section of that name; `cmsgpack`: what type that is in its scripts. @throws StartError */
export function requireFit(what: string, server: unknown, cmsgpack: unknown): void {
  const version = fieldOf(textOrNull(server ?? null), 'redis_version')
  if (version !== undefined && isOlder(version, OLDEST))
    throw unfit(`${what} needs Redis ${OLDEST} or later; the server is ${version}.`)
  if (cmsgpack !== 'table')
    throw unfit(`${what} needs cmsgpack in scripts, as Redis and Valkey have it; this server has none.`)
}

/**
 * The `maxmemory-policy` by which the server with the key may throw it away; `null` where it throws nothing away, or
 * does not tell.
 */
export async function evictionPolicyOf({ run }: RedisConnection, key: string): Promise<string | null> {
  const [, memory] = list(await run(LOOK, key, []))
  const info = textOrNull(memory ?? null)
  const policy = fieldOf(info, 'maxmemory_policy')
  return policy === undefined || policy === 'noeviction' || fieldOf(info, 'maxmemory') === '0' ? null : policy
}
