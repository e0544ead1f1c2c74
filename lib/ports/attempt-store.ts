/** One limit that an attempt must pass. `key` is canonical and holds no user's bytes (see limits/attempt-keys). */
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
  /** How many more pass now. */
  remaining: number
  /** Until one more than now passes again; 0 where nothing is counted. */
  resetMs: number
}

export type AttemptOutcome =
  | { allowed: true; standings: AttemptStanding[] }
  /** `refusedBy` is the limit that takes longest to pass again; `standings` are all of them. */
  | { allowed: false; refusedBy: AttemptStanding; standings: AttemptStanding[] }

/**
 * Counts attempts. Exact: in no span of `windowMs`, however placed, are more than `max` of one key allowed, and the
 * first `max` of a burst are. All limits of one attempt are decided in one step: all are reserved or none. May answer
 * at once (memory) or by a promise (a server). An outage rejects or throws.
 */
export interface AttemptStore {
  /** `attemptId` is unique per attempt and names the reservation for `refund`. */
  reserve(attemptId: string, limits: readonly AttemptLimit[]): AttemptOutcome | Promise<AttemptOutcome>
  /** Gives a reservation back, as if the attempt had not been made. Idempotent; unknown ids are ignored. */
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
}

/**
 * The consequence of a failing or hanging store. `local`: this process counts for itself meanwhile; `deny`: 503;
 * `allow`: no limits meanwhile.
 */
export type OnStoreError = 'local' | 'deny' | 'allow'
