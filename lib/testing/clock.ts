import type { Clock } from '../ports/clock.ts'

export interface SteppedClock extends Clock {
  /**
   * Moves wall and monotonic time forward together, and runs each due task at its time, in order, including tasks that
   * those schedule. Throws `RangeError` on a negative step: only the wall clock goes backwards (`setWall`).
   */
  step(ms: number): void
  /** Sets the wall clock alone, as an administrator or NTP does. Timers are not moved. */
  setWall(ms: number): void
}

interface Waiting {
  at: number
  task: () => void
}

/** A clock that stands still until a test steps it. `start` is the wall clock in milliseconds since the epoch. */
export function steppedClock(start = Date.UTC(2026, 0, 1)): SteppedClock {
  let monotonic = 0
  let wallOffset = start
  // In the order of scheduling, so that of two tasks for one moment the first scheduled runs first.
  const waiting = new Set<Waiting>()

  const nextUntil = (end: number): Waiting | undefined => {
    let first: Waiting | undefined
    for (const entry of waiting) {
      if (entry.at <= end && (first === undefined || entry.at < first.at)) first = entry
    }
    return first
  }

  return {
    now: () => wallOffset + monotonic,
    monotonic: () => monotonic,
    after(delayMs, task) {
      const entry = { at: monotonic + Math.max(0, delayMs), task }
      waiting.add(entry)
      return () => {
        waiting.delete(entry)
      }
    },
    step(ms) {
      if (!(ms >= 0)) throw new RangeError('A clock steps forward.')
      const end = monotonic + ms
      for (let due = nextUntil(end); due !== undefined; due = nextUntil(end)) {
        waiting.delete(due)
        monotonic = Math.max(monotonic, due.at)
        due.task()
      }
      monotonic = end
    },
    setWall(ms) {
      wallOffset = ms - monotonic
    }
  }
}
