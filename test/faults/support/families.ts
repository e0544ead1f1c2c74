/**
 * Conclusions about the token families of a log: the start of each, the requests that surely ended it, and those that
 * may have.
 */
import { type Entry, groupedBy, mayHaveRun, saidYes, wasLimited, wasLost, wasRefused } from './log.ts'
import { overlaps, runsUntil, type Terms } from './terms.ts'

export interface Family {
  name: string
  user: string | undefined
  /** The sign-in, or the redemption of the code. */
  issuedBy: Entry
  /** The sign-in, or the authorization that gave the code. */
  allowedBy: Entry
  /** All requests with a credential of it, in order of their start. */
  entries: readonly Entry[]
  /** The requests that surely ended it: nothing that starts after the end of any of these may succeed. */
  ends: readonly Entry[]
  /** The requests that may have ended it, from their start on. The sure ones are among them. */
  possibleEnds: readonly Entry[]
}

/** A browser session is a family without tokens. An authorization begins it, and later ones use it. */
const BEGINS: ReadonlySet<Entry['operation']> = new Set(['sign-in', 'redeem', 'authorize'])

/** Only these operations advance the line of a family, or end it if they come too late. */
export const PRESENTS_REFRESH_TOKEN: ReadonlySet<Entry['operation']> = new Set(['rotate', 'refresh'])

export interface Tokens {
  /** Entries that presented the token at the token endpoint or at `POST /auth/refresh`. */
  presentations(token: string): readonly Entry[]
  /** The tokens that the client got for it. */
  successors(token: string): ReadonlySet<string>
}

export function tokensOf(entries: readonly Entry[]): Tokens {
  const byToken = groupedBy(
    entries.filter(({ operation }) => PRESENTS_REFRESH_TOKEN.has(operation)),
    ({ token }) => token
  )
  const successors = new Map<string, Set<string>>()
  for (const { operation, token, gave } of entries) {
    if (operation !== 'rotate' || token === undefined || gave?.token === undefined) continue
    successors.set(token, (successors.get(token) ?? new Set()).add(gave.token))
  }
  return {
    presentations: (token) => byToken.get(token) ?? [],
    successors: (token) => successors.get(token) ?? new Set()
  }
}

export function familiesOf(entries: readonly Entry[], terms: Terms): Family[] {
  const tokens = tokensOf(entries)
  const byFamily = groupedBy(entries, ({ family }) => family)
  const byUser = groupedBy(
    entries.filter(({ operation }) => operation === 'reset-confirm' || operation === 'change-password'),
    ({ user }) => user
  )
  const sessionEnds = groupedBy(
    entries.filter(({ operation }) => operation === 'sign-out'),
    ({ family }) => family
  )
  const redemptions = groupedBy(
    entries.filter(({ operation }) => operation === 'redeem'),
    ({ code }) => code
  )
  const authorizations = new Map(
    entries.flatMap((entry) => (entry.gave?.code === undefined ? [] : [[entry.gave.code, entry] as const]))
  )
  const families: Family[] = []
  const seen = new Set<string>()
  for (const issuedBy of entries) {
    const name = issuedBy.gave?.family
    if (name === undefined || seen.has(name) || !BEGINS.has(issuedBy.operation)) continue
    seen.add(name)
    const allowedBy = (issuedBy.code === undefined ? undefined : authorizations.get(issuedBy.code)) ?? issuedBy
    const own = byFamily.get(name) ?? []
    const revocations = own.filter(
      ({ operation }) => operation === 'revoke' || operation === 'end-session' || operation === 'sign-out'
    )
    const changes = (byUser.get(issuedBy.user ?? '') ?? []).filter(
      ({ operation, family }) => operation === 'reset-confirm' || family !== name
    )
    // A family that outlives its browser session has refresh tokens.
    const isOnline = issuedBy.operation === 'redeem' && issuedBy.gave?.token === undefined
    const signOuts = isOnline ? (sessionEnds.get(allowedBy.family ?? '') ?? []) : []
    const again = (issuedBy.code === undefined ? [] : (redemptions.get(issuedBy.code) ?? [])).filter(
      (entry) => entry !== issuedBy && !wasLimited(entry)
    )
    families.push({
      name,
      user: issuedBy.user,
      issuedBy,
      allowedBy,
      entries: own,
      ends: [
        ...[...revocations, ...signOuts].filter(saidYes),
        ...own.filter((entry) => wasRefused(entry) && isReplay(entry, tokens, terms)),
        // The user who changes the password stays signed in, in the browser as well.
        ...changes.filter(
          (change) =>
            saidYes(change) &&
            (change.operation === 'reset-confirm' || issuedBy.operation !== 'authorize') &&
            mustEnd(change, allowedBy)
        ),
        ...again.filter(wasRefused)
      ],
      possibleEnds: [
        ...[...revocations, ...signOuts].filter(mayHaveRun),
        ...changes.filter((change) => mayHaveRun(change) && (wasLost(change) || change.end >= allowedBy.start)),
        ...again,
        ...own.filter((entry) => mayBeReplay(entry, tokens, terms))
      ]
    })
  }
  return families
}

