/**
 * The promises to which a scenario holds the service, and the exceptions in the docs. Times are milliseconds on the
 * clock of the log.
 */
import { type Entry, type Operation, wasLost } from './log.ts'

export type RuleName =
  | 'code-twice'
  | 'one-time-twice'
  | 'fork'
  | 'replay-accepted'
  | 'revoked-accepted'
  | 'limit'
  | 'undone'
  | 'lost-refresh'
  | 'status'
  | 'retry-after'
  | 'late'
  | 'ping'
  | 'unavailable'
  | 'not-recovered'

export interface Interval {
  start: number
  end: number
}

export interface Fault extends Interval {
  name: string
  /** The time after its end in which requests may still fail. */
  recoveryMs: number
  /** The only affected instance, by its name without the incarnation. Requests to others continue. */
  instance?: string
}

export interface LimitTerm {
  windowMs: number
  max: number
  count: 'all' | 'failed'
}

/** An announced loss of a store: violations of these rules with evidence in the interval are counted separately. */
export interface Excuse extends Interval {
  rules: readonly RuleName[]
  reason: string
  /** The only instance for which it is true, by its name without the incarnation. */
  instance?: string
}

export interface Terms {
  /** `reuseGraceSeconds`, in milliseconds. */
  graceMs: number
  /** The allowed difference between the service's and the log's measure of a time span. */
  clockToleranceMs: number
  limits: Readonly<Record<string, LimitTerm>>
  /** True if all instances count together; else each counts for itself. */
  limitsPer: 'fleet' | 'instance'
  /** No answer takes longer, whatever happens. */
  answerWithinMs: number
  pingWithinMs: number
  /** Requests may be cut off or answered 503 only from the start of a fault until `recoveryMs` after its end. */
  faults: readonly Fault[]
  /** A refresh whose answers were all lost in a fault works until this long after its end. */
  retryWithinMs: number
  /** The planned absences of an instance: `instance` is its name without the incarnation. */
  down: ReadonlyArray<Interval & { instance: string }>
  /** Operations that must succeed at least once in every calm that follows a fault. */
  mustSucceed: readonly Operation[]
  excuses: readonly Excuse[]
}

export const overlaps = (a: Interval, b: Interval): boolean => a.start <= b.end && a.end >= b.start

/** The time until which a request may still be carried out. A lost one may run until the end of the fault. */
export function runsUntil(entry: Entry, { faults, retryWithinMs, answerWithinMs }: Terms): number {
  if (!wasLost(entry)) return entry.end
  const ends = faults
    .filter(({ start, end }) => entry.start <= end && entry.end >= start)
    .map(({ end, recoveryMs }) => end + Math.max(recoveryMs, retryWithinMs))
  return Math.max(entry.doneBy ?? entry.end + answerWithinMs, ...ends)
}
