import rateLimit from '@fastify/rate-limit'
import Fastify from 'fastify'
import type { FastifyRequest } from 'fastify'
import type { AttemptLimit, AttemptOutcome, AttemptStore } from '../../ports/attempt-store.ts'

export interface AttemptLimiter {
  /**
   * Reserves the attempt under all `limits` (at least one) in one step of the store. Rejects with what the store throws.
   */
  reserve(request: FastifyRequest, attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
  close(): Promise<void>
}

/** A check on its way through @fastify/rate-limit. */
interface PendingCheck {
  attemptId: string
  limits: readonly AttemptLimit[]
  outcome?: AttemptOutcome
}

/**
 * @fastify/rate-limit over an `AttemptStore`, in a private Fastify instance: registered in the host's tree, it and the host's
 * own would share decorators and each get the other's store.
 *
 * The plugin counts one key per call and we decide over several at once, so the key it carries is the id of a pending check,
 * by which the store finds all its limits.
 */
export async function createAttemptLimiter (attempts: AttemptStore): Promise<AttemptLimiter> {
  const pending = new Map<string, PendingCheck>()
  const current = new WeakMap<FastifyRequest, string>()
  let sequence = 0

  // A host's onRoute hook can give our route a `groupId`, which the plugin appends to the key.
  const checkOf = (key: string): PendingCheck | undefined => pending.get(key.slice(0, key.indexOf('.') + 1))

  class PendingCheckStore {
    incr (key: string, callback: (error: Error | null, result?: { current: number, ttl: number }) => void): void {
      decide(key).then((result) => { callback(null, result) }, callback)
    }

    child (): this {
      return this
    }
  }

  async function decide (key: string): Promise<{ current: number, ttl: number }> {
    const check = checkOf(key)
    if (check === undefined) throw new Error('no such pending check')
    const outcome = await attempts.reserve(check.attemptId, check.limits)
    check.outcome = outcome
    const max = maxOf(check)
    if (!outcome.allowed) return { current: max + 1, ttl: outcome.refusedBy.resetMs }
    const first = outcome.standings[0]
    return { current: max - (first?.remaining ?? max), ttl: first?.resetMs ?? 0 }
  }

  const inner = Fastify({ logger: false })
  await inner.register(rateLimit, { global: false, store: PendingCheckStore })
  await inner.ready()
  const check = inner.createRateLimit({
    keyGenerator: (request) => current.get(request) ?? '',
    max: (request, key) => maxOf(checkOf(key)),
    timeWindow: (request, key) => checkOf(key)?.limits[0]?.windowMs ?? 0
  })

  return {
    async reserve (request, attemptId, limits) {
      const id = `${++sequence}.`
      const entry: PendingCheck = { attemptId, limits }
      pending.set(id, entry)
      current.set(request, id)
      try {
        const result = await check(request)
        const { outcome } = entry
        if (outcome === undefined || result.isAllowed || result.isExceeded === outcome.allowed) throw new Error('the rate limit was not decided by the attempt store')
        return outcome
      } finally {
        pending.delete(id)
      }
    },
    async close () { await inner.close() }
  }
}

function maxOf (check: PendingCheck | undefined): number {
  return check?.limits[0]?.max ?? 0
}