/** A password change ends earlier sign-ins, and those that the old password starts during it. */
function mustEnd(change: Entry, allowedBy: Entry): boolean {
  return (
    allowedBy.end <= change.start ||
    (allowedBy.start < change.end && allowedBy.password !== undefined && allowedBy.password !== change.newPassword)
  )
}

/**
 * True if the service must treat it as a replay, which ends the family: the token's successor was used, or its grace
 * period was over.
 */
function isReplay(
  entry: Entry,
  { presentations, successors }: Tokens,
  { graceMs, clockToleranceMs, faults }: Terms
): boolean {
  if (entry.token === undefined || !PRESENTS_REFRESH_TOKEN.has(entry.operation)) return false
  const rotations = (token: string): Entry[] =>
    presentations(token).filter(
      (other) => other !== entry && other.operation === 'rotate' && saidYes(other) && other.end < entry.start
    )
  if ([...successors(entry.token)].some((successor) => rotations(successor).length > 0)) return true
  // The grace period stands still during an outage.
  return rotations(entry.token).some(
    ({ start, end }) =>
      end + graceMs + clockToleranceMs < entry.start &&
      !faults.some((fault) => overlaps(fault, { start, end: entry.end }))
  )
}

/**
 * True if the service may treat the presented token as a replay: its successor was presented before, or it was replaced
 * longer ago than the grace period. A request that the client gave up may be carried out after later ones. A token
 * whose every answer was lost counts for as long as the scenario promises.
 */
export function mayBeReplay(entry: Entry, { presentations, successors }: Tokens, terms: Terms): boolean {
  if (entry.token === undefined || !PRESENTS_REFRESH_TOKEN.has(entry.operation) || wasLimited(entry)) return false
  for (const successor of successors(entry.token)) {
    if (
      presentations(successor).some(
        (later) => later.operation === 'rotate' && mayHaveRun(later) && later.start < runsUntil(entry, terms)
      )
    )
      return true
  }
  const before = presentations(entry.token).filter(
    (other) => other !== entry && other.operation === 'rotate' && mayHaveRun(other) && other.start < entry.end
  )
  const first = before[0]
  if (first === undefined || entry.end <= first.start + terms.graceMs - terms.clockToleranceMs) return false
  // A request that the client gave up and the service answered has replaced its token, as far as the service knows.
  if (!before.every((other) => wasLost(other) && other.wasDone !== true)) return true
  // While the service still works on a request that the client gave up, no answer has been lost yet.
  if (
    before.some(
      ({ start, end, doneBy }) =>
        doneBy !== undefined &&
        end < entry.start &&
        doneBy > entry.start &&
        entry.end > start + terms.graceMs - terms.clockToleranceMs
    )
  )
    return true
  return entry.end > lostAnswerCountsUntil(before, terms)
}

function lostAnswerCountsUntil(lost: readonly Entry[], { faults, retryWithinMs }: Terms): number {
  const ends = faults
    .filter((fault) => lost.some(({ start, end }) => start <= fault.end && end >= fault.start))
    .map(({ end }) => end)
  return Math.max(-Infinity, ...ends.map((end) => end + retryWithinMs))
}
