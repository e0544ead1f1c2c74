import { OutageError } from '../ports/outage.ts'
import type { Clock } from '../ports/clock.ts'
import { within } from './answers.ts'

/** Ignores smaller differences, because the network causes them between synchronized clocks. */
const NOTICED_MS = 1000
/** Time limit for reading the server's clock. */
const LOOK_MS = 500
/** The pause after the server's clock could not be read. It doubles with each failure, up to a minute. */
const ASK_AGAIN_MS = 1000
const LONGEST_PAUSE_MS = 60_000

interface SharedClock extends Clock {
  /** Reads the server's clock and adjusts this one. Rejects, with this clock unchanged, if reading fails. */
  compare(): Promise<void>
  /**
   * Makes the next call of `settled` read the server's clock. For use after an outage, in which clocks may have
   * changed.
   */
  doubt(): void
  /**
   * Must be awaited before each call of the state. `undefined`: there is nothing to wait for. Otherwise resolves after
   * reading the server's clock, once after the start and once after each `doubt`. Rejects if this clock was wrong,
   * because the caller has computed times with the wrong clock. If the server's clock can't be read, resolves and tries
   * again later.
   */
  settled(): Promise<void> | undefined
}

interface SharedClockDeps {
  clock: Clock
  /** The server's clock. */
  time: () => Promise<number>
  /** Called when the machine's clock is found wrong, once until it is right again. Positive `skewMs`: it is ahead. */
  onSkew: (skewMs: number) => void
}

/**
 * A clock that follows the store server that all instances share. An instance whose own clock is off by a second or
 * more uses the server's time. Otherwise a code that is valid for a minute would be expired at an instance whose clock
 * is five minutes ahead.
 */
export function sharedClock({ clock, time, onSkew }: SharedClockDeps): SharedClock {
  /** Milliseconds to add to the local clock to get the store server's time. */
  let offsetMs = 0
  let isDoubted = true
  let looking: Promise<void> | null = null
  let askAgainAt = -Infinity
  let pauseMs = ASK_AGAIN_MS

  async function compare(): Promise<void> {
    const [sentAt, before] = [clock.monotonic(), clock.now()]
    const theirs = await time()
    const after = clock.now()
    isDoubted = false
    // Assumes that the server read its clock halfway through the round trip: an error of at most half the trip.
    const measured = Math.round(theirs - (before + after) / 2)
    // Ignores a difference that a slow server or a suspended machine explains.
    const tripMs = Math.max(clock.monotonic() - sentAt, Math.abs(after - before))
    if (tripMs >= NOTICED_MS && Math.abs(measured - offsetMs) <= tripMs / 2 + 1) return
    const isOff = Math.abs(measured) >= NOTICED_MS
    if (isOff && offsetMs === 0) onSkew(-measured)
    offsetMs = isOff ? measured : 0
  }

  async function look(): Promise<void> {
    const former = offsetMs
    try {
      await within(LOOK_MS, clock, compare)
      pauseMs = ASK_AGAIN_MS
    } catch {
      askAgainAt = clock.monotonic() + pauseMs
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
      return
    } finally {
      looking = null
    }
    if (Math.abs(offsetMs - former) >= NOTICED_MS)
      throw new OutageError('The clock of this machine was wrong until now. Another try goes by that of the server.')
  }

  return {
    compare,
    doubt() {
      isDoubted = true
      askAgainAt = -Infinity
      pauseMs = ASK_AGAIN_MS
    },
    settled() {
      if (!isDoubted && looking === null) return undefined
      if (looking === null && clock.monotonic() < askAgainAt) return undefined
      looking ??= look()
      return looking
    },
    now: () => clock.now() + offsetMs,
    monotonic: () => clock.monotonic(),
    after: (delayMs, task) => clock.after(delayMs, task)
  }
}
