import type {
  CodeRedemption,
  EndedSession,
  NewAuthorizationCode,
  NewRefreshTokenFamily,
  RedeemOutcome,
  RefreshTokenFamily,
  RotateOutcome,
  RotationUndo,
  Successor,
  TokenUse,
  UseOutcome
} from '../ports/token-store.ts'
import {
  aliveFamiliesIn,
  aliveFamily,
  aliveHeld,
  familyEntryOf,
  type Held,
  type HeldFamily,
  isFamilyAliveAt,
  presented,
  putFamily,
  storedFamily
} from './family-record.ts'
import { formatAuthorizationDetails, readAuthorizationDetails } from '../protocol/authorization-request.ts'
import { familyKey, type View } from './view.ts'
import { endSession, useSession } from './session-rules.ts'
import { type Entry, indexIn, ownerOfIndex, recordKeyOf, type UserIndex } from './user-index.ts'
import type { SessionUse } from '../ports/session-store.ts'

export function createFamily(view: View, { tokenDigest, ...family }: NewRefreshTokenFamily, max: number): void {
  addHeld(view, { family, codeDigest: null, currentDigest: tokenDigest, previous: null, holders: 0 }, max)
}

/**
 * Adds a family or code, after making room for it.
 * @throws TypeError if its sid exists
 */
function addHeld(view: View, held: Held, max: number): void {
  const { sid, userId, createdAt } = held.family
  if (view.get(familyKey(sid)) !== null) throw new TypeError('A family with this sid exists.')
  enlist(view, indexIn(view, userId), held, max, createdAt)
}

/**
 * Writes a family or code and its index entry, and makes room for it. Writes the index first, because that creates the
 * generation.
 */
function enlist(view: View, index: UserIndex, held: Held, max: number, now: number): void {
  const entry = familyEntryOf(held)
  index.set(entry)
  index.bound(entry, max, now, isFamilyAliveAt(now))
  index.save(now)
  putFamily(view, held)
}

/** The family if the token is its current one, or the previous one inside the grace period. Checks no client or key. */
export function peekToken(
  view: View,
  use: Pick<TokenUse, 'sid' | 'digest' | 'now' | 'graceMs'>
): RefreshTokenFamily | null {
  const held = aliveFamily(view, use.sid, use.now)
  return held === null || presented(held, use) === 'replay' ? null : held.family
}

/**
 * The family if it is alive, belongs to the client, and is not bound to another key. Without `clientId` or `jkt`, that
 * check is skipped.
 */
function usable(view: View, { sid, clientId, jkt, now }: TokenUse): HeldFamily | null {
  const held = aliveFamily(view, sid, now)
  if (held === null || (clientId !== undefined && held.family.clientId !== clientId)) return null
  const { authorization } = held.family
  const boundTo = jkt === undefined || authorization === null ? undefined : readAuthorizationDetails(authorization).jkt
  return boundTo === undefined || boundTo === jkt ? held : null
}

const touched = (held: HeldFamily, { now, idleExpiresAt }: TokenUse): HeldFamily => ({
  ...held,
  family: { ...held.family, lastUsedAt: now, idleExpiresAt: Math.min(idleExpiresAt, held.family.expiresAt) }
})

export function useToken(view: View, use: TokenUse): UseOutcome {
  const held = usable(view, use)
  if (held === null) return { outcome: 'unknown' }
  if (presented(held, use) === 'replay') return replayed(view, held)
  const next = touched(held, use)
  putFamily(view, next)
  return { outcome: 'used', family: next.family }
}

export function rotateToken(view: View, use: TokenUse, next: Successor): RotateOutcome {
  const held = usable(view, use)
  if (held === null) return { outcome: 'unknown' }
  const { sid, digest, now } = use
  const { currentDigest, previous, holders } = held
  const which = presented(held, use)
  if (which === 'current') {
    const rotated = {
      ...touched(held, use),
      currentDigest: next.digest,
      previous: { digest, rotatedAt: now, sealed: next.sealed },
      holders: 1
    }
    putFamily(view, rotated)
    const undo = { sid, digest: next.digest, replacedDigest: digest, former: previous }
    return { outcome: 'rotated', family: rotated.family, undo }
  }
  if (which === 'replay' || previous === null) return replayed(view, held)
  if (holders > 0) putFamily(view, { ...held, holders: holders + 1 })
  const undo = { sid, digest: currentDigest, replacedDigest: digest, former: null }
  return { outcome: 'repeated', family: held.family, sealed: previous.sealed, undo }
}

