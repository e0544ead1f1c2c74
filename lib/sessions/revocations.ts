import type { Clock } from '../ports/clock.ts'

/**
 * The refresh token families that this instance ended, for as long as an access token of theirs could still live. It makes a
 * revocation visible at once to `app.authenticate` here without a look at the store. Other instances' are seen by the
 * endpoints that do look.
 */
export interface Revocations {
  add(sid: string): void
  has(sid: string | undefined): boolean
}

export function revocations (tokenLifetimeMs: number, clock: Clock): Revocations {
  const until = new Map<string, number>()
  return {
    add (sid) {
      const now = clock.monotonic()
      // Insertion order is expiry order, for the lifetime is one for all: only the front can have expired.
      for (const [known, end] of until) {
        if (end > now) break
        until.delete(known)
      }
      until.delete(sid)
      until.set(sid, now + tokenLifetimeMs)
    },
    has: (sid) => until.size > 0 && sid !== undefined && until.has(sid)
  }
}
