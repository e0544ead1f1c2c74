import type { Violation } from './checker.ts'
import { DONE, type Result } from './scenario.ts'

interface Test {
  comment(...lines: string[]): void
  strictSame(found: unknown, wanted: unknown, message: string): unknown
  ok(value: unknown, message: string): unknown
  equal(found: unknown, wanted: unknown, message: string): unknown
  fail(message: string): unknown
}

const CLOSE_WITHIN_MS = 6000
/** Time for closing the connections to the stores on a busy machine with two processors. */
const EXIT_WITHIN_MS = 3000

/** Asserts that the checker found no violation, and that each operation succeeded at least once. */
export function expectHeld(t: Test, { violations, summary, succeeded, stopped, entries }: Result): void {
  for (const line of summary) t.comment(line)
  for (const violation of violations.slice(0, 20)) t.fail(described(violation).join('\n'))
  t.equal(violations.length, 0, 'no violation')
  t.strictSame(
    DONE.filter((operation) => succeeded[operation] === 0),
    [],
    'every operation succeeded'
  )
  t.ok(
    entries.some(({ outcome }) => outcome.kind === 'answer' && outcome.status === 429),
    'limits were reached'
  )
  t.strictSame(
    stopped.filter(({ closeMs, exitMs }) => closeMs > CLOSE_WITHIN_MS || exitMs === null || exitMs > EXIT_WITHIN_MS),
    [],
    'every instance closed in time and ended by itself'
  )
}

/** A violation and its first entries, one per line, with times in milliseconds since the start of this process. */
function described({ rule, message, evidence }: Violation): string[] {
  return [
    `${rule}: ${message}`,
    ...evidence.slice(0, 6).map(({ operation, start, end, outcome, instance, token, gave }) => {
      const how = outcome.kind === 'answer' ? `${outcome.status} ${outcome.error ?? ''}` : outcome.kind
      return (
        `  ${operation} ${Math.round(start)}-${Math.round(end)} ${how} of ${instance ?? 'nobody'} ` +
        `${token ?? ''} -> ${gave?.token ?? gave?.family ?? ''}`
      )
    })
  ]
}
