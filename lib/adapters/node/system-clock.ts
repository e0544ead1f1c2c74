import type { Clock } from '../../ports/clock.ts'

const MAX_TIMEOUT_MS = 2 ** 31 - 1

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, task) {
    // A longer delay would overflow to 1 ms: wait the longest span and look again.
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
