import type {
  NewAuthorizationCode,
  RefreshTokenFamily,
  ReplacedToken,
  TokenStore,
  TokenUse
} from '../../ports/token-store.ts'
import { createRecords } from './records.ts'
import type { MemorySessionStore } from './session-store.ts'

interface Entry {
  family: RefreshTokenFamily
  /** The digest of the code it came from; `null` where it came from none. */
  codeDigest: string | null
  /** `null` as long as it is a code. */
  currentDigest: string | null
  /** The token that the current one replaced, when, and the current one sealed under it. */
  previous: ReplacedToken | null
  /** How many calls got the current token and have not given it back; 0: it is somebody's for good. */
  holders: number
}

interface MemoryTokenStore extends TokenStore {
  /** Every `sid`, to sweep by. */
  sids(): Iterable<string>
  /** Removes the family or code if it has ended at `now`. */
  sweepFamily(sid: string, now: number): void
}

const isCode = ({ currentDigest }: Entry): boolean => currentDigest === null
const isFamily = ({ currentDigest }: Entry): boolean => currentDigest !== null

/**
 * Each kind is bounded on its own: codes and online families are many and short-lived, and must not push out the
 * offline family of a device.
 */
function kindOf(entry: Entry): 'code' | 'online' | 'offline' {
  if (isCode(entry)) return 'code'
  return entry.family.offline ? 'offline' : 'online'
}

function isWithinGrace({ previous }: Entry, use: Pick<TokenUse, 'digest' | 'now' | 'graceMs'>): boolean {
  return (
    previous !== null &&
    previous.digest === use.digest &&
    use.graceMs > 0 &&
    use.now - previous.rotatedAt <= use.graceMs
  )
}

/** No field but these gets in. */
function familyOf(created: RefreshTokenFamily): RefreshTokenFamily {
  const {
    sid,
    userId,
    clientId,
    scope,
    authenticatedAt,
    acr,
    amr,
    createdAt,
    lastUsedAt,
    expiresAt,
    idleExpiresAt,
    userAgent,
    sessionSid,
    offline,
    authorization
  } = created
  return {
    sid,
    userId,
    clientId,
    scope,
    authenticatedAt,
    acr,
    amr: [...amr],
    createdAt,
    lastUsedAt,
    expiresAt,
    idleExpiresAt,
    userAgent,
    sessionSid,
    offline,
    authorization
  }
}

/** What a code is until it is redeemed: a family that ends when the code does. */
const waiting = (code: NewAuthorizationCode): RefreshTokenFamily =>
  familyOf({
    ...code,
    lastUsedAt: code.createdAt,
    expiresAt: code.codeExpiresAt,
    idleExpiresAt: code.codeExpiresAt,
    userAgent: null
  })

/**
 * Refresh token families and authorization codes in memory. A user has at most `maxFamiliesPerUser` families that are
 * offline, as many that are not, and as many codes that wait: one more ends the one created first. No method awaits
 * before it has done its work: that is what makes each of them atomic.
 */
