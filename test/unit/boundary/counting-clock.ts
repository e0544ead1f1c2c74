import { steppedClock, type SteppedClock } from '../../../lib/testing/doubles.ts'

/** A stepped clock that counts waiting timers, to find timers that neither ran nor were cancelled. */
export function countingClock(): SteppedClock & { waiting(): number } {
  const clock = steppedClock()
  const timers = new Set<symbol>()
  return {
    ...clock,
    after(delayMs, task) {
      const timer = Symbol('timer')
      timers.add(timer)
      const undo = clock.after(delayMs, () => {
        timers.delete(timer)
        task()
      })
      return () => {
        timers.delete(timer)
        undo()
      }
    },
    waiting: () => timers.size
  }
}
