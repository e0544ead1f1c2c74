import type { Clock } from '../ports/clock.ts'

/**
 * The refresh token families that this instance ended, for as long as an access token of theirs could still live. It
 * makes a revocation visible to `app.authenticate` here at once, without reading the store. The endpoints that read the
 * store see a revocation by another instance.
 */
export interface Revocations {
  add(sid: string): void
  has(sid: string | undefined): boolean
}

export function revocations(tokenLifetimeMs: number, clock: Clock): Revocations {
  const until = new Map<string, number>()
  return {
    add(sid) {
      const now = clock.monotonic()
      // All have the same lifetime, so they expire in the order in which they were added.
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