export function undoRotation(view: View, { sid, digest, replacedDigest, former }: RotationUndo): void {
  const held = storedFamily(view, sid)
  if (held === null || held.currentDigest !== digest || held.holders === 0) return
  const holders = held.holders - 1
  // Restores the replaced token when no client holds the successor any more.
  putFamily(
    view,
    holders > 0 ? { ...held, holders } : { ...held, holders, currentDigest: replacedDigest, previous: former }
  )
}

/** Ends a family or code after a replay: a caller presented a used or a wrong secret. */
function replayed(view: View, { family }: Held): { outcome: 'replayed'; family: RefreshTokenFamily } {
  removeOne(view, family.userId, family.sid)
  return { outcome: 'replayed', family }
}

export function revokeFamily(view: View, sid: string, userId?: string): boolean {
  const held = storedFamily(view, sid)
  // The index may list a family whose record is gone. Drops the entry, so that a family reported as unknown is not
  // listed later.
  const owner = held?.family.userId ?? ownerOfIndex(view)
  if (owner === null || (userId !== undefined && owner !== userId)) return false
  removeOne(view, owner, sid)
  return held !== null
}

function removeOne(view: View, userId: string, sid: string): void {
  removeThose(view, userId, (entry) => entry.sid === sid)
  view.remove(familyKey(sid))
}

function removeThose(view: View, userId: string, condition: (entry: Entry) => boolean): string[] {
  const index = indexIn(view, userId)
  const ended = index.entries().filter((entry) => entry.kind !== 'session' && condition(entry))
  for (const entry of ended) view.remove(recordKeyOf(entry))
  if (ended.length > 0) {
    index.drop(ended)
    index.save()
  }
  return ended.map(({ sid }) => sid)
}

export const revokeFamiliesOfUser = (view: View, userId: string, exceptSid?: string): string[] =>
  removeThose(view, userId, ({ sid }) => sid !== exceptSid)

export const revokeFamiliesOfClient = (view: View, userId: string, clientId: string): string[] =>
  removeThose(view, userId, (entry) => entry.clientId === clientId)

export const revokeSession = (view: View, userId: string, sessionSid: string, clientId?: string): EndedSession => ({
  session: endSession(view, userId, sessionSid),
  sids: removeThose(
    view,
    userId,
    (entry) => entry.sessionSid === sessionSid && (entry.kind !== 'offline' || entry.clientId === clientId)
  )
})

export function listFamiliesOfUser(view: View, userId: string, now: number): RefreshTokenFamily[] {
  const entries = indexIn(view, userId)
    .entries()
    .filter(({ kind }) => kind === 'online' || kind === 'offline')
  return aliveFamiliesIn(entries, view.all(entries.map(recordKeyOf)), now)
    .reverse()
    .sort((a, b) => b.createdAt - a.createdAt)
}

/**
 * Stores a code as a family that has no tokens yet, which ends when the code expires. Returns `false` if the session in
 * `use` or its secret no longer works.
 */
export function createCode(
  view: View,
  { codeDigest, codeExpiresAt, ...code }: NewAuthorizationCode,
  use: SessionUse | undefined,
  max: number
): boolean {
  const { userId, createdAt } = code
  if (use !== undefined) {
    // Reads the index first, because that ends the session if the index was lost.
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
  const { sid, digest, clientId, now, tokenDigest, onlineExpiresAt, userAgent, jkt } = redemption
  const held = aliveHeld(view, sid, now)
  // Compares the client before revoking anything. Otherwise one client could end another client's family.
  if (held === null || held.codeDigest === null || held.family.clientId !== clientId) return { outcome: 'unknown' }
  const index = indexIn(view, held.family.userId)
  if (aliveHeld(view, sid, now) === null) return { outcome: 'unknown' }
  if (held.currentDigest !== null || held.codeDigest !== digest) return replayed(view, held)
  const ends = held.family.offline
    ? { expiresAt: redemption.expiresAt, idleExpiresAt: redemption.idleExpiresAt }
    : { expiresAt: onlineExpiresAt, idleExpiresAt: onlineExpiresAt }
  const authorization =
    jkt === undefined
      ? held.family.authorization
      : formatAuthorizationDetails({ ...readAuthorizationDetails(held.family.authorization), jkt })
  const family = { ...held.family, lastUsedAt: now, ...ends, userAgent, authorization }
  enlist(view, index, { ...held, currentDigest: tokenDigest, family }, max, now)
  return { outcome: 'redeemed', family }
}
