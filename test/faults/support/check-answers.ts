/**
 * Rules for every answer to any request: its status, its delay, and that failures end with the fault that made them.
 */
import type { Violation } from './checker.ts'
import { type Entry, isOf, saidYes, wasLost } from './log.ts'
import { type Fault, overlaps, type Terms } from './terms.ts'

export function checkAnswers(entries: readonly Entry[], terms: Terms): Violation[] {
  const troubled = terms.faults.map((fault) => ({ ...fault, end: fault.end + fault.recoveryMs }))
  return entries.flatMap((entry) =>
    (entry.operation === 'ping' ? pingFaults(entry, terms) : answerFaults(entry, terms, troubled)).map(
      ([rule, message]) => ({ rule, message: `${entry.operation}: ${message}`, evidence: [entry] })
    )
  )
}

type Found = Array<readonly [Violation['rule'], string]>

function answerFaults(entry: Entry, { answerWithinMs }: Terms, troubled: readonly Fault[]): Found {
  const { outcome } = entry
  const found: Found = []
  const tookMs = Math.round(entry.end - entry.start)
  if (outcome.kind === 'timeout' || tookMs > answerWithinMs)
    found.push(['late', outcome.kind === 'timeout' ? `no answer in ${tookMs} ms` : `an answer after ${tookMs} ms`])
  if (outcome.kind === 'answer') {
    const { status, retryAfter } = outcome
    if (status >= 500 && status !== 503) found.push(['status', `status ${status}`])
    if ((status === 503 || status === 429) && !(Number(retryAfter) >= 1))
      found.push(['retry-after', `status ${status} with Retry-After ${retryAfter}`])
  }
  if (
    wasLost(entry) &&
    outcome.kind !== 'abandoned' &&
    !troubled.some((fault) => overlaps(fault, entry) && befalls(fault, entry))
  ) {
    found.push([
      'unavailable',
      `${outcome.kind === 'answer' ? `status ${outcome.status}` : outcome.kind === 'network' ? outcome.code : 'no answer'} ` +
        'where there was no fault'
    ])
  }
  return found
}

/** If no answer arrived, the client does not know the instance. */
const befalls = ({ instance }: Fault, entry: Entry): boolean =>
  instance === undefined || entry.instance === undefined || isOf(instance, entry)

/** Requests one instance directly, because the host's own routes must work during any failure of a store. */
function pingFaults(entry: Entry, { pingWithinMs, down }: Terms): Found {
  if (down.some((interval) => interval.instance === entry.instance && overlaps(interval, entry))) return []
  const tookMs = Math.round(entry.end - entry.start)
  if (!saidYes(entry))
    return [
      [
        'ping',
        `${entry.outcome.kind === 'answer' ? entry.outcome.status : entry.outcome.kind} of the ` +
          `host's route at ${entry.instance}`
      ]
    ]
  return tookMs > pingWithinMs ? [['ping', `the host's route took ${tookMs} ms at ${entry.instance}`]] : []
}

/** After every fault there is a calm in which all required operations succeed. */
export function checkRecovery(entries: readonly Entry[], { faults, mustSucceed }: Terms): Violation[] {
  const over = entries.reduce((last, { end }) => Math.max(last, end), -Infinity)
  return faults.flatMap((fault) => {
    const calmFrom = fault.end + fault.recoveryMs
    const next = faults.filter(({ start }) => start > fault.start).map(({ start }) => start)
    const calmUntil = Math.min(over, ...next)
    // If the next fault begins first, the calm after that one decides.
    if (calmUntil <= calmFrom && next.length > 0) return []
    const calm = entries.filter(({ start }) => start >= calmFrom && start <= calmUntil)
    return mustSucceed.flatMap((operation) => {
      const asked = calm.filter((entry) => entry.operation === operation)
      // Between two faults there may have been no time for a request, or limits refused all. Then the next calm
      // decides.
      if (asked.some(saidYes) || (next.length > 0 && !asked.some(wasLost))) return []
      return [
        {
          rule: 'not-recovered' as const,
          message: `no ${operation} succeeded after ${fault.name}`,
          evidence: asked.slice(0, 5)
        }
      ]
    })
  })
}
