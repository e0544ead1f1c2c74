import type { NewRefreshTokenFamily, RefreshTokenFamily, TokenStore, TokenUse } from '../../ports/token-store.ts'

interface Entry {
  family: RefreshTokenFamily
  currentDigest: string
  /** The token that the current one replaced, when, and the current one sealed under it. */
  previous: { digest: string, rotatedAt: number, sealed: string } | null
}

export interface MemoryTokenStore extends TokenStore {
  /** Every `sid`, to sweep by. */
  sids(): Iterable<string>
  /** Removes the family if it has ended at `now`. */
  sweepFamily(sid: string, now: number): void
}

const isAlive = (family: RefreshTokenFamily, now: number): boolean => now < family.expiresAt && now < family.idleExpiresAt

function isWithinGrace ({ previous }: Entry, use: TokenUse): boolean {
  return previous !== null && previous.digest === use.digest && use.graceMs > 0 && use.now - previous.rotatedAt <= use.graceMs
}

function familyOf (created: NewRefreshTokenFamily): RefreshTokenFamily {
  const { sid, userId, clientId, scope, authenticatedAt, createdAt, lastUsedAt, expiresAt, idleExpiresAt, userAgent } = created
  return { sid, userId, clientId, scope, authenticatedAt, createdAt, lastUsedAt, expiresAt, idleExpiresAt, userAgent }
}

/**
 * Refresh token families in memory. A user has at most `maxFamiliesPerUser`: one more ends the one created first.
 * No method awaits before it has done its work: that is what makes each of them atomic.
 */
export function memoryTokenStore (maxFamiliesPerUser: number): MemoryTokenStore {
  const entries = new Map<string, Entry>()
  /** The `sid`s of a user in the order they were created in. */
  const sidsByUser = new Map<string, Set<string>>()

  const remove = (entry: Entry): void => {
    const { sid, userId } = entry.family
    entries.delete(sid)
    const sids = sidsByUser.get(userId)
    sids?.delete(sid)
    if (sids?.size === 0) sidsByUser.delete(userId)
  }

  const alive = (sid: string, now: number): Entry | undefined => {
    const entry = entries.get(sid)
    if (entry === undefined) return undefined
    if (isAlive(entry.family, now)) return entry
    remove(entry)
    return undefined
  }

  const touch = ({ family }: Entry, use: TokenUse): void => {
    family.lastUsedAt = use.now
    family.idleExpiresAt = Math.min(use.idleExpiresAt, family.expiresAt)
  }

  const entriesOfUser = (userId: string): Entry[] =>
    [...sidsByUser.get(userId) ?? []].flatMap((sid) => entries.get(sid) ?? [])

  return {
    async createFamily (created) {
      if (entries.has(created.sid)) throw new TypeError('A family with this sid exists.')
      entries.set(created.sid, { family: familyOf(created), currentDigest: created.tokenDigest, previous: null })
      const sids = sidsByUser.get(created.userId) ?? new Set()
      sidsByUser.set(created.userId, sids.add(created.sid))
      if (sids.size <= maxFamiliesPerUser) return
      const eldest = entriesOfUser(created.userId)
        .filter(({ family }) => family.sid !== created.sid)
        .reduce<Entry | undefined>((first, entry) => first === undefined || entry.family.createdAt < first.family.createdAt ? entry : first, undefined)
      if (eldest !== undefined) remove(eldest)
    },

    async findFamily (sid, now) {
      const entry = alive(sid, now)
      return entry === undefined ? null : { ...entry.family }
    },

    async useToken (use) {
      const entry = alive(use.sid, use.now)
      if (entry === undefined) return { outcome: 'unknown' }
      if (entry.currentDigest === use.digest || isWithinGrace(entry, use)) {
        touch(entry, use)
        return { outcome: 'used', family: { ...entry.family } }
      }
      remove(entry)
      return { outcome: 'replayed', family: { ...entry.family } }
    },

    async rotateToken (use, next) {
      const entry = alive(use.sid, use.now)
      if (entry === undefined) return { outcome: 'unknown' }
      if (entry.currentDigest === use.digest) {
        entry.previous = { digest: use.digest, rotatedAt: use.now, sealed: next.sealed }
        entry.currentDigest = next.digest
        touch(entry, use)
        return { outcome: 'rotated', family: { ...entry.family } }
      }
      if (entry.previous !== null && isWithinGrace(entry, use)) {
        return { outcome: 'repeated', family: { ...entry.family }, sealed: entry.previous.sealed }
      }
      remove(entry)
      return { outcome: 'replayed', family: { ...entry.family } }
    },

    async revokeFamily (sid, userId) {
      const entry = entries.get(sid)
      if (entry === undefined || (userId !== undefined && entry.family.userId !== userId)) return false
      remove(entry)
      return true
    },

    async revokeFamiliesOfUser (userId, exceptSid) {
      const ended = entriesOfUser(userId).filter(({ family }) => family.sid !== exceptSid)
      for (const entry of ended) remove(entry)
      return ended.map(({ family }) => family.sid)
    },

    async listFamiliesOfUser (userId, now) {
      return entriesOfUser(userId)
        .filter(({ family }) => isAlive(family, now))
        .map(({ family }) => ({ ...family }))
        .reverse()
        .sort((a, b) => b.createdAt - a.createdAt)
    },

    sids: () => entries.keys(),
    sweepFamily (sid, now) { alive(sid, now) }
  }
}
