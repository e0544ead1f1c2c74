/** One limit that an attempt must pass. `key` is canonical and contains no user input (see limits/attempt). */
export interface AttemptLimit {
  rule: string
  key: string
  windowMs: number
  max: number
}

export interface AttemptStanding {
  rule: string
  max: number
  windowMs: number
  /** The number of attempts that still pass now. */
  remaining: number
  /** Milliseconds until `remaining` grows by one. 0 if no attempt is counted. `windowMs` if `max` is below 1. */
  resetMs: number
}

export type AttemptOutcome =
  | { allowed: true; standings: AttemptStanding[] }
  /** `refusedBy`: the limit with the longest wait. `standings`: one entry for each limit. */
  | { allowed: false; refusedBy: AttemptStanding; standings: AttemptStanding[] }

/**
 * Counts attempts exactly: at most `max` attempts with one key pass within any `windowMs`, and the first `max` attempts
 * of a burst pass. Decides on all limits of one attempt in one step: reserves all of them or none. A method may return
 * its value directly (memory) or a promise (a server). It throws or rejects during an outage.
 */
export interface AttemptStore {
  /** `attemptId` is unique per attempt and names the reservation for `refund`. */
  reserve(attemptId: string, limits: readonly AttemptLimit[]): AttemptOutcome | Promise<AttemptOutcome>
  /** Gives a reservation back, as if the attempt had not been made. Idempotent; unknown ids are ignored. */
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
}

/**
 * The reaction to a store that fails or hangs. `local`: this process counts attempts by itself until the store is back.
 * `deny`: requests get 503. `allow`: no limit applies until the store is back.
 */
export type OnStoreError = 'local' | 'deny' | 'allow'
