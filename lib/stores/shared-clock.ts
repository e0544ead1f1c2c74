import type { Clock } from '../ports/clock.ts'

/** Less is what a network and two well-kept clocks differ by anyhow. */
const NOTICED_MS = 1000

export interface SharedClock extends Clock {
  /** Looks at the server's clock. Rejects where it does not answer: the clock goes on as it was. */
  compare(): Promise<void>
}

export interface SharedClockDeps {
  clock: Clock
  /** The server's clock. */
  time: () => Promise<number>
  /** Told when the machine's clock turns out to be wrong, once until it is right again. */
  onSkew: (skewMs: number) => void
}

/**
 * The clock of the server that all instances share. An instance whose own clock is off by a second or more takes the server's time:
 * else a code that lives for a minute would be dead on arrival at an instance whose clock is five minutes ahead.
 */
export function sharedClock ({ clock, time, onSkew }: SharedClockDeps): SharedClock {
  /** What the machine's clock lacks. */
  let offsetMs = 0

  return {
    now: () => clock.now() + offsetMs,
    monotonic: () => clock.monotonic(),
    after: (delayMs, task) => clock.after(delayMs, task),
    async compare () {
      const [sentAt, before] = [clock.monotonic(), clock.now()]
      const theirs = await time()
      const after = clock.now()
      // The answer is from some moment between: the middle is wrong by half the way at the most.
      const measured = Math.round(theirs - (before + after) / 2)
      // A server that was slow, or a machine that slept on the way, is no clock that is wrong.
      const tripMs = Math.max(clock.monotonic() - sentAt, Math.abs(after - before))
      if (tripMs >= NOTICED_MS && Math.abs(measured - offsetMs) <= tripMs / 2 + 1) return
      const isOff = Math.abs(measured) >= NOTICED_MS
      if (isOff && offsetMs === 0) onSkew(-measured)
      offsetMs = isOff ? measured : 0
    }
  }
}
