/** A consent of a user to a third-party client. */
export interface UserConsent {
  clientId: string
  scopes: string[]
  grantedAt: Date
  expiresAt: Date
}

/** A provider account that a user signs in with. */
export interface UserIdentity {
  /** For `unlinkIdentity`: a digest that reveals neither issuer nor subject. */
  id: string
  /** The connection of the last sign-in with it. */
  connection: string
  issuer: string
  subject: string
  /** The claims that the provider verified last. */
  email: string | null
  linkedAt: Date
  lastUsedAt: Date
}

/** A connection that is on. */
export interface ConnectionLink {
  id: string
  name: string
  url: string
}

/**
 * A link by which a user sets up a second factor. It works only together with the user's password or other first
 * factor.
 */
export interface EnrolmentLink {
  /** Hand it to the user alone. */
  url: string
  expiresAt: Date
}

/** A second factor of a user, without any secret. */
export interface UserFactor {
  id: string
  kind: 'totp' | 'passkey'
  /** The user's name for it. */
  name: string | null
  createdAt: Date
  lastUsedAt: Date | null
  /** True after too many wrong codes. */
  disabled: boolean
  /** True if a passkey is synced or backed up. `null` for an app. */
  synced: boolean | null
}
