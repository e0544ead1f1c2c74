import { OAuthError } from '../errors.ts'
import type { AttemptLimit, AttemptOutcome, AttemptStore, OnStoreError } from '../ports/attempt-store.ts'
import type { Clock } from '../ports/clock.ts'
import { isPromise, within } from './answers.ts'

/** How long an attempt waits for the store. */
const BUDGET_MS = 250
/** How long a store that failed is left alone before one attempt tries it again. */
const RETRY_MS = 1000

interface OutageDeps {
  store: AttemptStore
  /** Counts during an outage, for `onStoreError: 'local'`. Never fails. */
  localStore: AttemptStore
  onStoreError: OnStoreError
  clock: Clock
  /** Called once per outage. */
  onDegraded: (error: unknown) => void
  onRecovered: () => void
}

/**
 * Wraps the store so that each call answers within 250 ms. After a failure the store is not called for a second. Then
 * one attempt probes it while the others don't wait, and the first successful probe ends the outage. During an outage,
 * `local` counts in this process, `allow` lets every attempt pass, and with `deny`, `reserve` rejects with
 * `temporarily_unavailable`. `refund` never rejects.
 */
export function surviveOutages({
  store,
  localStore,
  onStoreError,
  clock,
  onDegraded,
  onRecovered
}: OutageDeps): AttemptStore {
  /** Monotonic time of the next probe; `null`: the store is well. */
  let probeAt: number | null = null
  let probing = false

  function failed(error: unknown): void {
    const first = probeAt === null
    probeAt = clock.monotonic() + RETRY_MS
    if (first) onDegraded(error)
  }

  function substitute(attemptId: string, limits: readonly AttemptLimit[]): AttemptOutcome | Promise<AttemptOutcome> {
    if (onStoreError === 'local') return localStore.reserve(attemptId, limits)
    if (onStoreError === 'allow') return { allowed: true, standings: [] }
    return Promise.reject(
      new OAuthError('temporarily_unavailable', 'The service is temporarily unavailable.', {
        headers: { 'retry-after': String(Math.ceil(RETRY_MS / 1000)) },
        detail: 'the attempt store is unavailable and rateLimit.onStoreError is deny'
      })
    )
  }

  function answered(isProbe: boolean): void {
    // Only a probe ends the outage, because a call that started before the outage proves nothing.
    if (!isProbe) return
    probeAt = null
    probing = false
    onRecovered()
  }

  function gone(isProbe: boolean, error: unknown): void {
    failed(error)
    if (isProbe) probing = false
  }

  async function reserved(
    pending: Promise<AttemptOutcome>,
    isProbe: boolean,
    attemptId: string,
    limits: readonly AttemptLimit[]
  ): Promise<AttemptOutcome> {
    let outcome: AttemptOutcome
    try {
      outcome = await within(BUDGET_MS, clock, () => pending)
    } catch (error) {
      gone(isProbe, error)
      return substitute(attemptId, limits)
    }
    answered(isProbe)
    return outcome
  }

  async function refunded(
    local: void | Promise<void>,
    attemptId: string,
    limits: readonly AttemptLimit[]
  ): Promise<void> {
    await local
    if (probeAt !== null) return
    try {
      const pending = store.refund(attemptId, limits)
      if (isPromise(pending)) await within(BUDGET_MS, clock, () => pending)
    } catch (error) {
      failed(error)
    }
  }

  return {
    // Not an async function, so that a store in this process answers without a promise.
    reserve(attemptId, limits) {
      if (probeAt !== null && (probing || clock.monotonic() < probeAt)) return substitute(attemptId, limits)
      const isProbe = probeAt !== null
      if (isProbe) probing = true
      let outcome: AttemptOutcome | Promise<AttemptOutcome>
      try {
        outcome = store.reserve(attemptId, limits)
      } catch (error) {
        gone(isProbe, error)
        return substitute(attemptId, limits)
      }
      if (isPromise(outcome)) return reserved(outcome, isProbe, attemptId, limits)
      answered(isProbe)
      return outcome
    },

    // Refunds in both stores, because either may have counted the attempt. The shared store may have done so even if
    // its call timed out. During an outage, refunds only in the local store.
    refund: (attemptId, limits) => refunded(localStore.refund(attemptId, limits), attemptId, limits)
  }
}
