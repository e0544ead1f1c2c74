/** A confirmed write is never undone: families, accounts and passwords last until a logged action ends them. */
import type { Violation } from './checker.ts'
import { type Family, mayBeReplay, type Tokens } from './families.ts'
import { type Entry, groupedBy, mayHaveRun, saidYes, wasLost, wasRefused } from './log.ts'
import { runsUntil, type Terms } from './terms.ts'

const NEEDS_FAMILY: ReadonlySet<Entry['operation']> = new Set([
  'rotate',
  'refresh',
  'userinfo',
  'introspect',
  'sessions',
  'authorize'
])

/** Refusals of a family that no user has ended, and that the client has not ended by a replay. */
export function checkFamiliesLast(families: readonly Family[], tokens: Tokens, terms: Terms): Violation[] {
  const found: Violation[] = []
  for (const { name, issuedBy, entries, possibleEnds } of families) {
    const firstEnd = Math.min(Infinity, ...possibleEnds.map(({ start }) => start))
    for (const entry of entries) {
      if (
        !NEEDS_FAMILY.has(entry.operation) ||
        !wasRefused(entry) ||
        firstEnd < entry.end ||
        mayBeReplay(entry, tokens, terms)
      )
        continue
      if (entry.expiresAt !== undefined && entry.end >= entry.expiresAt) continue
      const lost =
        entry.token === undefined
          ? []
          : tokens
              .presentations(entry.token)
              .filter((other) => other.operation === 'rotate' && wasLost(other) && other.start < entry.start)
      const rule = entry.operation === 'rotate' && lost.length > 0 ? 'lost-refresh' : 'undone'
      const source = entries.findLast((other) => other.start < entry.start && saidYes(other)) ?? issuedBy
      found.push({
        rule,
        message:
          rule === 'undone'
            ? `${entry.operation} refused the family ${name}, which nobody ended`
            : `the family ${name} was refused when the refresh was tried again ${lost.length} lost answers later`,
        evidence: [giverOf(entry, entries) ?? source, ...lost, entry],
        family: name
      })
    }
  }
  return found
}

const giverOf = (entry: Entry, entries: readonly Entry[]): Entry | undefined =>
  entry.token === undefined ? undefined : entries.find(({ gave }) => gave?.token === entry.token)

/** Changes of a user's password, the registration first. */
export function checkAccounts(entries: readonly Entry[], terms: Terms): Violation[] {
  const found: Violation[] = []
  for (const [user, own] of groupedBy(entries, ({ user }) => user)) {
    const registrations = own.filter((entry) => entry.operation === 'register' && saidYes(entry))
    if (registrations.length > 1)
      found.push({
        rule: 'undone',
        message: `${user} was registered ${registrations.length} times`,
        evidence: registrations
      })
    const changes = own.filter((entry) => setsPassword(entry) !== undefined && mayHaveRun(entry))
    for (const entry of own) {
      if ((entry.operation !== 'sign-in' && entry.operation !== 'authorize') || entry.password === undefined) continue
      // An authorization by a browser session shows no password.
      const last = latest(changes.filter((change) => saidYes(change) && change.end <= entry.start))
      if (last === undefined) continue
      const unsure = changes.filter(
        (change) => change !== last && runsUntil(change, terms) > last.start && change.start < entry.end
      )
      const current = setsPassword(last)
      if (wasRefused(entry) && entry.password === current && unsure.length === 0) {
        found.push({
          rule: 'undone',
          message: `${user} could not ${entry.operation} with the password of an accepted ${last.operation}`,
          evidence: [last, entry]
        })
      }
      if (
        saidYes(entry) &&
        entry.password !== current &&
        !unsure.some((change) => setsPassword(change) === entry.password)
      ) {
        found.push({
          rule: 'undone',
          message: `${user} could ${entry.operation} with a password that an accepted ${last.operation} had replaced`,
          evidence: [last, entry]
        })
      }
    }
  }
  return found
}

function setsPassword({ operation, password, newPassword }: Entry): string | undefined {
  return operation === 'register'
    ? password
    : operation === 'reset-confirm' || operation === 'change-password'
      ? newPassword
      : undefined
}

const latest = (entries: readonly Entry[]): Entry | undefined =>
  entries.reduce<Entry | undefined>(
    (last, entry) => (last === undefined || entry.start > last.start ? entry : last),
    undefined
  )
