import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { endOfTurn } from '../../ports/turn.ts'
import type { AttemptLimit, AttemptOutcome, AttemptStore } from '../../ports/attempt-store.ts'

interface AttemptLimiter {
  /**
   * Reserves the attempt under all `limits` (at least one) in one step of the store. Rejects with the error that the
   * store throws.
   */
  reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
}

/** The object that the plugin gets as its request and as its key. The plugin reads only `routeOptions` from it. */
interface Check {
  readonly routeOptions: { readonly config: object }
  readonly attemptId: string
  readonly limits: readonly AttemptLimit[]
  outcome: AttemptOutcome | null
}

type Count = ReturnType<FastifyInstance['createRateLimit']>
type Done = (error: Error | null, result?: { current: number; ttl: number }) => void

/**
 * The limit given to the plugin. It stands for the store's decision: a count of 1 is allowed, a count of 2 is refused.
 */
const MAX = 1
/**
 * Loaded on first use, because loading takes a twentieth of the start time, and a process that only verifies tokens
 * never needs it.
 */
const limitPackage = () => import('@fastify/rate-limit')
const NO_GROUP = { config: {} }

/**
 * Runs @fastify/rate-limit over an `AttemptStore`, in a private Fastify instance. In the host's instance it would share
 * decorators with the host's own @fastify/rate-limit, and each would get the other's store.
 *
 * The plugin counts one key per call, but an attempt has several limits. So the key is the `Check` itself, with all its
 * limits. The plugin never gets the host's request, so hooks of the host have no influence on it.
 */
export function createAttemptLimiter(attempts: AttemptStore): AttemptLimiter {
  function decided(check: Check, outcome: AttemptOutcome, done: Done): void {
    check.outcome = outcome
    done(null, outcome.allowed ? { current: MAX, ttl: 0 } : { current: MAX + 1, ttl: outcome.refusedBy.resetMs })
  }

  class CheckStore {
    incr(key: unknown, done: Done): void {
      const check = key as Check
      let outcome: AttemptOutcome | Promise<AttemptOutcome>
      try {
        outcome = attempts.reserve(check.attemptId, check.limits)
      } catch (error) {
        done(error as Error)
        return
      }
      if (outcome instanceof Promise)
        outcome.then((answer) => {
          decided(check, answer, done)
        }, done)
      else decided(check, outcome, done)
    }

    child(): this {
      return this
    }
  }

  // Never closes the instance: it holds no resources, and background work still reserves attempts while the server
  // closes.
  async function load(): Promise<Count> {
    const { default: rateLimit } = await limitPackage()
    const inner = Fastify({ logger: false })
    await inner.register(rateLimit, { global: false, store: CheckStore })
    return inner.createRateLimit({
      keyGenerator: (request) => request as unknown as string,
      max: MAX,
      timeWindow: 1
    })
  }
  let loading: Promise<Count> | undefined
  let check: Count | undefined

  return {
    async reserve(attemptId, limits) {
      check ??= await (loading ??= load())
      // Waits, so that the reservations of requests that arrived together reach the store together.
      await endOfTurn()
      const entry: Check = { routeOptions: NO_GROUP, attemptId, limits, outcome: null }
      const result = await check(entry as unknown as FastifyRequest)
      const { outcome } = entry
      if (outcome === null || result.isAllowed || result.isExceeded === outcome.allowed)
        throw new Error('the rate limit was not decided by the attempt store')
      return outcome
    }
  }
}
