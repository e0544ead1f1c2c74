/** A summary of a scenario: the outcomes of each operation, and their times. */
import type { Report } from './checker.ts'
import { type Entry, groupedBy, type Operation, OPERATIONS, saidYes } from './log.ts'

export interface Summary {
  summary: string[]
  succeeded: Readonly<Record<Operation, number>>
}

export function summarize(entries: readonly Entry[], { violations, excused }: Report): Summary {
  const groups = groupedBy(entries, ({ operation }) => operation)
  const succeeded = Object.fromEntries(
    OPERATIONS.map((operation) => [operation, (groups.get(operation) ?? []).filter(saidYes).length])
  ) as Record<Operation, number>
  const lines = OPERATIONS.flatMap((operation) => {
    const group = groups.get(operation)
    return group === undefined ? [] : [`${operation}: ${outcomes(group)}; ${latencies(group)}`]
  })
  const reasons = groupedBy(
    excused.flatMap(({ violation }) => violation.evidence.slice(-1)),
    () => 'all'
  )
  return {
    succeeded,
    summary: [
      `${entries.length} requests`,
      ...lines,
      `${violations.length} violations, ${excused.length} ` +
        `excused${reasons.size === 0 ? '' : `: ${[...new Set(excused.map(({ excuse }) => excuse.reason))].join('; ')}`}`
    ]
  }
}

function outcomes(group: readonly Entry[]): string {
  const counts = groupedBy(group, ({ outcome }) =>
    outcome.kind === 'answer'
      ? `${outcome.status}${outcome.active === false ? ' inactive' : ''}`
      : outcome.kind === 'network'
        ? outcome.code
        : outcome.kind
  )
  return [...counts].map(([name, { length }]) => `${length} × ${name}`).join(', ')
}

/** The median, the 99th percentile and the maximum, in milliseconds. */
function latencies(group: readonly Entry[]): string {
  const sorted = group.map(({ start, end }) => end - start).toSorted((a, b) => a - b)
  const at = (share: number): number =>
    Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(1)} ms`
}
