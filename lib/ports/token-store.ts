import type { BrowserSession, SessionUse } from './session-store.ts'

/**
 * A refresh token family: all refresh tokens of one sign-in on one device. The store has only digests of the tokens,
 * and the current token sealed under the previous token. Times are milliseconds since the epoch.
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
  /**
   * The level and methods of that authentication (see protocol/authentication). They never change within the family.
   */
  acr: string | null
  amr: string[]
  createdAt: number
  lastUsedAt: number
  /** The absolute end. No refresh extends it. */
  expiresAt: number
  /** The end without further use, moved by every use. The family ends at the earlier of both. */
  idleExpiresAt: number
  userAgent: string | null
  /** The browser session in which the family began. `null`: the family does not depend on a browser session. */
  sessionSid: string | null
  /**
   * True if the family has a refresh token, and outlives its browser session. `false`: it ends with its access token.
   */
  offline: boolean
  /** Further facts of the request besides the scope, as JSON (`AuthorizationDetails`). `null` if there are none. */
  authorization: string | null
}

/**
 * A family that is still an authorization code. It has no tokens, so no method finds or uses it as a family. Every
 * method that revokes families also revokes codes. An expired code counts as missing.
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
  /** Both ends of a family that is not `offline`. Nothing refreshes such a family, so it ends with its access token. */
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
 * The next token of a family: its digest, and the token itself sealed under the token that it replaces (see
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
  /** The grace period, in milliseconds: the time for which the previous token is still accepted. 0: not at all. */
  graceMs: number
  /** The new `idleExpiresAt`, never beyond `expiresAt`. */
  idleExpiresAt: number
  /**
   * The client that uses the token (`null`: no client). A family of another client is `unknown` and stays unchanged. If
   * left out, the client is not checked.
   */
  clientId?: string | null
  /**
   * The key that the caller proved (`null`: none). A family that is bound to another key is `unknown` and stays
   * unchanged. The key is not checked for a family without a key, or if `jkt` is left out.
   */
  jkt?: string | null
}

export type UseOutcome =
  | { outcome: 'used'; family: RefreshTokenFamily }
  /**
   * The token is neither the current one nor a token that was replaced within the grace period. The family is revoked.
   */
  | { outcome: 'replayed'; family: RefreshTokenFamily }
  /** The family is missing, revoked, expired, or of another client or key. */
  | { outcome: 'unknown' }

/** The replaced token, which is still accepted within the grace period. */
export interface ReplacedToken {
  digest: string
  rotatedAt: number
  /** The sealed successor of the token. */
  sealed: string
}

/**
 * The arguments of `undoRotation` for one call. For use if no client will receive the successor that the call returned.
 */
export interface RotationUndo {
  sid: string
  /** The successor. Nothing changes if it is no longer the family's current token. */
  digest: string
  /** The token that becomes the current token again. */
  replacedDigest: string
  /** The token that was replaced before `replacedDigest`. `null`: none is known. */
  former: ReplacedToken | null
}

/** A browser session that ended, and the codes and families that ended with it. */
export interface EndedSession {
  /** The session before its end; `null` if the user has no such session. */
  session: BrowserSession | null
  /** The `sid`s of the codes and families that ended with the session. */
  sids: string[]
}

export type RotateOutcome =
  | { outcome: 'rotated'; family: RefreshTokenFamily; undo: RotationUndo }
  /**
   * The token was replaced within the grace period, for example by a parallel call. `sealed`: the successor that the
   * first call got.
   */
  | { outcome: 'repeated'; family: RefreshTokenFamily; sealed: string; undo: RotationUndo }
  | { outcome: 'replayed'; family: RefreshTokenFamily }
  | { outcome: 'unknown' }

/**
 * Refresh token families. Every operation is atomic across all instances. A method rejects during an outage. Every
 * outcome of the protocol is a result, not an error.
 *
 * Every `sid` begins with the partition of its user (see protocol/digest).
 *
 * A token is a replay unless it is the family's current token or, within the grace period, the previous token. A
 * stranger can't cause a replay, because only a holder of a token or the code of the family knows the preimage of its
 * `sid`.
 * An expired or revoked family counts as missing.
 */
export interface TokenStore {
  createFamily(family: NewRefreshTokenFamily): Promise<void>
  /**
   * Stores a code. With `use`, the same step binds the code to that browser session and records the use of the session.
   * `false`, and nothing is changed, if the session or its secret no longer works. A parallel revocation of the session
   * happens before or after the whole step.
   */
  createCode(code: NewAuthorizationCode, use?: SessionUse): Promise<boolean>
  /**
   * Turns a code into a family. Of any number of parallel calls with one code, one is `redeemed`. The code is
   * remembered for as long as the family lives. A wrong secret revokes the code too, because only a holder of the code
   * knows the preimage of its `sid`.
   */
  redeemCode(redemption: CodeRedemption): Promise<RedeemOutcome>
  /** The family if it is alive at `now`. */
  findFamily(sid: string, now: number): Promise<RefreshTokenFamily | null>
  /** The family if `useToken` would accept `digest`. Changes nothing. */
  peekToken(use: Pick<TokenUse, 'sid' | 'digest' | 'now' | 'graceMs'>): Promise<RefreshTokenFamily | null>
  /** Records a use of the family without replacing the token. */
  useToken(use: TokenUse): Promise<UseOutcome>
  /** Compare-and-swap from `use.digest` to `next`. One of any number of parallel calls with one token is `rotated`. */
  rotateToken(use: TokenUse, next: Successor): Promise<RotateOutcome>
  /**
   * Withdraws the successor from one `rotateToken` call (`rotated` or `repeated`) whose response could not be made.
   * When every call that returned this successor has withdrawn it, the replaced token is current again. Does nothing if
   * the family has changed or ended since.
   */
  undoRotation(undo: RotationUndo): Promise<void>
  /**
   * Revokes a family or code. `true` if it was stored (and, if `userId` is given, belonged to that user). Idempotent.
   */
  revokeFamily(sid: string, userId?: string): Promise<boolean>
  /**
   * Revokes all codes and families of the user except `exceptSid`, and resolves to the `sid`s of those that it ended.
   */
  revokeFamiliesOfUser(userId: string, exceptSid?: string): Promise<string[]>
  /**
   * Ends a browser session of the user with its codes and families, all of it or nothing. Keeps `offline` families,
   * except those of `clientId`. Also ends codes and families that remain of a session that ended before. Idempotent.
   */
  revokeSession(userId: string, sessionSid: string, clientId?: string): Promise<EndedSession>
  /** Revokes all codes and families of this user and client. Resolves to their `sid`s. */
  revokeFamiliesOfClient(userId: string, clientId: string): Promise<string[]>
  /** The user's families that are alive at `now`, newest first. Contains no codes. */
  listFamiliesOfUser(userId: string, now: number): Promise<RefreshTokenFamily[]>
}
