/** A code works once. The refresh tokens of a family form one line, and a token outside of it stays invalid. */
import type { Violation } from './checker.ts'
import { PRESENTS_REFRESH_TOKEN, type Tokens } from './families.ts'
import { type Entry, groupedBy, saidYes } from './log.ts'
import { overlaps, type Terms } from './terms.ts'

export function checkCodes(entries: readonly Entry[]): Violation[] {
  const redeemed = groupedBy(
    entries.filter((entry) => entry.operation === 'redeem' && saidYes(entry)),
    ({ code }) => code
  )
  return [...redeemed]
    .filter(([, group]) => group.length > 1)
    .map(([code, evidence]) => ({
      rule: 'code-twice',
      message: `the code ${code} was redeemed ${evidence.length} times`,
      evidence
    }))
}

/**
 * A token of an email works once, for any number of presentations. Two requests that set the same password at the same
 * time count as one: if something fails half-way, the same request finishes it.
 */
export function checkOneTimeTokens(entries: readonly Entry[]): Violation[] {
  const isTwice = ([first, ...others]: readonly Entry[]): boolean =>
    first !== undefined && others.some((other) => other.newPassword !== first.newPassword || !overlaps(other, first))
  return [...groupedBy(entries.filter(saidYes), ({ mail }) => mail)]
    .filter(([, group]) => isTwice(group))
    .map(([mail, evidence]) => ({
      rule: 'one-time-twice',
      message: `the one-time token ${mail} worked ${evidence.length} times`,
      evidence
    }))
}

export function checkForks(entries: readonly Entry[]): Violation[] {
  const found: Violation[] = []
  const rotations = entries.filter(
    (entry) => entry.operation === 'rotate' && saidYes(entry) && entry.gave?.token !== undefined
  )
  for (const [token, group] of groupedBy(rotations, ({ token }) => token)) {
    const successors = new Set(group.map(({ gave }) => gave?.token))
    if (successors.size > 1)
      found.push({
        rule: 'fork',
        message: `the refresh token ${token} has ${successors.size} successors`,
        evidence: group
      })
  }
  // The first token of a family has no predecessor, and no rotation may lead back to it.
  const givers = entries.filter((entry) => saidYes(entry) && entry.gave?.token !== undefined)
  for (const [token, group] of groupedBy(givers, ({ gave }) => gave?.token)) {
    const predecessors = new Set(group.map((entry) => (entry.operation === 'rotate' ? entry.token : 'nothing')))
    if (predecessors.size > 1)
      found.push({
        rule: 'fork',
        message: `the refresh token ${token} succeeds ${predecessors.size} others`,
        evidence: group
      })
  }
  const families = groupedBy(givers, ({ gave }) => gave?.family)
  for (const [family, group] of families) {
    const beginnings = group.filter(({ operation }) => operation !== 'rotate')
    if (beginnings.length > 1)
      found.push({
        rule: 'fork',
        message: `the family ${family} began ${beginnings.length} times`,
        evidence: beginnings
      })
  }
  return found
}

/** After the grace time, and as soon as its successor was used, a replaced token gets nothing. */
export function checkReplays(
  entries: readonly Entry[],
  { presentations, successors }: Tokens,
  terms: Terms
): Violation[] {
  const found: Violation[] = []
  for (const entry of entries) {
    if (entry.token === undefined || !PRESENTS_REFRESH_TOKEN.has(entry.operation) || !saidYes(entry)) continue
    const rotations = (token: string): Entry[] =>
      presentations(token).filter((other) => other !== entry && other.operation === 'rotate' && saidYes(other))
    const next = [...successors(entry.token)].flatMap(rotations).find(({ end }) => end < entry.start)
    if (next !== undefined)
      found.push({
        rule: 'replay-accepted',
        message: `the refresh token ${entry.token} was accepted after its successor was used`,
        evidence: [next, entry]
      })
    const own = rotations(entry.token).find(({ end }) => end + terms.graceMs + terms.clockToleranceMs < entry.start)
    if (own !== undefined)
      found.push({
        rule: 'replay-accepted',
        message:
          `the refresh token ${entry.token} was accepted ${Math.round(entry.start - own.end)} ms ` +
          'after it was replaced',
        evidence: [own, entry]
      })
  }
  return found
}
