import type { Clock } from '../../ports/clock.ts'
import { randomFillSync } from 'node:crypto'
import type { Random } from '../../ports/cryptography.ts'

const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, task) {
    // `setTimeout` turns a longer delay into 1 ms. Waits for the longest possible delay, and then for the rest.
    if (delayMs > MAX_TIMEOUT_MS) {
      let undo = systemClock.after(MAX_TIMEOUT_MS, () => {
        undo = systemClock.after(delayMs - MAX_TIMEOUT_MS, task)
      })
      return () => {
        undo()
      }
    }
    const timer = setTimeout(task, delayMs)
    timer.unref()
    return () => {
      clearTimeout(timer)
    }
  }
}

const POOL_BYTES = 8192

/**
 * The system's CSPRNG through a pool: one call fills many values. Overwrites each value in the pool after it has been
 * read.
 */
export function systemRandom(): Random {
  const pool = Buffer.allocUnsafeSlow(POOL_BYTES)
  let used = POOL_BYTES
  function take(bytes: number): string {
    if (used + bytes > POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    const end = used + bytes
    const value = pool.toString('base64url', used, end)
    pool.fill(0, used, end)
    used = end
    return value
  }
  return { id: () => take(16), secret: () => take(32) }
}
