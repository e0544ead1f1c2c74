import type { PasswordHashing } from '../accounts/password-hashing.ts'
import { within } from '../boundary/answers.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { AttemptStore } from '../ports/attempt-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { State } from '../ports/state.ts'
import type { Settings } from '../settings/settings.ts'
import type { FastifyBaseLogger } from 'fastify'
import { type Events, NO_REQUEST } from '../events.ts'
import { logLine } from '../ports/log.ts'
import { refusesWrites } from '../ports/outage.ts'

/** The health of the service, as this instance sees it. It reveals neither where a store is nor why it fails. */
export interface Health {
  /**
   * True if this instance can take requests: the state accepts writes and the signing keys exist. With
   * `rateLimit.onStoreError: 'deny'` the counters must answer too. A full hashing queue does not count, because only
   * requests with a password get 503 then.
   */
  ready: boolean
  /** `up`: a write succeeded. */
  state: 'up' | 'down'
  /** `off`: there are no rate limits. */
  counters: 'up' | 'down' | 'off'
  /** `missing`: for at least one algorithm, the signing key is not made yet or cannot be read. */
  keys: 'ready' | 'missing'
  /** Age of the signing key in seconds, by algorithm. Empty if the host gave the keys. */
  keyAges: Record<string, number>
  /**
   * The numbers of passwords that are being hashed and that wait. At `maxQueue` waiting passwords, the next password is
   * refused.
   */
  passwords: { running: number; waiting: number; maxQueue: number }
}

/** The time limit of each check, in milliseconds. */
const BUDGET_MS = 1000
/** The limit under which a test attempt is counted and given back. Its record expires after a second. */
const TRIAL = [{ rule: 'trial', key: '', windowMs: 1000, max: 1000 }]

interface HealthParts {
  state: Pick<State, 'tryWrite'>
  /** The configured store, not the local one that replaces it during an outage. */
  attempts: AttemptStore
  ring: Pick<KeyRing, 'ages' | 'algs' | 'ready' | 'signingKey'>
  hashing: Pick<PasswordHashing, 'load'>
  clock: Clock
}

/**
 * Checks the stores and the keys in parallel. Parallel calls share one check, so that many requests to a public route
 * cost the stores little.
 */
export function createHealth(
  { rateLimit, password }: Pick<Settings, 'rateLimit' | 'password'>,
  { state, attempts, ring, hashing, clock }: HealthParts
): () => Promise<Health> {
  async function answers(call: () => unknown): Promise<'up' | 'down'> {
    try {
      await within(BUDGET_MS, clock, call)
      return 'up'
    } catch {
      return 'down'
    }
  }

  async function count(): Promise<void> {
    await attempts.reserve('health', TRIAL)
    await attempts.refund('health', TRIAL)
  }

  function keys(): Health['keys'] {
    try {
      for (const alg of ring.algs()) ring.signingKey(alg)
      return 'ready'
    } catch {
      return 'missing'
    }
  }

  async function look(): Promise<Health> {
    const [stateIs, countersAre] = await Promise.all([
      answers(state.tryWrite),
      rateLimit === false ? ('off' as const) : answers(count),
      // Wait for the first key, because right after the start it is still being made.
      answers(() => ring.ready())
    ])
    const found = {
      state: stateIs,
      counters: countersAre,
      keys: keys(),
      keyAges: ring.ages(),
      passwords: { ...hashing.load(), maxQueue: password.maxQueue }
    }
    const mustCount = rateLimit !== false && rateLimit.onStoreError === 'deny'
    return {
      ready: found.state === 'up' && found.keys === 'ready' && !(mustCount && found.counters === 'down'),
      ...found
    }
  }

  let underWay: Promise<Health> | null = null
  return async () => {
    underWay ??= look().finally(() => {
      underWay = null
    })
    return await underWay
  }
}

/**
 * Makes the reports of an outage: the event `store_degraded` and a log line at its start, and a log line at its end.
 */
export function outageReports(
  store: 'state' | 'rate limits',
  name: string,
  { events, log }: { events: Events; log: FastifyBaseLogger }
): { onDegraded: (error: unknown) => void; onRecovered: () => void } {
  return {
    onDegraded: (error) => {
      events.emit('store_degraded', { store, error: messageOf(error) }, NO_REQUEST)
      log.error(
        ...logLine(
          'FST_AUTHORITY_STORE_DOWN',
          `${name} ${refusesWrites(error) ? 'writes nothing' : 'does not answer'}`,
          {
            reason: messageOf(error),
            store: name
          }
        )
      )
    },
    onRecovered: () => {
      log.info(...logLine('FST_AUTHORITY_STORE_BACK', `${name} answers again`, { store: name }))
    }
  }
}

/** Returns only the message, because a client library's error object can contain the failed command. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown'
}
