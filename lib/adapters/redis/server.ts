import { StartError } from '../../errors.ts'
import type { RedisConnection } from './connection.ts'
import { RECORD_COMMANDS, requireRights } from './rights.ts'
import { list, textOrNull } from './replies.ts'
import { defineKeyScript } from './script.ts'

/** The first version with every command that the scripts use. */
const OLDEST = '6.2'

/** A section of the server's `INFO`. False if the user may not run it. */
export const INFO = `
local function info (section)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and text
end`

/** KEYS[1] selects the node of a Cluster. */
const LOOK = defineKeyScript(`${INFO}
return { info('server'), info('memory') }
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
export async function requireFitServer(
  connection: RedisConnection,
  { what, prefix }: { what: string; prefix: string }
): Promise<void> {
  const key = `${prefix}{trial}`
  await requireRights(connection, { what, key, prefix, commands: RECORD_COMMANDS }, async () => {
    const [server] = list(await connection.run(LOOK, [key], []))
    requireFit(what, server)
  })
}

/**
 * `server`: the section `server` of `INFO`.
 * @throws StartError
 */
export function requireFit(what: string, server: unknown): void {
  const version = fieldOf(textOrNull(server ?? null), 'redis_version')
  if (version !== undefined && isOlder(version, OLDEST))
    throw unfit(`${what} needs Redis ${OLDEST} or later; the server is ${version}.`)
}

/**
 * The `maxmemory-policy` by which the server of this key may evict it. `null` if it evicts nothing or does not tell.
 */
export async function evictionPolicyOf({ run }: RedisConnection, key: string): Promise<string | null> {
  const [, memory] = list(await run(LOOK, key, []))
  const info = textOrNull(memory ?? null)
  const policy = fieldOf(info, 'maxmemory_policy')
  return policy === undefined || policy === 'noeviction' || fieldOf(info, 'maxmemory') === '0' ? null : policy
}
