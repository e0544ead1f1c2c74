import Fastify from 'fastify'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { endOfTurn } from '../../ports/turn.ts'
import type { AttemptLimit, AttemptOutcome, AttemptStore } from '../../ports/attempt-store.ts'

interface AttemptLimiter {
  /**
   * Reserves the attempt under all `limits` (at least one) in one step of the store. Rejects with what the store
   * throws.
   */
  reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
}

/** The fake request for the plugin, which also is its key: the plugin reads only the group of the route. */
interface Check {
  readonly routeOptions: { readonly config: object }
  readonly attemptId: string
  readonly limits: readonly AttemptLimit[]
  outcome: AttemptOutcome | null
}

type Count = ReturnType<FastifyInstance['createRateLimit']>
type Done = (error: Error | null, result?: { current: number; ttl: number }) => void

/**
 * The limit given to the plugin. The store has decided over all limits before, so the plugin counts one key per call.
 */
const MAX = 1
/** Loaded on first use: it is a twentieth of the start, and a process that only verifies tokens never counts. */
const limitPackage = () => import('@fastify/rate-limit')
const NO_GROUP = { config: {} }

/**
 * @fastify/rate-limit over an `AttemptStore`, in a private Fastify instance: registered in the host's tree, it and the
 * host's own would share decorators and each get the other's store.
 *
 * The plugin counts one key per call and we decide over several at once, so the key it carries is the check itself,
 * with all its limits; the host's request stays outside, and with it whatever a host's hook gives our routes.
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

  // The instance is never closed: it holds nothing, and work behind answers counts while the server closes.
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
      // Those of requests that arrived together reach the store together.
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
