import { OAuthError } from '../errors.ts'
import type { AttemptOutcome, AttemptStore } from '../ports/attempt-store.ts'
import type { Clock } from '../ports/clock.ts'
import { within } from '../stores/within.ts'
import type { OnStoreError } from './rules.ts'

/** How long an attempt waits for the store. */
const BUDGET_MS = 250
/** How long a store that failed is left alone before one attempt tries it again. */
const RETRY_MS = 1000

export interface OutageDeps {
  store: AttemptStore
  /** Counts meanwhile, for `onStoreError: 'local'`. Never fails. */
  localStore: AttemptStore
  onStoreError: OnStoreError
  clock: Clock
  /** Once per outage. */
  onDegraded: (error: unknown) => void
  onRecovered: () => void
}

/**
 * The store, with an answer within 250 ms whatever becomes of it. After a failure it is left alone for a second, then one
 * attempt probes it while the others don't wait; the first probe that succeeds ends the outage.
 * With `deny`, `reserve` rejects with `temporarily_unavailable` during an outage. `refund` never rejects.
 */
export function surviveOutages ({ store, localStore, onStoreError, clock, onDegraded, onRecovered }: OutageDeps): AttemptStore {
  /** Monotonic time of the next probe; `null`: the store is well. */
  let probeAt: number | null = null
  let probing = false

  function failed (error: unknown): void {
    const first = probeAt === null
    probeAt = clock.monotonic() + RETRY_MS
    if (first) onDegraded(error)
  }

  function substitute (attemptId: string, limits: Parameters<AttemptStore['reserve']>[1]): AttemptOutcome | Promise<AttemptOutcome> {
    if (onStoreError === 'local') return localStore.reserve(attemptId, limits)
    if (onStoreError === 'allow') return { allowed: true, standings: [] }
    throw new OAuthError('temporarily_unavailable', 'The service is temporarily unavailable.', {
      headers: { 'retry-after': String(Math.ceil(RETRY_MS / 1000)) },
      detail: 'the attempt store is unavailable and rateLimit.onStoreError is deny'
    })
  }

  return {
    async reserve (attemptId, limits) {
      if (probeAt !== null && (probing || clock.monotonic() < probeAt)) return substitute(attemptId, limits)
      const isProbe = probeAt !== null
      if (isProbe) probing = true
      try {
        const outcome = await within(BUDGET_MS, clock, () => store.reserve(attemptId, limits))
        // Only a probe ends the outage: an answer that was under way when it began says nothing.
        if (isProbe) {
          probeAt = null
          onRecovered()
        }
        return outcome
      } catch (error) {
        failed(error)
      } finally {
        if (isProbe) probing = false
      }
      return substitute(attemptId, limits)
    },

    async refund (attemptId, limits) {
      // Either may hold the reservation: the store may have made it after the answer was given up on.
      await localStore.refund(attemptId, limits)
      if (probeAt !== null) return
      try {
        await within(BUDGET_MS, clock, () => store.refund(attemptId, limits))
      } catch (error) {
        failed(error)
      }
    }
  }
}
