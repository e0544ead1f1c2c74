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
  /** Time until one more attempt passes; 0 if nothing is counted. */
  resetMs: number
}

export type AttemptOutcome =
  | { allowed: true; standings: AttemptStanding[] }
  /** `refusedBy` is the limit with the longest wait. `standings` are all limits. */
  | { allowed: false; refusedBy: AttemptStanding; standings: AttemptStanding[] }

/**
 * Counts attempts exactly: within any `windowMs`, at most `max` attempts of one key are allowed, and the first `max` of
 * a burst are. All limits of one attempt are decided in one step: all are reserved or none. May answer synchronously
 * (memory) or by a promise (a server). An outage rejects or throws.
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
