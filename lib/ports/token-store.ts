import type { BrowserSession, SessionUse } from './session-store.ts'

/**
 * A refresh token family: all refresh tokens of one sign-in on one device. They share `sid`, and only digests of them
 * are stored. Times are milliseconds since the epoch.
 */
export interface RefreshTokenFamily {
  /** Public name of the family and the `sid` claim of its access tokens. Not a credential. */
  sid: string
  userId: string
  clientId: string | null
  /** Granted scope, space separated. */
  scope: string
  /** The time of the user's authentication on which `acr` rests. */
  authenticatedAt: number
  /** The level and methods of that sign-in (see protocol/authentication); fixed for the life of the family. */
  acr: string | null
  amr: string[]
  createdAt: number
  lastUsedAt: number
  /** The absolute end. No refresh extends it. */
  expiresAt: number
  /** The end without further use, moved by every use. The family ends at the earlier of both. */
  idleExpiresAt: number
  userAgent: string | null
  /** The browser session in which it began; `null` without an authorization code. */
  sessionSid: string | null
  /** True if the family outlives that session (`offline_access` was granted). Always true without a session. */
  offline: boolean
  /**
   * Further parameters of the authorization request besides the scope, as JSON (`AuthorizationDetails`).
   * `null` without a request.
   */
  authorization: string | null
}

/**
 * A family that is still an authorization code. It has no tokens, so nobody can find or use it, but everything that
 * revokes a family revokes it. An expired code counts as missing.
 */
export interface NewAuthorizationCode {
  sid: string
  userId: string
  clientId: string
  scope: string
  authenticatedAt: number
  acr: string | null
  amr: string[]
  createdAt: number
  sessionSid: string | null
  offline: boolean
  authorization: string
  codeDigest: string
  codeExpiresAt: number
}

/** The first use of a code: the values that the family gets. Times are milliseconds since the epoch. */
export interface CodeRedemption {
  sid: string
  digest: string
  clientId: string
  now: number
  /** The digest of the first refresh token. */
  tokenDigest: string
  expiresAt: number
  idleExpiresAt: number
  /** Both ends of a family that is not `offline`. Nothing refreshes it, so it ends with its only access token. */
  onlineExpiresAt: number
  userAgent: string | null
  /** The key that the refresh tokens are bound to: it becomes a part of `authorization`. Absent: none. */
  jkt?: string
}

export type RedeemOutcome =
  | { outcome: 'redeemed'; family: RefreshTokenFamily }
  /** The code was used before, or its secret is wrong: the family is revoked with all its tokens. */
  | { outcome: 'replayed'; family: RefreshTokenFamily }
  /** No such code, or it is expired, revoked or another client's. Another client's code stays unchanged. */
  | { outcome: 'unknown' }

/** A family with the digest of its first refresh token. */
export interface NewRefreshTokenFamily extends RefreshTokenFamily {
  tokenDigest: string
}

/**
 * The next token of a family: its digest, and the token itself sealed under the one it replaces (see
 * protocol/credential).
 */
export interface Successor {
  digest: string
  sealed: string
}

export interface TokenUse {
  sid: string
  digest: string
  now: number
  /** The time for which the previous token still counts. 0: not at all. */
  graceMs: number
  /** The new `idleExpiresAt`, never beyond `expiresAt`. */
  idleExpiresAt: number
  /**
   * The client of the family (`null`: no client). A family of another client is `unknown` and stays unchanged. Left
   * out: any client.
   */
  clientId?: string | null
  /**
   * The key that the caller proved (`null`: none). A family that is bound to another key is `unknown` and stays
   * unchanged; one that is bound to none is as without this. Left out: any key.
   */
  jkt?: string | null
}

export type UseOutcome =
  | { outcome: 'used'; family: RefreshTokenFamily }
  /** A token that was replaced longer ago than the grace period: the family is revoked. */
  | { outcome: 'replayed'; family: RefreshTokenFamily }
  /** No such family, revoked, or expired. */
  | { outcome: 'unknown' }

