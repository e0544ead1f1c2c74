import type { Clock } from '../../ports/clock.ts'

/** How long between two fetches that strangers or failures bring about. */
const PAUSE_MS = 10_000

interface Kept<Value> {
  /**
   * What is known. Waits only where nothing is known yet; what is older than its time is fetched anew behind the
   * answer. @throws what the first fetch throws
   */
  get(): Promise<Value>
  /** Fetched anew now, or `null` where that was done less than ten seconds ago, or failed. */
  renewed(): Promise<Value | null>
}

/**
 * Something of another server's that changes seldom. Of any number of calls one fetches; a fetch that fails changes
 * nothing.
 */
export function kept<Value>(fetchIt: () => Promise<Value>, maxAgeMs: number, clock: Clock): Kept<Value> {
  let known: { value: Value; at: number } | null = null
  let pending: Promise<Value> | null = null
  let retriedAt = -Infinity
  let renewedAt = -Infinity

  const fetched = async (): Promise<Value> => {
    const at = clock.monotonic()
    const value = await fetchIt()
    known = { value, at }
    return value
  }
  const refresh = async (): Promise<Value> =>
    await (pending ??= fetched().finally(() => {
      pending = null
    }))

  return {
    async get() {
      if (known === null) return await refresh()
      const { value, at } = known
      const now = clock.monotonic()
      if (now - at >= maxAgeMs && now - retriedAt >= PAUSE_MS) {
        retriedAt = now
        refresh().catch(() => {})
      }
      return value
    },
    async renewed() {
      if (pending === null) {
        const now = clock.monotonic()
        if (now - renewedAt < PAUSE_MS) return null
        renewedAt = now
      }
      return await refresh().catch(() => null)
    }
  }
}
