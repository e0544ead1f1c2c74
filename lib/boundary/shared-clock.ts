import { OutageError } from '../ports/outage.ts'
import type { Clock } from '../ports/clock.ts'
import { within } from './answers.ts'

/** Smaller differences are normal between well-kept clocks over a network. */
const NOTICED_MS = 1000
/** How long a call waits for the server's clock. */
const LOOK_MS = 500
/** The delay before a server that did not tell its time is asked again. It doubles each time, up to a minute. */
const ASK_AGAIN_MS = 1000
const LONGEST_PAUSE_MS = 60_000

interface SharedClock extends Clock {
  /** Reads the server's clock. If that rejects, the clock stays as it is. */
  compare(): Promise<void>
  /**
   * Marks the clock as doubtful, so that the next call reads the server's clock: the server was out of reach, and
   * clocks may have changed.
   */
  doubt(): void
  /**
   * Resolves when a call of the state may begin: after reading the server's clock, if that has not happened since the
   * start or the last doubt; else `undefined`. Rejects if the clock was wrong, because the call took its times from it:
   * nothing is done or signed with them. If the server does not tell its time, the call goes on.
   */
  settled(): Promise<void> | undefined
}

interface SharedClockDeps {
  clock: Clock
  /** The server's clock. */
  time: () => Promise<number>
  /** Called once when the machine's clock is found wrong, until it is right again. */
  onSkew: (skewMs: number) => void
}

/**
 * The clock of the server that all instances share. An instance whose own clock is off by a second or more takes the
 * server's time: otherwise a code that lives for a minute would be dead on arrival at an instance whose clock is five
 * minutes ahead.
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
    // Assumes that the server answered in the middle of the trip, which is wrong by at most half of it.
    const measured = Math.round(theirs - (before + after) / 2)
    // A slow server or a suspended machine is no proof of a wrong clock.
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
