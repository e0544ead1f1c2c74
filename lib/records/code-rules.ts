import type { CodeRedemption, NewAuthorizationCode, RedeemOutcome } from '../ports/token-store.ts'
import type { SessionUse } from '../ports/session-store.ts'
import { aliveHeld } from './family-record.ts'
import { addHeld, enlist, replayed } from './family-rules.ts'
import { useSession } from './session-rules.ts'
import { indexIn } from './user-index.ts'
import type { View } from './view.ts'

/** A code is a family in waiting, which ends when the code does. */
export function createCode(
  view: View,
  { codeDigest, codeExpiresAt, ...code }: NewAuthorizationCode,
  use: SessionUse | undefined,
  max: number
): boolean {
  const { userId, createdAt } = code
  if (use !== undefined) {
    // The index first: a session that a lost index named counts no more.
    indexIn(view, userId)
    if (!useSession(view, use)) return false
  }
  const family = {
    ...code,
    lastUsedAt: createdAt,
    expiresAt: codeExpiresAt,
    idleExpiresAt: codeExpiresAt,
    userAgent: null
  }
  addHeld(view, { family, codeDigest, currentDigest: null, previous: null, holders: 0 }, max)
  return true
}

export function redeemCode(view: View, redemption: CodeRedemption, max: number): RedeemOutcome {
  const { sid, digest, clientId, now, tokenDigest, onlineExpiresAt, userAgent } = redemption
  const held = aliveHeld(view, sid, now)
  // The client is compared before anything is revoked, or one client could end what another was given.
  if (held === null || held.codeDigest === null || held.family.clientId !== clientId) return { outcome: 'unknown' }
  const index = indexIn(view, held.family.userId)
  if (aliveHeld(view, sid, now) === null) return { outcome: 'unknown' }
  if (held.currentDigest !== null || held.codeDigest !== digest) return replayed(view, held)
  const ends = held.family.offline
    ? { expiresAt: redemption.expiresAt, idleExpiresAt: redemption.idleExpiresAt }
    : { expiresAt: onlineExpiresAt, idleExpiresAt: onlineExpiresAt }
  const family = { ...held.family, lastUsedAt: now, ...ends, userAgent }
  enlist(view, index, { ...held, currentDigest: tokenDigest, family }, max, now)
  return { outcome: 'redeemed', family }
}
