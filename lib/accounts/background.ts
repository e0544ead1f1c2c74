import { type BoundedQueue, boundedQueue } from '../delivery/bounded-queue.ts'
import type { Clock } from '../ports/clock.ts'

/** Runs work that no reply waits for. */
export interface Background {
  /**
   * Starts `work` in a later turn of the event loop. Returns at once and never throws. While work with the same `key`
   * waits or runs, drops further work with that key, because it would do the same. Reports a failure to `onError`, with
   * `what` as its text. With `retries`, tries failed work again after 1, 10 and 60 seconds, and reports only the last
   * failure. Drops the work if its queue is full or closed. Of the drops in one overload, reports the first, and at the
   * end the number of all.
   */
  run(key: string, what: string, work: () => Promise<void>, options?: { retries: boolean }): void
  /** Drops work with this key that waits for its start or for a retry. Does not stop work that runs. */
  drop(key: string): void
  /** Resolves when no work with this key waits or runs: at once if there is none. */
  done(key: string): Promise<void>
  /** Resolves when no work runs, waits to start or waits for a retry. */
  idle(): Promise<void>
  /**
   * Accepts no more work. Tries work that waits for a retry once more, and resolves when no work is left or after 5
   * seconds.
   */
  close(): Promise<void>
}

interface Work {
  key: string
  what: string
  work(): Promise<void>
}

/**
 * The capacity of each of the two queues, the one with retries and the one without. Further work is dropped, so that a
 * flood does not fill the memory.
 */
const MAX_WORKS = 256
/** The delays before the retries of failed work or of a failed message, in milliseconds. */
export const RETRY_DELAYS_MS = [1_000, 10_000, 60_000] as const

export function createBackground({
  clock,
  onError
}: {
  clock: Clock
  onError(error: unknown, what: string): void
}): Background {
  /** The keys of all work that waits or runs, each with the callers of `done` to resolve at its end. */
  const keys = new Map<string, Array<() => void>>()
  /** The keys of work that must not start any more. */
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
        // Zero attempts: the queue did not accept the work, so `keys` does not contain it.
        if (attempts > 0) ended(work)
        onError(error, work.what)
      },
      onError
    })
  const once = queueOf('works in the background', [])
  // A separate queue, so that retries during an outage do not fill the queue of other work.
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

/**
 * The number of checks of `lookLater`. Rejected checks do not count. If no check rejects, the last check is after 11
 * seconds, because a store may still write after the 5 seconds that it has for an answer.
 */
const LOOKS = 3

/**
 * Checks the outcome of a write whose answer was lost, in the background: at once, after 1 and after 11 seconds, until
 * `look` resolves to `true`. After a rejected `look`, a last check after 71 seconds can follow.
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
 * Shares running work between callers. A call with the key of running work gets the result of that run. A call after
 * the end of that run starts `work` again.
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

/** Like `onceUnderWay`, with running work of its own for each store. */
export function onceForStore<Result>(): (store: object, key: string, work: () => Promise<Result>) => Promise<Result> {
  const stores = new WeakMap<object, ReturnType<typeof onceUnderWay<Result>>>()
  return async (store, key, work) => {
    const once = stores.get(store) ?? onceUnderWay<Result>()
    stores.set(store, once)
    return await once(key, work)
  }
}
