import type { PasswordHashing } from '../accounts/password-hashing.ts'
import { within } from '../boundary/within.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { AttemptStore } from '../ports/attempt-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { State } from '../ports/state.ts'
import type { Settings } from '../settings/settings.ts'

/** How the service is, as this instance sees it. Nothing of it says where a store is or why it fails. */
export interface Health {
  /**
   * Whether requests should be sent here: the state answers, there are keys to sign with, and the counters answer or
   * need not (`rateLimit.onStoreError`). A full queue is no reason: every instance has it at once, and the answer to
   * that is 503 for sign-ins alone.
   */
  ready: boolean
  /** `up`: a write was done. */
  state: 'up' | 'down'
  /** `off`: there are no rate limits. */
  counters: 'up' | 'down' | 'off'
  /** `missing`: a key of one of the algorithms that tokens are signed with is not there yet, or can't be had. */
  keys: 'ready' | 'missing'
  /** For how many seconds the key that signs now has, by algorithm. Empty where the host gave the keys. */
  keyAges: Record<string, number>
  /** Passwords that are hashed now, and that wait for their turn; one more than `maxQueue` is refused. */
  passwords: { running: number; waiting: number; maxQueue: number }
}

/** A look takes no longer than this. */
const BUDGET_MS = 1000
/** As at the start. It is gone a second later. */
const TRIAL = [{ rule: 'trial', key: '', windowMs: 1000, max: 1000 }]

interface HealthParts {
  state: Pick<State, 'tryWrite'>
  /** The store itself, not what stands in for it in an outage. */
  attempts: AttemptStore
  ring: Pick<KeyRing, 'ages' | 'algs' | 'signingKey'>
  hashing: Pick<PasswordHashing, 'load'>
  clock: Clock
}

/**
 * Looks at all at once. Whoever asks while a look is under way shares it, so that a route open to all is no load on the
 * stores.
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
      rateLimit === false ? ('off' as const) : answers(count)
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
