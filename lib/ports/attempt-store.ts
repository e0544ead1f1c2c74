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
  | { allowed: true, standings: AttemptStanding[] }
  /** `refusedBy` is the limit that takes longest to pass again; `standings` are all of them. */
  | { allowed: false, refusedBy: AttemptStanding, standings: AttemptStanding[] }

/**
 * Counts attempts. Exact: in no span of `windowMs`, however placed, are more than `max` of one key allowed, and the first
 * `max` of a burst are. All limits of one attempt are decided in one step: all are reserved or none.
 * May answer at once (memory) or by a promise (a server). An outage rejects or throws.
 */
export interface AttemptStore {
  /** `attemptId` is unique per attempt and names the reservation for `refund`. */
  reserve(attemptId: string, limits: readonly AttemptLimit[]): AttemptOutcome | Promise<AttemptOutcome>
  /** Gives a reservation back, as if the attempt had not been made. Idempotent; unknown ids are ignored. */
  refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
  /** Whether what answers by a promise settles within 250 ms by itself, so that nobody has to watch it. */
  readonly punctual?: boolean
}

/**
 * An attempt in the hands of a store that may keep the counters beside its records: it can then count the attempt in the same step as
 * what is attempted, and nothing happens where a limit refuses.
 */
export interface OpenAttempt {
  readonly id: string
  readonly limits: readonly AttemptLimit[]
  /** Those that count failures only: where the attempt succeeds, they get it back. */
  readonly givenBack: readonly AttemptLimit[]
  /** Where it is counted. A store that knows nothing of these counters leaves the attempt alone. */
  readonly counters: AttemptStore
  /** Counts it in a step of its own, for a store that finds that it can't. Rejects as `counters` do. */
  reserve(): AttemptOutcome | Promise<AttemptOutcome>
}

/** What a store made of an `OpenAttempt`. */
export interface CountedAttempt {
  outcome: AttemptOutcome
  /** Whether `givenBack` has been given back. */
  givenBack: boolean
}
