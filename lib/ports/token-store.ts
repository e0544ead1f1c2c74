/**
 * A refresh token family: what one sign-in gave one device. All its tokens share `sid`; each is kept as a digest only.
 * Times are milliseconds since the epoch.
 */
export interface RefreshTokenFamily {
  /** Public name of the family and the `sid` claim of its access tokens. Not a credential. */
  sid: string
  userId: string
  clientId: string | null
  /** Granted scope, space separated. */
  scope: string
  /** When the user proved who they are. */
  authenticatedAt: number
  createdAt: number
  lastUsedAt: number
  /** Absolute end: no refresh moves it. */
  expiresAt: number
  /** Moves with every use; the family ends at the earlier of both. */
  idleExpiresAt: number
  userAgent: string | null
}

/** A family with the digest of its first refresh token. */
export interface NewRefreshTokenFamily extends RefreshTokenFamily {
  tokenDigest: string
}

/** The next token of a family: its digest, and the token itself sealed under the one it replaces (see protocol/refresh-token). */
export interface Successor {
  digest: string
  sealed: string
}

export interface TokenUse {
  sid: string
  digest: string
  now: number
  /** How long the token before the current one still counts. 0: not at all. */
  graceMs: number
  /** The new `idleExpiresAt`, never beyond `expiresAt`. */
  idleExpiresAt: number
}

export type UseOutcome =
  | { outcome: 'used', family: RefreshTokenFamily }
  /** A token of this family that was replaced longer ago than the grace time: the family is revoked. */
  | { outcome: 'replayed', family: RefreshTokenFamily }
  /** No such family, revoked, or expired. */
  | { outcome: 'unknown' }

export type RotateOutcome =
  | { outcome: 'rotated', family: RefreshTokenFamily }
  /** Replaced within the grace time, or by a parallel call that won: `sealed` is the winner's successor. */
  | { outcome: 'repeated', family: RefreshTokenFamily, sealed: string }
  | { outcome: 'replayed', family: RefreshTokenFamily }
  | { outcome: 'unknown' }

/**
 * Refresh token families. Every operation is atomic across all instances. Outages reject; protocol outcomes resolve.
 *
 * A digest that is neither the family's current one nor, within the grace time, the one before is a replay: only a holder of
 * one of the family's tokens knows the preimage of its `sid`, so a stranger can't bring one about.
 * An expired or revoked family is as one that never was.
 */
export interface TokenStore {
  createFamily(family: NewRefreshTokenFamily): Promise<void>
  /** The family if it is alive at `now`. */
  findFamily(sid: string, now: number): Promise<RefreshTokenFamily | null>
  /** Counts as a use without replacing the token. */
  useToken(use: TokenUse): Promise<UseOutcome>
  /** Compare-and-swap from `use.digest` to `next`. Of any number of parallel calls with one token, one is `rotated`. */
  rotateToken(use: TokenUse, next: Successor): Promise<RotateOutcome>
  /** `true` if the family was alive (and, where `userId` is given, that user's). Idempotent. */
  revokeFamily(sid: string, userId?: string): Promise<boolean>
  /** Revokes all families of the user but `exceptSid`; resolves to the `sid`s of those it ended. */
  revokeFamiliesOfUser(userId: string, exceptSid?: string): Promise<string[]>
  /** Alive at `now`, newest first. */
  listFamiliesOfUser(userId: string, now: number): Promise<RefreshTokenFamily[]>
}
