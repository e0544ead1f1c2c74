import { type BoundedQueue, boundedQueue } from '../delivery/bounded-queue.ts'
import type { Clock } from '../ports/clock.ts'

/** Work that no reply waits for. */
export interface Background {
  /**
   * Begins `work` in a later turn of the event loop; its failure goes to `onError`. Work with one `key` runs one at a
   * time: while it runs, further work with the key is dropped, because it would do the same. Returns at once and never
   * throws. With `retries`, failed work is tried again after 1, 10 and 60 seconds, and only the last failure goes to
   * `onError`.
   */
  run(key: string, what: string, work: () => Promise<void>, options?: { retries: boolean }): void
  /** Drops work with this key that waits for its start or for another try. */
  drop(key: string): void
  /** Resolves when no work with this key waits or runs: at once where none does. */
  done(key: string): Promise<void>
  /** Resolves when nothing runs any more, or waits to be tried again. */
  idle(): Promise<void>
  /**
   * Takes no more work, tries once more what waits for another try, and resolves when nothing runs any more or after 5
   * seconds.
   */
  close(): Promise<void>
}

interface Work {
  key: string
  what: string
  work(): Promise<void>
}

/** At most this many run at once. Further work is dropped, so that a flood can't become a queue. */
const MAX_WORKS = 256
/** The pauses before the tries of a work or a message that failed. */
export const RETRY_DELAYS_MS = [1_000, 10_000, 60_000] as const

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
  // Work with retries has places of its own, so that an outage does not take those of other work.
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

/** The number of looks. A store has 5 seconds for an answer, and may still write after that. */
const LOOKS = 3

/**
 * After a write whose answer was lost, looks at its outcome behind the reply: at once, after 1 and after 11 seconds,
 * until `look` resolves to `true`.
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

/**
 * Runs the work of a key once while it is under way. A call with the same key gets the result of the first call. The
 * next call after the end runs the work again.
 */
export function onceUnderWay<Result>(): (key: string, work: () => Promise<Result>) => Promise<Result> {
  const underWay = new Map<string, Promise<Result>>()
  return async (key, work) => {
    const first = underWay.get(key)
    if (first !== undefined) return await first
    const own = work()
    underWay.set(key, own)
    try {
      return await own
    } finally {
      underWay.delete(key)
    }
  }
}
