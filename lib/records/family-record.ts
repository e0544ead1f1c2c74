import type { RefreshTokenFamily, ReplacedToken, TokenUse } from '../ports/token-store.ts'
import { familyKey, rowOf, type View } from './view.ts'
import { type Entry, generationIn } from './user-index.ts'

/** A refresh token family, or an authorization code as long as it has no current token. */
export interface Held {
  family: RefreshTokenFamily
  /** The digest of the authorization code that began the family. `null`: it began without a code. */
  codeDigest: string | null
  /** The digest of the current refresh token. `null`: still an authorization code. */
  currentDigest: string | null
  /** The previous token, the time of its replacement, and the current token sealed under it. */
  previous: ReplacedToken | null
  /**
   * The number of calls that got the current token and have not withdrawn it (`undoRotation`). 0: it is the family's
   * first token, or a client has presented it before.
   */
  holders: number
}

/** A refresh token family. Unlike an authorization code, it has a current token. */
export type HeldFamily = Held & { currentDigest: string }

type PackedFamily = [
  userId: string,
  clientId: string | null,
  scope: string,
  authenticatedAt: number,
  acr: string | null,
  amr: string[],
  createdAt: number,
  lastUsedAt: number,
  expiresAt: number,
  idleExpiresAt: number,
  userAgent: string | null,
  sessionSid: string | null,
  offline: 0 | 1,
  authorization: string | null,
  generation: string,
  codeDigest: string | null,
  currentDigest: string | null,
  holders: number,
  previous: [digest: string, rotatedAt: number, sealed: string] | null
]

const pack = ({ family, codeDigest, currentDigest, previous, holders }: Held, generation: string): PackedFamily => [
  family.userId,
  family.clientId,
  family.scope,
  family.authenticatedAt,
  family.acr,
  [...family.amr],
  family.createdAt,
  family.lastUsedAt,
  family.expiresAt,
  family.idleExpiresAt,
  family.userAgent,
  family.sessionSid,
  family.offline ? 1 : 0,
  family.authorization,
  generation,
  codeDigest,
  currentDigest,
  holders,
  previous === null ? null : [previous.digest, previous.rotatedAt, previous.sealed]
]

function unpack(sid: string, packed: PackedFamily): Held {
  const [userId, clientId, scope, authenticatedAt, acr, amr, createdAt, lastUsedAt, expiresAt, idleExpiresAt, ...rest] =
    packed
  const [userAgent, sessionSid, offline, authorization, , codeDigest, currentDigest, holders, previous] = rest
  return {
    family: {
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
      offline: offline === 1,
      authorization
    },
    codeDigest,
    currentDigest,
    previous: previous === null ? null : { digest: previous[0], rotatedAt: previous[1], sealed: previous[2] },
    holders
  }
}

/** `null` if the record is missing or damaged. */
const packedIn = (record: unknown): PackedFamily | null => rowOf<PackedFamily>(record, 19)

const EXPIRES_AT = 8
const IDLE_EXPIRES_AT = 9
const GENERATION_AT = 14

/** Returns a check: true for a record of a family or code that has not ended. It does not check the generation. */
export const isFamilyAliveAt =
  (now: number) =>
  (record: unknown): boolean => {
    const packed = packedIn(record)
    return packed !== null && now < packed[EXPIRES_AT] && now < packed[IDLE_EXPIRES_AT]
  }

const isFamily = (held: Held): held is HeldFamily => held.currentDigest !== null

/**
 * The index entry of a family or code. Each kind has its own maximum number, because codes and online families are many
 * and short-lived, and must not end the offline family of a device.
 */
export const familyEntryOf = ({ family, currentDigest }: Held): Entry => ({
  sid: family.sid,
  kind: currentDigest === null ? 'code' : family.offline ? 'offline' : 'online',
  createdAt: family.createdAt,
  expiresAt: family.expiresAt,
  sessionSid: family.sessionSid,
  clientId: family.clientId
})

/** The stored family or code, even if it has expired. `null` if it is missing, damaged or of a lost generation. */
export function storedFamily(view: View, sid: string): Held | null {
  const record = packedIn(view.get(familyKey(sid)))
  return record === null || record[GENERATION_AT] !== generationIn(view) ? null : unpack(sid, record)
}

/** The family or code if it is alive at `now`. */
export function aliveHeld(view: View, sid: string, now: number): Held | null {
  const record = view.get(familyKey(sid))
  return isFamilyAliveAt(now)(record) ? storedFamily(view, sid) : null
}

/** The family if it is alive at `now` and not a code. */
export function aliveFamily(view: View, sid: string, now: number): HeldFamily | null {
  const held = aliveHeld(view, sid, now)
  return held !== null && isFamily(held) ? held : null
}

/** The families among these records that are alive at `now`. */
export function aliveFamiliesIn(
  entries: readonly Entry[],
  records: readonly unknown[],
  now: number
): RefreshTokenFamily[] {
  const isAlive = isFamilyAliveAt(now)
  return entries.flatMap(({ sid }, at) =>
    isAlive(records[at]) ? [unpack(sid, records[at] as PackedFamily).family] : []
  )
}

export function putFamily(view: View, held: Held): void {
  const { sid, userId, expiresAt, idleExpiresAt } = held.family
  view.put(familyKey(sid), {
    kind: held.currentDigest === null ? 'code' : 'family',
    userId,
    value: pack(held, generationIn(view) ?? ''),
    expiresAt: Math.min(expiresAt, idleExpiresAt)
  })
}

/** `replaced`: the previous token, within the grace period. `replay`: any other token than the current token. */
export function presented(
  { currentDigest, previous }: HeldFamily,
  { digest, now, graceMs }: Pick<TokenUse, 'digest' | 'now' | 'graceMs'>
): 'current' | 'replaced' | 'replay' {
  if (currentDigest === digest) return 'current'
  const isReplaced =
    previous !== null && previous.digest === digest && graceMs > 0 && now - previous.rotatedAt <= graceMs
  return isReplaced ? 'replaced' : 'replay'
}
