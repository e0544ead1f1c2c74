/** What a user allowed a client that is not the host's own. */
export interface UserConsent {
  clientId: string
  scopes: string[]
  grantedAt: Date
  expiresAt: Date
}

/** An account at another provider that a user signs in with. */
export interface UserIdentity {
  /** For `unlinkIdentity`: a digest, which shows neither issuer nor subject. */
  id: string
  /** The connection through which it was last used. */
  connection: string
  issuer: string
  subject: string
  /** What the provider verified and said last. */
  email: string | null
  linkedAt: Date
  lastUsedAt: Date
}

/** A connection that people can sign in through now. */
export interface ConnectionLink {
  id: string
  name: string
  url: string
}

/**
 * A link by which a user sets a second factor up. Whoever has it needs the user's password, or what else they sign in
 * with, too.
 */
export interface EnrolmentLink {
  /** To be handed to the user alone. */
  url: string
  expiresAt: Date
}

/** A second factor of a user. Nothing of it opens anything. */
export interface UserFactor {
  id: string
  kind: 'totp' | 'passkey'
  /** What the user calls it. */
  name: string | null
  createdAt: Date
  lastUsedAt: Date | null
  /** Whether it no longer works, after too many wrong codes. */
  disabled: boolean
  /** Of a passkey: whether it is kept in several places by now; `null` of an app. */
  synced: boolean | null
}
