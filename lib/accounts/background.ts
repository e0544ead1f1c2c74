import type { AccountsDeps } from './deps.ts'

/** At most this many works at once over one user store. What comes on top is dropped: a flood must not become a queue. */
const MAX_WORKS = 256

interface Works {
  running: Map<string, Promise<void>>
  /** An overload is reported once, not once a request. */
  overloaded: boolean
}

const worksOf = new WeakMap<AccountsDeps['users'], Works>()

/**
 * Starts work that no reply waits for; its failure goes to `onError`. Of the works with one `key` one runs at a time: while
 * it does, another is dropped, for it would do the same. Returns at once and never throws.
 */
export function inBackground ({ users, onError }: Pick<AccountsDeps, 'users' | 'onError'>, key: string, what: string, work: () => Promise<void>): void {
  const works = worksOf.get(users) ?? { running: new Map<string, Promise<void>>(), overloaded: false }
  worksOf.set(users, works)
  if (works.running.has(key)) return
  if (works.running.size >= MAX_WORKS) {
    if (!works.overloaded) onError(new Error(`More than ${MAX_WORKS} works wait for the stores; new ones are dropped until one ends.`), what)
    works.overloaded = true
    return
  }
  const run = async (): Promise<void> => {
    try {
      // A turn of the event loop, not a microtask: over a store that answers at once (SQLite), all of the work would else be done
      // before the reply leaves, and the reply's time would tell what the work found.
      await new Promise((resolve) => { setImmediate(resolve) })
      await work()
    } catch (error) {
      onError(error, what)
    } finally {
      works.running.delete(key)
      works.overloaded = false
    }
  }
  works.running.set(key, run())
}

/** Resolves when nothing runs in the background any more: for an orderly end, and for tests. */
export async function backgroundIdle ({ users }: Pick<AccountsDeps, 'users'>): Promise<void> {
  const running = worksOf.get(users)?.running
  while (running !== undefined && running.size > 0) await Promise.all(running.values())
}
