import { invalidOptions, kindOf, StartError } from '../../errors.ts'
import { type RedisClient, type RedisConnection, redisConnection, type RedisConnectionOptions } from './connection.ts'
import { defineKeyScript, list, RedisRefusal, textOrNull, texts } from './refusal.ts'

/** The first version with every command that the scripts use. */
const OLDEST = '6.2'

/**
 * KEYS[1] selects the node of a Cluster. Replies with sections of `INFO`. A section is false if the user may not see
 * it.
 */
const LOOK = defineKeyScript(`
local function info (section)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and text
end
return { info('server'), info('memory'), info('persistence') }
`)

/** Returns a function that reads a field of `INFO` by its name. In a Cluster it asks the node that has this key. */
async function lookAt({ run }: RedisConnection, key: string): Promise<(name: string) => string | undefined> {
  const info = list(await run(LOOK, [key], []))
    .map((section) => textOrNull(section) ?? '')
    .join('\n')
  return (name) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = than.split('.').map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}

/** The key on which the start tries commands. Nothing else uses it. */
export const trialKey = (prefix: string): string => `${prefix}{trial}`

/**
 * Checks the server at the start. `check` gets a function that reads a field of `INFO`.
 * @throws StartError if an operator must fix the cause; an outage rejects with another error
 */
export async function requireFitServer(
  connection: RedisConnection,
  { what, prefix, commands = STATE_COMMANDS }: { what: string; prefix: string; commands?: readonly string[] },
  check?: (fieldOf: (name: string) => string | undefined) => void
): Promise<void> {
  const key = trialKey(prefix)
  await requireRights(connection, { what, key, prefix, commands }, async () => {
    const fieldOf = await lookAt(connection, key)
    const version = fieldOf('redis_version')
    if (version !== undefined && isOlder(version, OLDEST))
      throw invalidOptions(`${what} needs Redis ${OLDEST} or later; the server is ${version}.`)
    check?.(fieldOf)
  })
}

/**
 * The `maxmemory-policy` by which the server of this key may evict keys. `null` if it evicts nothing or reports no
 * policy.
 */
export async function evictionPolicyOf(connection: RedisConnection, key: string): Promise<string | null> {
  const fieldOf = await lookAt(connection, key)
  const policy = fieldOf('maxmemory_policy')
  return policy === undefined || policy === 'noeviction' || fieldOf('maxmemory') === '0' ? null : policy
}

/**
 * True if the server of this key writes each change to its append-only file. `null` if the server does not tell, for
 * example because `INFO` is forbidden.
 */
export async function isAppendOnly(connection: RedisConnection, key: string): Promise<boolean | null> {
  const enabled = (await lookAt(connection, key))('aof_enabled')
  return enabled === undefined ? null : enabled === '1'
}

/** The commands that the scripts of the stores use. A test compares these lists with the scripts and the guide. */
export const RECORD_COMMANDS: readonly string[] = ['GETRANGE', 'MGET', 'SET', 'DEL']
export const STATE_COMMANDS: readonly string[] = [...RECORD_COMMANDS, 'TIME']
export const COUNTER_COMMANDS: readonly string[] = ['SET', 'GET', 'DEL', 'TIME']

/**
 * KEYS[1]: a key that nothing else uses. ARGV: commands to try on it. Replies with the commands that the user of the
 * connection may not run.
 */
const TRY = defineKeyScript(`
local key = KEYS[1]
local ARGUMENTS = {
  SET = { key, '1', 'PX', 60000 }, GET = { key }, GETRANGE = { key, 0, 0 }, MGET = { key },
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

interface Trial {
  /** The name in messages, such as `redisState` or `the counting of attempts`. */
  what: string
  /** The key on which the commands are tried. */
  key: string
  prefix: string
  commands: readonly string[]
}

/**
 * Runs `work`, and at the same time tries each command.
 * @throws StartError for missing rights of the connection's user, and for another permanent refusal of the server. The
 * `StartError` of `work` passes unchanged. An outage rejects with another error
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
      throw invalidOptions(
        `The user of the Redis connection may not run ${missing.join(', ')} on keys that begin ` +
          `with "${prefix}", and ${what} does. The guide "The state" lists all rights.`
      )
  }
  for (const outcome of [done, tried]) {
    if (outcome.status === 'fulfilled') continue
    const error: unknown = outcome.reason
    if (!(error instanceof RedisRefusal && REFUSED.includes(error.code))) throw error
    throw invalidOptions(
      `The Redis server refuses what ${what} does: the user of this connection needs scripts ` +
        '(EVAL, EVALSHA) and the commands that the guide "The state" lists, on keys ' +
        `that begin with "${prefix}".`,
      error
    )
  }
}

const connections = new WeakMap<RedisClient, RedisConnection>()

/**
 * The connection shared by all stores of this client, so that their calls of one turn of the event loop go in one
 * write. The first call for a client decides the options.
 */
export function sharedConnection(client: RedisClient, options?: RedisConnectionOptions): RedisConnection {
  if (typeof (client as Partial<RedisClient> | null | undefined)?.evalsha !== 'function')
    throw new TypeError(
      'A store on Redis takes an ioredis client. ' +
        `It got ${typeof client === 'string' ? 'a string: connect first, as new Redis(url)' : kindOf(client)}.`
    )
  const known = connections.get(client) ?? redisConnection(client, options)
  connections.set(client, known)
  return known
}
