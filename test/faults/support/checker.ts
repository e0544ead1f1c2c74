/**
 * Reads the log of a scenario and reports violations. Pure: the same log and terms give the same report. Reports only
 * logs that no order of events inside the service could explain, so each report is a fault.
 */
import { checkAnswers, checkRecovery } from './check-answers.ts'
import { checkAccounts, checkFamiliesLast } from './check-lasting.ts'
import { checkLimits } from './check-limits.ts'
import { checkCodes, checkForks, checkOneTimeTokens, checkReplays } from './check-lineage.ts'
import { checkRevoked, checkRevokedCodes } from './check-revocations.ts'
import { familiesOf, tokensOf } from './families.ts'
import { type Entry, isOf } from './log.ts'
import { type Excuse, overlaps, type RuleName, type Terms } from './terms.ts'

export interface Violation {
  rule: RuleName
  message: string
  /** The entries that show the violation, and no others. */
  evidence: readonly Entry[]
  /** A loss in a store explains every later event of that family. */
  family?: string
}

export interface Report {
  violations: Violation[]
  excused: Array<{ excuse: Excuse; violation: Violation }>
}

export function check(entries: readonly Entry[], terms: Terms): Report {
  const ordered = entries.toSorted((a, b) => a.start - b.start)
  const tokens = tokensOf(ordered)
  const families = familiesOf(ordered, terms)
  const found: Violation[] = [
    ...checkCodes(ordered),
    ...checkOneTimeTokens(ordered),
    ...checkForks(ordered),
    ...checkReplays(ordered, tokens, terms),
    ...checkRevoked(families),
    ...checkRevokedCodes(ordered),
    ...checkLimits(ordered, terms),
    ...checkFamiliesLast(families, tokens, terms),
    ...checkAccounts(ordered, terms),
    ...checkAnswers(ordered, terms),
    ...checkRecovery(ordered, terms)
  ]
  return excuseAll(found, terms.excuses)
}

function excuseAll(found: readonly Violation[], excuses: readonly Excuse[]): Report {
  const report: Report = { violations: [], excused: [] }
  const lost = new Map<string, Excuse>()
  for (const violation of found) {
    const excuse = excuseOf(violation, excuses)
    if (excuse !== undefined && violation.family !== undefined) lost.set(violation.family, excuse)
  }
  for (const violation of found) {
    const inherited = violation.family === undefined ? undefined : lost.get(violation.family)
    const excuse =
      excuseOf(violation, excuses) ?? (inherited?.rules.includes(violation.rule) === true ? inherited : undefined)
    if (excuse === undefined) report.violations.push(violation)
    else report.excused.push({ excuse, violation })
  }
  return report
}

function excuseOf({ rule, evidence }: Violation, excuses: readonly Excuse[]): Excuse | undefined {
  return excuses.find(
    (excuse) =>
      excuse.rules.includes(rule) &&
      evidence.some(
        (entry) => overlaps(entry, excuse) && (excuse.instance === undefined || isOf(excuse.instance, entry))
      )
  )
}
