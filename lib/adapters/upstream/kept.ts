import type { Clock } from '../../ports/clock.ts'

/** The minimum time between two fetches that an unverified request or a failed fetch causes. */
const PAUSE_MS = 10_000
/** The time for which the first failure is cached. Each further failure doubles it, up to the pause. */
const FIRST_PAUSE_MS = 1000

interface Kept<Value> {
  /**
   * The kept value. Waits only for the first one; an outdated one is returned and fetched again behind the answer.
   * @throws the error of the last fetch, which is kept for one second after the first failure and for ten after the
   * fifth
   */
  get(): Promise<Value>
  /**
   * The same, but waits for the fetch that replaces an outdated value. If that fails, later callers get the outdated
   * value at once until a fetch succeeds.
   */
  current(): Promise<Value>
  /** Fetches the value again. `null` if the last fetch was less than the pause ago, or failed. */
  renewed(): Promise<Value | null>
}

/**
 * Caches a document of another server that changes rarely. Parallel calls share one fetch. A failure is cached too, but
 * does not replace a known value.
 * @param pauseMs the time between two fetches that `renewed` brings about
 */
export function kept<Value>(
  fetchIt: () => Promise<Value>,
  maxAgeMs: number,
  clock: Clock,
  pauseMs = PAUSE_MS
): Kept<Value> {
  let known: { value: Value; at: number } | null = null
  let failed: { error: unknown; until: number; pauseMs: number } | null = null
  let pending: Promise<Value> | null = null
  let retriedAt = -Infinity
  let renewedAt = -Infinity

  const fetched = async (): Promise<Value> => {
    const at = clock.monotonic()
    try {
      const value = await fetchIt()
      known = { value, at }
      failed = null
      return value
    } catch (error) {
      const pauseMs = failed === null ? FIRST_PAUSE_MS : Math.min(2 * failed.pauseMs, PAUSE_MS)
      failed = { error, until: clock.monotonic() + pauseMs, pauseMs }
      throw error
    }
  }
  const refresh = async (): Promise<Value> =>
    await (pending ??= fetched().finally(() => {
      pending = null
    }))

  async function get(): Promise<Value> {
    if (known === null) {
      if (failed !== null && pending === null && clock.monotonic() < failed.until) throw failed.error
      return await refresh()
    }
    const { value, at } = known
    const now = clock.monotonic()
    if (now - at >= maxAgeMs && now - retriedAt >= PAUSE_MS) {
      retriedAt = now
      refresh().catch(() => {})
    }
    return value
  }

  return {
    get,
    async current() {
      const isDown = failed !== null
      const value = await get()
      return pending === null || isDown ? value : await refresh().catch(() => value)
    },
    async renewed() {
      if (pending === null) {
        const now = clock.monotonic()
        if (now - renewedAt < pauseMs) return null
        renewedAt = now
      }
      return await refresh().catch(() => null)
    }
  }
}
