import type { FastifyBaseLogger } from 'fastify'
import { memoryAttemptStore } from '../adapters/memory/attempt-store.ts'
import { createAttemptLimiter } from '../adapters/rate-limit/limiter.ts'
import type { Events } from '../events.ts'
import { type KnownBrowsers, knownBrowsers } from '../http/edge/known-browsers.ts'
import { createRequestLimiter, type RequestLimiter } from '../http/edge/limit.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import { plainCookie } from '../http/edge/sealed-cookies.ts'
import { type MessageBound, messageBound } from '../limits/attempt.ts'
import { surviveOutages } from '../boundary/attempt-outages.ts'
import type { AttemptStore } from '../ports/attempt-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { Random } from '../ports/cryptography.ts'
import type { User, UserStore } from '../ports/user-store.ts'
import { outageReports } from './health.ts'
import { cookieKey } from './keys.ts'
import type { Settings } from '../settings/settings.ts'

interface LimiterParts {
  attempts: AttemptStore
  clock: Clock
  random: Random
  events: Events
  log: FastifyBaseLogger
  deviceSecret: string
  owner: CookieOwner
  users: UserStore
  onceRehashed(user: User | null): Promise<User | null>
  /** Used if the host has no `rateLimit.apiKey.verify`: resolves to true for a valid API key. */
  verifyKey(key: string): Promise<boolean>
}

/** Creates the request limits of the option `rateLimit`, the limit on messages, and the check for known browsers. */
export function createLimits(
  { rateLimit: given }: Settings,
  { attempts, clock, random, events, log, deviceSecret, owner, users, onceRehashed, verifyKey }: LimiterParts
): { limiter: RequestLimiter; messages: MessageBound; known: KnownBrowsers } {
  const limits =
    given === false || given.apiKey === null
      ? given
      : { ...given, apiKey: { ...given.apiKey, verify: given.apiKey.verify ?? verifyKey } }
  const store = surviveOutages({
    store: attempts,
    localStore: memoryAttemptStore({ clock }),
    onStoreError: limits === false ? 'local' : limits.onStoreError,
    clock,
    ...outageReports('rate limits', 'the rate limit store', { events, log })
  })
  const limiter = createAttemptLimiter(store)
  const messages = messageBound(limits === false ? false : limits.rules.passwordReset, {
    reserve: limiter.reserve,
    refund: store.refund,
    random
  })
  const deviceKey = cookieKey(deviceSecret, 'device', owner)
  const deviceCookie = plainCookie({ ...owner, of: 'device' })
  const requests = createRequestLimiter(limits, {
    attempts: { ...limiter, refund: store.refund },
    random,
    events,
    log,
    clock,
    deviceKey,
    userOf: (account) => users.findByUsername(account),
    onceRehashed,
    deviceCookie
  })
  return { limiter: requests, messages, known: knownBrowsers({ deviceKey, onceRehashed, deviceCookie, random, log }) }
}