/** The replaced token, which still counts within the grace period. */
export interface ReplacedToken {
  digest: string
  rotatedAt: number
  /** The sealed successor of the token. */
  sealed: string
}

/** Takes one call's rotation back: the successor that the call got and that no client will receive. */
export interface RotationUndo {
  sid: string
  /** The successor. Nothing changes if it is no longer the family's current token. */
  digest: string
  /** The token that becomes the current one again. */
  replacedDigest: string
  /** The token before that one. */
  former: ReplacedToken | null
}

/** The parts of a browser session that ended. */
export interface EndedSession {
  /** The session before its end; `null` if the user has no such session. */
  session: BrowserSession | null
  /** The `sid`s of its codes and families. */
  sids: string[]
}

export type RotateOutcome =
  | { outcome: 'rotated'; family: RefreshTokenFamily; undo: RotationUndo }
  /** The token was replaced within the grace period, or by a parallel call: `sealed` is the winner's successor. */
  | { outcome: 'repeated'; family: RefreshTokenFamily; sealed: string; undo: RotationUndo }
  | { outcome: 'replayed'; family: RefreshTokenFamily }
  | { outcome: 'unknown' }

/**
 * Refresh token families. Every operation is atomic across all instances. Outages reject; protocol outcomes resolve.
 *
 * Every `sid` begins with the partition of its user (see protocol/digest).
 *
 * A digest that is neither the family's current one nor, within the grace time, the one before is a replay: only a
 * holder of one of the family's tokens knows the preimage of its `sid`, so a stranger can't bring one about. An expired
 * or revoked family is as one that never was.
 */
export interface TokenStore {
  createFamily(family: NewRefreshTokenFamily): Promise<void>
  /**
   * Stores a code. With `use`, the code belongs to that browser session and counts as its use: `false`, and nothing is
   * changed, if the session is not alive. A revocation of the session comes before both or after both.
   */
  createCode(code: NewAuthorizationCode, use?: SessionUse): Promise<boolean>
  /**
   * Turns a code into a family. One of any number of parallel calls with one code is `redeemed`; the code is
   * remembered for as long as the family lives. A wrong secret revokes the code too: only a holder of the code knows
   * the preimage of its `sid`.
   */
  redeemCode(redemption: CodeRedemption): Promise<RedeemOutcome>
  /** The family if it is alive at `now`. */
  findFamily(sid: string, now: number): Promise<RefreshTokenFamily | null>
  /** The family if `useToken` would accept `digest`. Changes nothing. */
  peekToken(use: Pick<TokenUse, 'sid' | 'digest' | 'now' | 'graceMs'>): Promise<RefreshTokenFamily | null>
  /** Counts as a use without replacing the token. */
  useToken(use: TokenUse): Promise<UseOutcome>
  /** Compare-and-swap from `use.digest` to `next`. One of any number of parallel calls with one token is `rotated`. */
  rotateToken(use: TokenUse, next: Successor): Promise<RotateOutcome>
  /**
   * Gives a successor back, once per call that got it (`rotated`, `repeated`). When all have given it back, the
   * rotation is undone: the replaced token is current again. Does nothing if the family has changed or ended since.
   */
  undoRotation(undo: RotationUndo): Promise<void>
  /** `true` if the family was alive (and, where `userId` is given, that user's). Idempotent. */
  revokeFamily(sid: string, userId?: string): Promise<boolean>
  /** Revokes all families of the user except `exceptSid`, and resolves to the `sid`s of those that it ended. */
  revokeFamiliesOfUser(userId: string, exceptSid?: string): Promise<string[]>
  /**
   * Ends a browser session of the user, its codes, and its families except `offline` ones of other clients than
   * `clientId`: all of it or nothing. Remains of a session that has ended before end too. Idempotent.
   */
  revokeSession(userId: string, sessionSid: string, clientId?: string): Promise<EndedSession>
  /** Revokes all codes and families that the client has of the user; resolves to their `sid`s. */
  revokeFamiliesOfClient(userId: string, clientId: string): Promise<string[]>
  /** Alive at `now`, newest first. */
  listFamiliesOfUser(userId: string, now: number): Promise<RefreshTokenFamily[]>
}
