import type { AttemptLimit, AttemptOutcome, AttemptStanding, AttemptStore } from '../../ports/attempt-store.ts'
import type { Clock } from '../../ports/clock.ts'

/** Number of shared counters of a rule. Further keys use them if the rule is full and all its keys are blocked. */
const COARSE_BUCKETS = 1024
/** The maximum number of blocked keys that an attempt on a new key checks for expiry. Only for a full rule. */
const LOOK_AT_BLOCKED = 8

/** The allowed attempts of one key, oldest first, and the links of its rule's list `open` or `blocked`. */
interface Counter {
  key: string
  times: number[]
  attemptIds: string[]
  windowMs: number
  max: number
  list: List | null
  previous: Counter | null
  next: Counter | null
}

interface List {
  head: Counter | null
  tail: Counter | null
}

/** Linked lists, because removing the oldest entry of a big Map repeatedly walks over all removed entries. */
interface RuleCounters {
  byKey: Map<string, Counter>
  /** Keys that are not blocked, the least recently used first. The head is removed first to make room. */
  open: List
  blocked: List
  coarse: Map<number, Counter>
}

interface MemoryAttemptStore extends AttemptStore {
  reserve(attemptId: string, limits: readonly AttemptLimit[]): AttemptOutcome
  refund(attemptId: string, limits: readonly AttemptLimit[]): void
  /** Frees memory of expired attempts. Not needed for correctness. */
  sweep(): void
}

/**
 * Counts attempts in this process: an exact sliding log per key, on the monotonic clock. Synchronous, so each step is
 * atomic. An attempt leaves the window exactly `windowMs` after it was made.
 *
 * Holds at most `maxKeysPerRule` keys of each rule. Each attempt removes a few expired keys. In a full rule, a new key
 * then replaces the least recently used key that is not blocked. A new key never replaces a blocked key, because
 * otherwise a flood of other keys would unblock it.
 */
export function memoryAttemptStore({
  clock,
  maxKeysPerRule = 100_000
}: {
  clock: Clock
  maxKeysPerRule?: number
}): MemoryAttemptStore {
  const rules = new Map<string, RuleCounters>()

  function countersOf(rule: string): RuleCounters {
    let counters = rules.get(rule)
    if (counters === undefined) {
      counters = {
        byKey: new Map(),
        open: { head: null, tail: null },
        blocked: { head: null, tail: null },
        coarse: new Map()
      }
      rules.set(rule, counters)
    }
    return counters
  }

  /**
   * Returns the counter of the key. `null` if the key has no counter and the rule has room for one. A shared counter if
   * the rule has no room.
   */
  function find(counters: RuleCounters, limit: AttemptLimit, now: number): Counter | null {
    const counter = counters.byKey.get(limit.key)
    if (counter !== undefined) return counter
    if (counters.byKey.size < maxKeysPerRule || counters.open.head !== null || unblockOne(counters, now)) return null
    const bucket = bucketOf(limit.key)
    let shared = counters.coarse.get(bucket)
    if (shared === undefined) {
      shared = newCounter(limit)
      counters.coarse.set(bucket, shared)
    }
    return shared
  }

  function add(
    counters: RuleCounters,
    limit: AttemptLimit,
    found: Counter | null,
    attemptId: string,
    now: number
  ): Counter {
    const counter = found ?? newCounter(limit)
    if (found === null) {
      if (counters.byKey.size >= maxKeysPerRule && counters.open.head !== null) forget(counters, counters.open.head)
      counters.byKey.set(limit.key, counter)
    }
    counter.max = limit.max
    counter.windowMs = limit.windowMs
    counter.times.push(now)
    counter.attemptIds.push(attemptId)
    if (found === null || found.list !== null) place(counters, counter)
    return counter
  }

  return {
    reserve(attemptId, limits) {
      const now = clock.monotonic()
      for (const { rule } of limits) forgetSome(countersOf(rule), now)
      const found: Array<Counter | null> = []
      let refused = false
      for (const limit of limits) {
        const counter = find(countersOf(limit.rule), limit, now)
        found.push(counter)
        if (counter !== null) expire(counter, limit.windowMs, now)
        if (usedOf(counter) >= limit.max) refused = true
      }
      if (refused) return refusal(limits, found, now)
      // Adds to known keys first. This moves them to the end of their list, so that making room for a new key does not
      // remove them.
      for (let index = 0; index < limits.length; index++) {
        const limit = limits[index] as AttemptLimit
        const counter = found[index] ?? null
        if (counter !== null) add(countersOf(limit.rule), limit, counter, attemptId, now)
      }
      const standings: AttemptStanding[] = []
      for (let index = 0; index < limits.length; index++) {
        const limit = limits[index] as AttemptLimit
        standings.push(standing(limit, found[index] ?? add(countersOf(limit.rule), limit, null, attemptId, now), now))
      }
      return { allowed: true, standings }
    },

    refund(attemptId, limits) {
      for (const { rule, key } of limits) {
        const counters = rules.get(rule)
        if (counters === undefined) continue
        const own = counters.byKey.get(key)
        if (own !== undefined && takeOut(own, attemptId)) {
          if (own.times.length === 0) forget(counters, own)
          else place(counters, own)
          continue
        }
        const shared = counters.coarse.get(bucketOf(key))
        if (shared !== undefined) takeOut(shared, attemptId)
      }
    },

    sweep() {
      const now = clock.monotonic()
      for (const [rule, counters] of rules) {
        for (const counter of counters.byKey.values()) {
          if (isExpired(counter, now)) forget(counters, counter)
        }
        for (const [bucket, counter] of counters.coarse) {
          if (isExpired(counter, now)) counters.coarse.delete(bucket)
        }
        if (counters.byKey.size === 0 && counters.coarse.size === 0) rules.delete(rule)
      }
    }
  }
}

