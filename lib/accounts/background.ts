import { boundedQueue } from '../delivery/bounded-queue.ts'
import type { Clock } from '../ports/clock.ts'

/** Work that no reply waits for. */
export interface Background {
  /**
   * Begins `work` in a later turn of the event loop; its failure goes to `onError`. Work with one `key` runs one at a time: while
   * it does, another is dropped, for it would do the same. Returns at once and never throws.
   */
  run(key: string, what: string, work: () => Promise<void>): void
  /** Resolves when no work with this key waits or runs: at once where none does. */
  done(key: string): Promise<void>
  /** Resolves when nothing runs any more. */
  idle(): Promise<void>
  /** Takes no more, and resolves when nothing runs any more or after 5 seconds. */
  close(): Promise<void>
}

/** At most this many works run at once. None waits for its turn, and what comes on top is dropped: a flood must not become a queue. */
const MAX_WORKS = 256

export function createBackground ({ clock, onError }: { clock: Clock, onError(error: unknown, what: string): void }): Background {
  /** Of each key, who waits for the end of its work. */
  const keys = new Map<string, Array<() => void>>()
  const { add, idle, close } = boundedQueue<{ key: string, what: string, work(): Promise<void> }>({
    tasks: 'works in the background',
    capacity: MAX_WORKS,
    maxInFlight: MAX_WORKS,
    clock,
    async attempt ({ key, work }) {
      try {
        await work()
      } finally {
        const waiting = keys.get(key) ?? []
        keys.delete(key)
        for (const resolve of waiting) resolve()
      }
    },
    onGivenUp: ({ what }, error) => { onError(error, what) },
    onError
  })
  return {
    run (key, what, work) {
      if (!keys.has(key) && add({ key, what, work })) keys.set(key, [])
    },
    async done (key) {
      const waiting = keys.get(key)
      if (waiting !== undefined) await new Promise<void>((resolve) => { waiting.push(resolve) })
    },
    idle,
    close
  }
}
