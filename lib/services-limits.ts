import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { memoryAttemptStore } from './adapters/memory/attempt-store.ts'
import { createAttemptLimiter } from './adapters/rate-limit/limiter.ts'
import type { Events } from './events.ts'
import { createRequestLimiter, type RequestLimiter } from './http/limit.ts'
import { resolveRateLimits } from './limits/rules.ts'
import { surviveOutages } from './limits/store-outage.ts'
import type { AuthorityOptions } from './options.ts'
import type { AttemptStore } from './ports/attempt-store.ts'
import type { Clock } from './ports/clock.ts'
import type { Random } from './ports/random.ts'
import { outageReports } from './services-outages.ts'
import { deriveKey } from './services-secrets.ts'

interface LimiterParts { attempts: AttemptStore, countsFor: (attempts: AttemptStore) => boolean, clock: Clock, random: Random, events: Events, log: FastifyBaseLogger, deviceSecret: string }

/** The limits of interface §5 over the routes. */
export async function requestLimiter (options: AuthorityOptions, { attempts, countsFor, clock, random, events, log, deviceSecret }: LimiterParts): Promise<RequestLimiter> {
  const limits = resolveRateLimits<FastifyRequest, FastifyReply>(options.rateLimit)
  const store = surviveOutages({
    store: attempts,
    localStore: memoryAttemptStore({ clock }),
    onStoreError: limits === false ? 'local' : limits.onStoreError,
    clock,
    ...outageReports('rate limits', 'the rate limit store', { events, log })
  })
  const limiter = await createAttemptLimiter(store)
  return createRequestLimiter(limits, {
    attempts: { ...limiter, refund: store.refund, beside: () => store.isWell() && countsFor(attempts) ? attempts : null },
    random,
    events,
    log,
    deviceKey: deriveKey(deviceSecret, 'known devices'),
    secureCookies: options.issuer.startsWith('https:')
  })
}