function newCounter({ key, windowMs, max }: AttemptLimit): Counter {
  return { key, times: [], attemptIds: [], windowMs, max, list: null, previous: null, next: null }
}

function refusal(limits: readonly AttemptLimit[], found: ReadonlyArray<Counter | null>, now: number): AttemptOutcome {
  const standings = limits.map((limit, index) => standing(limit, found[index] ?? null, now))
  const refusing = standings.filter(({ max }, index) => usedOf(found[index] ?? null) >= max)
  return { allowed: false, refusedBy: refusing.reduce((a, b) => (b.resetMs > a.resetMs ? b : a)), standings }
}

/**
 * Removes up to two expired keys of each list. Each limit of an attempt calls this once and adds at most one key, so
 * memory shrinks without a timer.
 */
function forgetSome(counters: RuleCounters, now: number): void {
  for (let i = 0; i < 2 && counters.open.head !== null && isExpired(counters.open.head, now); i++)
    forget(counters, counters.open.head)
  for (let i = 0; i < 2 && counters.blocked.head !== null && isExpired(counters.blocked.head, now); i++)
    forget(counters, counters.blocked.head)
}

function usedOf(counter: Counter | null): number {
  return counter === null ? 0 : counter.times.length
}

/** Removes the attempts outside the window. Moves the others in place, because `splice` would allocate an array. */
function expire({ times, attemptIds }: Counter, windowMs: number, now: number): void {
  let gone = 0
  while (gone < times.length && now - (times[gone] as number) >= windowMs) gone++
  if (gone === 0) return
  for (let kept = gone; kept < times.length; kept++) {
    times[kept - gone] = times[kept] as number
    attemptIds[kept - gone] = attemptIds[kept] as string
  }
  times.length -= gone
  attemptIds.length -= gone
}

function isExpired(counter: Counter, now: number): boolean {
  const last = counter.times.at(-1)
  return last === undefined || now - last >= counter.windowMs
}

function takeOut(counter: Counter, attemptId: string): boolean {
  const index = counter.attemptIds.lastIndexOf(attemptId)
  if (index === -1) return false
  counter.times.splice(index, 1)
  counter.attemptIds.splice(index, 1)
  return true
}

function standing({ rule, max, windowMs }: AttemptLimit, counter: Counter | null, now: number): AttemptStanding {
  const used = counter?.times.length ?? 0
  // After `max` was lowered, more than one attempt has to expire before the next passes.
  const frees = counter?.times[Math.max(0, used - max)]
  const resetMs = frees === undefined ? (max < 1 ? windowMs : 0) : frees + windowMs - now
  return { rule, max, windowMs, remaining: Math.max(0, max - used), resetMs }
}

/** Moves the counter to the end of `blocked` if it has reached `max`, otherwise to the end of `open`. */
function place(counters: RuleCounters, counter: Counter): void {
  unlink(counter)
  const list = counter.times.length >= counter.max ? counters.blocked : counters.open
  counter.list = list
  counter.previous = list.tail
  if (list.tail === null) list.head = counter
  else list.tail.next = counter
  list.tail = counter
}

function unlink(counter: Counter): void {
  const { list, previous, next } = counter
  if (list === null) return
  if (previous === null) list.head = next
  else previous.next = next
  if (next === null) list.tail = previous
  else next.previous = previous
  counter.list = counter.previous = counter.next = null
}

function forget(counters: RuleCounters, counter: Counter): void {
  unlink(counter)
  counters.byKey.delete(counter.key)
}

/**
 * Drops expired attempts of the first few blocked keys and moves these keys to the end of their list. Stops and returns
 * `true` at the first key that is no longer blocked, which is then in `open`.
 */
function unblockOne(counters: RuleCounters, now: number): boolean {
  for (let i = 0; i < LOOK_AT_BLOCKED && counters.blocked.head !== null; i++) {
    const counter = counters.blocked.head
    expire(counter, counter.windowMs, now)
    place(counters, counter)
    if (counter.list === counters.open) return true
  }
  return false
}

function bucketOf(key: string): number {
  let hash = 0
  for (let i = 0; i < key.length; i++) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) >>> 0
  return hash % COARSE_BUCKETS
}
