/** A revoked credential is not accepted by any request that starts after the answer to the revocation. */
import type { Violation } from './checker.ts'
import type { Family } from './families.ts'
import { type Entry, groupedBy, saidYes } from './log.ts'

const ACCEPTS: ReadonlySet<Entry['operation']> = new Set([
  'rotate',
  'refresh',
  'userinfo',
  'introspect',
  'sessions',
  'authorize',
  'change-password'
])

export function checkRevoked(families: readonly Family[]): Violation[] {
  const found: Violation[] = []
  for (const family of families) {
    if (family.ends.length === 0) continue
    const end = family.ends.reduce((first, other) => (other.end < first.end ? other : first))
    for (const entry of family.entries) {
      if (!ACCEPTS.has(entry.operation) || !saidYes(entry) || entry.start <= Math.max(end.end, family.issuedBy.end))
        continue
      found.push({
        rule: 'revoked-accepted',
        message: `${entry.operation} accepted the family ${family.name} after ${end.operation} had ended it`,
        evidence: [end, entry],
        family: family.name
      })
    }
  }
  return found
}

/**
 * A code counts as a family: everything that revokes the user's families, or ends its browser session, revokes it too.
 */
export function checkRevokedCodes(entries: readonly Entry[]): Violation[] {
  const found: Violation[] = []
  const resets = groupedBy(
    entries.filter(
      (entry) => (entry.operation === 'reset-confirm' || entry.operation === 'change-password') && saidYes(entry)
    ),
    ({ user }) => user
  )
  const signOuts = groupedBy(
    entries.filter((entry) => entry.operation === 'sign-out' && saidYes(entry)),
    ({ family }) => family
  )
  const logins = new Map(
    entries.flatMap((entry) =>
      entry.operation === 'authorize' && entry.gave?.family !== undefined ? [[entry.gave.family, entry] as const] : []
    )
  )
  const authorizations = new Map(
    entries.flatMap((entry) => (entry.gave?.code === undefined ? [] : [[entry.gave.code, entry] as const]))
  )
  for (const entry of entries) {
    if (entry.operation !== 'redeem' || !saidYes(entry) || entry.code === undefined) continue
    const authorization = authorizations.get(entry.code)
    if (authorization === undefined) continue
    const session = authorization.family
    const login = session === undefined ? undefined : logins.get(session)
    const reset = (resets.get(entry.user ?? '') ?? []).find(
      ({ operation, start, end }) =>
        end < entry.start &&
        (authorization.end <= start ||
          // The session ends too. A code issued at the same time is issued before and revoked, or refused after.
          (operation === 'reset-confirm' && login !== undefined && login.end <= start && authorization.start < end))
    )
    const signOut = (signOuts.get(session ?? '') ?? []).find(({ end }) => end < entry.start)
    if (signOut !== undefined)
      found.push({
        rule: 'revoked-accepted',
        message: 'a code of a browser session was redeemed after its sign-out',
        evidence: [signOut, entry]
      })
    if (reset !== undefined)
      found.push({
        rule: 'revoked-accepted',
        message: `a code of before ${reset.operation} was redeemed after it`,
        evidence: [reset, entry]
      })
  }
  return found
}
