import { memoryState } from '../adapters/memory/record-store.ts'
import { type RedisState, redisState } from '../adapters/redis/record-store.ts'
import { isMemoryUserStore } from '../composition/seeded-users.ts'
import type { AuthorityOptions } from '../index.ts'
import type { AuditEntry, AuditLog } from '../ports/audit-log.ts'
import type { State } from '../ports/state.ts'
import { CliError } from './command.ts'

/** A store of the host's options. */
export interface Place {
  /** The option of the plugin that sets this store. */
  option: 'state' | 'redis' | 'users' | 'factors' | 'apiKeys' | 'audit'
  /** The beginning of a sentence about the contents: `The users are`. */
  what: string
  isMemory: boolean
  /** Lists the migrations that the store still needs. Changes nothing. */
  pending(): Promise<string[]>
  prepare(): Promise<void>
  /** Reads from the store to check that it answers. The read migrates tables that are not up to date. */
  look(): Promise<unknown>
}

/** A username and id that no user has. */
const NOBODY = 'nobody@doctor.invalid'

export const stateOf = ({ state, redis }: AuthorityOptions): State & Partial<Pick<RedisState, 'isAppendOnly'>> =>
  state ?? (typeof redis === 'object' ? redisState(redis) : memoryState())

export const auditLogOf = ({ audit }: AuthorityOptions) =>
  audit === undefined ? null : 'log' in audit ? audit.log : audit

export const apiKeyStoreOf = ({ apiKeys }: AuthorityOptions) =>
  apiKeys === undefined ? null : 'store' in apiKeys ? apiKeys.store : apiKeys

/**
 * Returns the option `audit` for a command. Delays the entry `started` until the next entry is written, so that a
 * command that only reads leaves no entry.
 */
export function auditOnlyOfActs(options: AuthorityOptions): AuthorityOptions['audit'] {
  const { audit } = options
  const log = auditLogOf(options)
  if (audit === undefined || log === null) return undefined
  let start: AuditEntry | null = null
  const lazy = overlaid(log, {
    async append(entry: AuditEntry) {
      if (entry.seq === 1 && entry.action === 'started') {
        start = entry
        return
      }
      if (start !== null) await log.append(start)
      start = null
      await log.append(entry)
    },
    head: async (chain: string) => (start?.chain === chain ? start : await log.head(chain))
  })
  return withLog(audit, lazy)
}

/** Returns the option `audit` with its log replaced. */
export const withLog = (audit: NonNullable<AuthorityOptions['audit']>, log: AuditLog): AuthorityOptions['audit'] => ({
  ...('log' in audit ? audit : {}),
  log
})

const parentOf = (value: object): object | null => Object.getPrototypeOf(value) as object | null

/**
 * Returns a copy of the store with some methods replaced. Binds the other methods to the original store, because a
 * host's class may have private fields.
 */
export function overlaid<Store extends object>(store: Store, methods: object): Store {
  const own: Record<PropertyKey, unknown> = {}
  for (let from: object | null = store; from !== null && from !== Object.prototype; from = parentOf(from))
    for (const name of Reflect.ownKeys(from)) {
      const value: unknown = store[name as keyof Store]
      own[name] ??= typeof value === 'function' ? (value as (...given: unknown[]) => unknown).bind(store) : value
    }
  return { ...own, ...methods } as Store
}

/** Lists the stores of the options. */
export function placesOf(options: AuthorityOptions): Place[] {
  const { users, factors, redis, rateLimit } = options
  const [state, log, apiKeys] = [stateOf(options), auditLogOf(options), apiKeyStoreOf(options)]
  const isMemory = isMemoryUserStore(users)
  return [
    {
      ...placed('state', 'The state is', state, async () => await state.keys.list()),
      isMemory: !state.shared && redis !== true
    },
    ...(options.state === undefined || typeof redis !== 'object' || rateLimit === false
      ? []
      : [placed('redis', 'The rate limits are', {}, async () => await redisState(redis).time())]),
    { ...placed('users', 'The users are', users, async () => await users.findByUsername(NOBODY)), isMemory },
    ...(factors === undefined
      ? []
      : [placed('factors', 'The second factors are', factors, async () => await factors.findFactors(NOBODY))]),
    ...(apiKeys === null
      ? []
      : [placed('apiKeys', 'The API keys are', apiKeys, async () => await apiKeys.list(NOBODY))]),
    ...(log === null ? [] : [placed('audit', 'The audit log is', log, async () => await log.list({ limit: 1 }))])
  ]
}

/** Refuses options whose data only the app's process has: `redis: true`, or a store in memory. @throws CliError */
export function refuseMemory(options: AuthorityOptions): void {
  if (options.redis === true)
    throw new CliError(
      1,
      'redis is true, and only the app has that client. Set redis to the client, so new Redis(url).'
    )
  const memory = placesOf(options).find(({ isMemory }) => isMemory)
  if (memory !== undefined)
    throw new CliError(1, `${memory.what} in memory, so another process has them. Set ${memory.option} to a store.`)
}

/** Members that our own stores have and a host's store may have. */
interface Preparable {
  kind?: unknown
  pending?(): Promise<string[]>
  prepare?(): Promise<void>
}

const placed = (option: Place['option'], what: string, store: object, look: Place['look']): Place => ({
  option,
  what,
  isMemory: (store as Preparable).kind === 'memory',
  pending: async () => (await (store as Preparable).pending?.()) ?? [],
  prepare: async () => {
    await (store as Preparable).prepare?.()
  },
  look
})
