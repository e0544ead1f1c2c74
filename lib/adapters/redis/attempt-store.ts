import { hash } from 'node:crypto'
import type { AttemptLimit, AttemptOutcome, AttemptStanding, AttemptStore } from '../../ports/attempt-store.ts'
import { REFUND, RESERVE } from './attempt-scripts.ts'
import type { RedisConnection } from './connection.ts'

export interface RedisAttemptStoreOptions {
  /** What the names of all counters begin with: no braces, which mark the hash slot. Default `rl:`. */
  prefix?: string
  /** Milliseconds that never go backwards, for tests. Default: the clock of the Redis server, which is one for all instances. */
  now?: () => number
}



/** 128 bits of the digest of rule and key: 22 characters, whatever they are made from. */
const nameOf = ({ rule, key }: AttemptLimit): string => hash('sha256', `${rule}\0${key}`, 'base64url').slice(0, 22)

/** 48 bits, enough to tell the few attempts of one counter apart. No caller chooses an id, so nothing here is against collisions by design. */
function idOf (attemptId: string): number {
  let high = 0x811c9dc5
  let low = 0
  for (let at = 0; at < attemptId.length; at++) {
    const code = attemptId.charCodeAt(at)
    high = Math.imul(high ^ code, 0x01000193)
    low = Math.imul(low, 31) + code | 0
  }
  return (high & 0xffff) * 0x1_0000_0000 + (low >>> 0)
}

function outcomeOf (limits: readonly AttemptLimit[], reply: unknown): AttemptOutcome {
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

const unreadable = (): TypeError => new TypeError('Redis holds a counter that is none, or answered with what is no count.')

function count (text: string | undefined): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw unreadable()
  return number
}

/** Where the counters of a store are, and what its scripts take and answer: for scripts that count an attempt beside their own work. */
export interface RedisCounters {
  connection: RedisConnection
  root: string
  reservation(attemptId: string, limits: readonly AttemptLimit[]): Array<string | number>
  refund(attemptId: string, limits: readonly AttemptLimit[]): Array<string | number>
  outcomeOf(limits: readonly AttemptLimit[], reply: unknown): AttemptOutcome
}

const countersOfStores = new WeakMap<AttemptStore, RedisCounters>()

/** `undefined`: the store is none of `redisAttemptStore`. */
export const countersOf = (store: AttemptStore): RedisCounters | undefined => countersOfStores.get(store)

/**
 * Attempts in Redis, counted for all instances together: an exact sliding log per key, on the clock of the Redis server. One
 * script a step. All counters lie in one slot, since one attempt is decided on several of them at once; each goes `windowMs` after
 * its newest attempt. An outage rejects.
 */
export function redisAttemptStore (connection: RedisConnection, { prefix = 'rl:', now }: RedisAttemptStoreOptions = {}): AttemptStore {
  if (/[{}]/.test(prefix)) throw new TypeError('The prefix of the rate limits must have no braces: they mark the hash slot of a key.')
  const counters: RedisCounters = {
    connection,
    root: `${prefix}{limits}`,
    reservation (attemptId, limits) {
      const args: Array<string | number> = [now === undefined ? '' : Math.floor(now()), idOf(attemptId)]
      for (const limit of limits) args.push(nameOf(limit), Math.ceil(limit.windowMs), limit.max)
      return args
    },
    refund: (attemptId, limits) => [idOf(attemptId), ...limits.map(nameOf)],
    outcomeOf
  }
  const store: AttemptStore = {
    punctual: true,
    async reserve (attemptId, limits) {
      if (limits.length === 0) return { allowed: true, standings: [] }
      return outcomeOf(limits, await connection.run(RESERVE, counters.root, counters.reservation(attemptId, limits)))
    },
    async refund (attemptId, limits) {
      if (limits.length > 0) await connection.run(REFUND, counters.root, counters.refund(attemptId, limits))
    }
  }
  countersOfStores.set(store, counters)
  return store
}
