import type { AssertionStore } from '../../ports/assertion-store.ts'

interface MemoryAssertionStore extends AssertionStore {
  /** Every digest, to sweep by. */
  digests(): Iterable<string>
  /** Removes the assertion if it has expired at `now`. */
  sweepAssertion(digest: string, now: number): void
}

/** Claimed assertions in memory. No method awaits before it has done its work. */
export function memoryAssertionStore(): MemoryAssertionStore {
  const claimed = new Map<string, number>()
  return {
    async claim(digest, expiresAt) {
      if (claimed.has(digest)) return 'replayed'
      claimed.set(digest, expiresAt)
      return 'fresh'
    },
    digests: () => claimed.keys(),
    sweepAssertion(digest, now) {
      if ((claimed.get(digest) ?? Infinity) <= now) claimed.delete(digest)
    }
  }
}