export function memoryTokenStore(
  maxFamiliesPerUser: number,
  { useNow, revokeNow }: Pick<MemorySessionStore, 'useNow' | 'revokeNow'>
): MemoryTokenStore {
  const entries = createRecords(({ family }: Entry) => family)

  const aliveFamily = (sid: string, now: number): Entry | undefined => {
    const entry = entries.alive(sid, now)
    return entry === undefined || isCode(entry) ? undefined : entry
  }
  const usable = ({ sid, clientId, now }: TokenUse): Entry | undefined => {
    const entry = aliveFamily(sid, now)
    return clientId === undefined || entry?.family.clientId === clientId ? entry : undefined
  }
  const touch = ({ family }: Entry, use: TokenUse): void => {
    family.lastUsedAt = use.now
    family.idleExpiresAt = Math.min(use.idleExpiresAt, family.expiresAt)
  }
  const bound = (kept: Entry, now: number): void => {
    entries.bound(kept, maxFamiliesPerUser, now, (entry) => kindOf(entry) === kindOf(kept))
  }
  const removeAll = (ended: readonly Entry[]): string[] => {
    for (const entry of ended) entries.remove(entry)
    return ended.map(({ family }) => family.sid)
  }

  return {
    async createFamily(created) {
      const entry: Entry = {
        family: familyOf(created),
        codeDigest: null,
        currentDigest: created.tokenDigest,
        previous: null,
        holders: 0
      }
      entries.add(entry)
      bound(entry, created.createdAt)
    },

    async createCode(code, use) {
      const entry: Entry = {
        family: waiting(code),
        codeDigest: code.codeDigest,
        currentDigest: null,
        previous: null,
        holders: 0
      }
      entries.add(entry)
      if (use !== undefined && !useNow(use)) {
        entries.remove(entry)
        return false
      }
      bound(entry, code.createdAt)
      return true
    },

    async redeemCode({
      sid,
      digest,
      clientId,
      now,
      tokenDigest,
      expiresAt,
      idleExpiresAt,
      onlineExpiresAt,
      userAgent
    }) {
      const entry = entries.alive(sid, now)
      // Looked at before anything that revokes, or one client could end what another was given.
      if (entry === undefined || entry.codeDigest === null || entry.family.clientId !== clientId)
        return { outcome: 'unknown' }
      if (isFamily(entry) || entry.codeDigest !== digest) {
        entries.remove(entry)
        return { outcome: 'replayed', family: { ...entry.family } }
      }
      entry.currentDigest = tokenDigest
      const ends = entry.family.offline
        ? { expiresAt, idleExpiresAt }
        : { expiresAt: onlineExpiresAt, idleExpiresAt: onlineExpiresAt }
      Object.assign(entry.family, { lastUsedAt: now, ...ends, userAgent })
      bound(entry, now)
      return { outcome: 'redeemed', family: { ...entry.family } }
    },

    async findFamily(sid, now) {
      const entry = aliveFamily(sid, now)
      return entry === undefined ? null : { ...entry.family }
    },

    async peekToken(use) {
      const entry = aliveFamily(use.sid, use.now)
      return entry !== undefined && (entry.currentDigest === use.digest || isWithinGrace(entry, use))
        ? { ...entry.family }
        : null
    },

    async useToken(use) {
      const entry = usable(use)
      if (entry === undefined) return { outcome: 'unknown' }
      if (entry.currentDigest === use.digest || isWithinGrace(entry, use)) {
        touch(entry, use)
        return { outcome: 'used', family: { ...entry.family } }
      }
      entries.remove(entry)
      return { outcome: 'replayed', family: { ...entry.family } }
    },

    async rotateToken(use, next) {
      const entry = usable(use)
      if (entry === undefined) return { outcome: 'unknown' }
      if (entry.currentDigest === use.digest) {
        const undo = { sid: use.sid, digest: next.digest, replacedDigest: use.digest, former: entry.previous }
        entry.previous = { digest: use.digest, rotatedAt: use.now, sealed: next.sealed }
        entry.currentDigest = next.digest
        entry.holders = 1
        touch(entry, use)
        return { outcome: 'rotated', family: { ...entry.family }, undo }
      }
      if (entry.previous !== null && isWithinGrace(entry, use)) {
        if (entry.holders > 0) entry.holders++
        const undo = { sid: use.sid, digest: entry.currentDigest ?? '', replacedDigest: use.digest, former: null }
        return { outcome: 'repeated', family: { ...entry.family }, sealed: entry.previous.sealed, undo }
      }
      entries.remove(entry)
      return { outcome: 'replayed', family: { ...entry.family } }
    },

    async undoRotation({ sid, digest, replacedDigest, former }) {
      const entry = entries.get(sid)
      if (entry === undefined || entry.currentDigest !== digest || entry.holders === 0 || --entry.holders > 0) return
      // Nobody holds it any more. The one before is somebody's for good, so an undo of the rotation that made it comes
      // too late.
      entry.currentDigest = replacedDigest
      entry.previous = former === null ? null : { ...former }
    },

    async revokeFamily(sid, userId) {
      const entry = entries.get(sid)
      if (entry === undefined || (userId !== undefined && entry.family.userId !== userId)) return false
      entries.remove(entry)
      return true
    },

    async revokeFamiliesOfUser(userId, exceptSid) {
      return removeAll(entries.ofUser(userId).filter(({ family }) => family.sid !== exceptSid))
    },

    async revokeSession(userId, sessionSid, clientId) {
      const sids = removeAll(
        entries.ofUser(userId).filter((entry) => {
          const { family } = entry
          return family.sessionSid === sessionSid && (isCode(entry) || !family.offline || family.clientId === clientId)
        })
      )
      return { session: revokeNow(sessionSid, userId), sids }
    },

    async revokeFamiliesOfClient(userId, clientId) {
      return removeAll(entries.ofUser(userId).filter(({ family }) => family.clientId === clientId))
    },

    async listFamiliesOfUser(userId, now) {
      return entries
        .listOfUser(userId, now)
        .filter(isFamily)
        .map(({ family }) => ({ ...family }))
    },

    sids: entries.sids,
    sweepFamily(sid, now) {
      entries.alive(sid, now)
    }
  }
}
