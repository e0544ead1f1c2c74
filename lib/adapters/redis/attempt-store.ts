import { hash } from 'node:crypto'
import type { AttemptLimit, AttemptOutcome, AttemptStanding, AttemptStore } from '../../ports/attempt-store.ts'
import { REFUND, RESERVE } from './attempt-scripts.ts'
import type { RedisConnection } from './connection.ts'
import { COUNTER_COMMANDS, requireRights } from './rights.ts'
import { evictionPolicyOf } from './server.ts'

interface RedisAttemptStoreOptions {
  /** What the names of all counters begin with: no braces, which mark the hash slot. Default `rl:`. */
  prefix?: string | undefined
  /**
   * Milliseconds that never go backwards, for tests. Default: the clock of the Redis server, which is one for all
   * instances.
   */
  now?: (() => number) | undefined
}

/** 128 bits of the digest of rule and key: 22 characters, whatever they are made from. */
const nameOf = ({ rule, key }: AttemptLimit): string => hash('sha256', `${rule}\0${key}`, 'base64url').slice(0, 22)

/**
 * 48 bits, enough to tell the few attempts of one counter apart. No caller chooses an id, so nothing here is against
 * collisions by design.
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
  new TypeError('Redis holds a counter that is none, or answered with what is no count.')

function count(text: string | undefined): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw unreadable()
  return number
}

export interface RedisAttemptStore extends AttemptStore {
  /**
   * Looks whether it can count. Rejects with a `StartError` where only a person can mend it; an outage rejects with
   * anything else.
   */
  prepare(): Promise<void>
  /**
   * The `maxmemory-policy` by which the server may throw counters away; `null` where it throws nothing away, or does
   * not tell.
   */
  evictionPolicy(): Promise<string | null>
}

/**
 * Attempts in Redis, counted for all instances together: an exact sliding log per key, on the clock of the Redis
 * server. One script a step. All counters lie in one slot, since one attempt is decided on several of them at once;
 * each goes `windowMs` after its newest attempt. An outage rejects.
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
