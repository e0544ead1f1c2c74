import { type BoundedQueue, boundedQueue } from '../delivery/bounded-queue.ts'
import type { Clock } from '../ports/clock.ts'

/** Work that no reply waits for. */
export interface Background {
  /**
   * Begins `work` in a later turn of the event loop; its failure goes to `onError`. Work with one `key` runs one at a
   * time: while it does, another is dropped, for it would do the same. Returns at once and never throws. With
   * `retries`, for what must not be left undone, work that failed is tried again after 1, 10 and 60 seconds, and
   * `onError` hears of it when it is given up.
   */
  run(key: string, what: string, work: () => Promise<void>, options?: { retries: boolean }): void
  /** Forgets a work with this key that waits to begin or to be tried again. */
  drop(key: string): void
  /** Resolves when no work with this key waits or runs: at once where none does. */
  done(key: string): Promise<void>
  /** Resolves when nothing runs any more, or waits to be tried again. */
  idle(): Promise<void>
  /** Takes no more, tries once more what waits for that, and resolves when nothing runs any more or after 5 seconds. */
  close(): Promise<void>
}

interface Work {
  key: string
  what: string
  work(): Promise<void>
}

/**
 * At most this many works run at once. None waits for its turn, and what comes on top is dropped: a flood must not
 * become a queue.
 */
const MAX_WORKS = 256
const RETRY_DELAYS_MS = [1_000, 10_000, 60_000] as const

export function createBackground({
  clock,
  onError
}: {
  clock: Clock
  onError(error: unknown, what: string): void
}): Background {
  /** The callers that wait for the end of the work of each key. */
  const keys = new Map<string, Array<() => void>>()
  /** The keys of work that is not to be done any more. */
  const dropped = new Set<string>()
  const ended = ({ key }: Work): void => {
    const waiting = keys.get(key) ?? []
    keys.delete(key)
    dropped.delete(key)
    for (const resolve of waiting) resolve()
  }
  const queueOf = (tasks: string, retryDelaysMs: readonly number[]): BoundedQueue<Work> =>
    boundedQueue<Work>({
      tasks,
      capacity: MAX_WORKS,
      maxInFlight: MAX_WORKS,
      retryDelaysMs,
      clock,
      attempt: async ({ key, work }) => {
        if (!dropped.has(key)) await work()
      },
      onDone: ended,
      onGivenUp(work, error, attempts) {
        // Dropped work never had the key.
        if (attempts > 0) ended(work)
        onError(error, work.what)
      },
      onError
    })
  const once = queueOf('works in the background', [])
  // With places of its own: what waits out an outage leaves no room for anything else in them.
  const insistent = queueOf('works in the background that are tried again', RETRY_DELAYS_MS)
  return {
    run(key, what, work, { retries } = { retries: false }) {
      const { add } = retries ? insistent : once
      if (!keys.has(key) && add({ key, what, work })) keys.set(key, [])
    },
    drop(key) {
      if (keys.has(key)) dropped.add(key)
    },
    async done(key) {
      const waiting = keys.get(key)
      if (waiting !== undefined)
        await new Promise<void>((resolve) => {
          waiting.push(resolve)
        })
    },
    async idle() {
      await Promise.all([once.idle(), insistent.idle()])
    },
    async close() {
      await Promise.all([once.close(), insistent.close()])
    }
  }
}

/** A store has 5 seconds for an answer, and may write after it was given up. */
const LOOKS = 3

/**
 * Looks behind the reply at what became of a write whose answer was lost: at once, after 1 and after 11 seconds, until
 * `look` resolves to `true`.
 */
export function lookLater(background: Background, key: string, what: string, look: () => Promise<boolean>): void {
  let looks = 0
  background.run(
    key,
    what,
    async () => {
      const isDone = await look()
      looks += 1
      if (!isDone && looks < LOOKS) throw new Error('The store may still do what it was asked for.')
    },
    { retries: true }
  )
}
