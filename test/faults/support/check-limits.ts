/** In any window, at most as many attempts of a key pass as its rule allows. */
import type { Violation } from './checker.ts'
import { type Entry, wasLost } from './log.ts'
import type { LimitTerm, Terms } from './terms.ts'

/**
 * An attempt was counted at an unknown moment between its start and its end. So only attempts that lie completely in
 * the window count. If these exceed `max`, no choice of the moments explains it.
 */
export function checkLimits(entries: readonly Entry[], { limits, limitsPer }: Terms): Violation[] {
  const groups = new Map<string, { rule: string; term: LimitTerm; passed: Entry[] }>()
  for (const entry of entries) {
    for (const { rule, key } of entry.attempts ?? []) {
      const term = limits[rule]
      if (term === undefined || !surelyPassed(entry, term)) continue
      const name = `${rule} ${key}${limitsPer === 'fleet' ? '' : ` at ${entry.instance}`}`
      const group = groups.get(name)
      if (group === undefined) groups.set(name, { rule, term, passed: [entry] })
      else group.passed.push(entry)
    }
  }
  return [...groups].flatMap(([name, { term, passed }]) => {
    const evidence = crowdedWindow(passed, term)
    return evidence === null
      ? []
      : [
          {
            rule: 'limit' as const,
            message: `${evidence.length} attempts passed in ${term.windowMs} ms, and ${term.max} may: ${name}`,
            evidence
          }
        ]
  })
}

function surelyPassed(entry: Entry, { count }: LimitTerm): boolean {
  if (wasLost(entry) || entry.outcome.kind !== 'answer' || entry.outcome.status === 429) return false
  return count === 'all' || entry.outcome.status >= 400
}

/**
 * The fullest of the windows with too many, if there is one. A window is half open, so its first and its last instant
 * are `windowMs` apart.
 */
function crowdedWindow(passed: readonly Entry[], { windowMs, max }: LimitTerm): Entry[] | null {
  let fullest: Entry[] = []
  const byStart = passed.toSorted((a, b) => a.start - b.start)
  for (const [index, { start }] of byStart.entries()) {
    const within: Entry[] = []
    for (const entry of byStart.slice(index, index + 50 * max)) {
      if (entry.start >= start + windowMs) break
      if (entry.end < start + windowMs) within.push(entry)
    }
    if (within.length > fullest.length) fullest = within
  }
  return fullest.length > max ? fullest : null
}
