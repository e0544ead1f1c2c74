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
  /** The connection of the last sign-in with this account. */
  connection: string
  issuer: string
  subject: string
  /** The claims that the provider verified last. */
  email: string | null
  linkedAt: Date
  lastUsedAt: Date
}

/** A key of a user for their own programs, without the key itself. */
export interface UserApiKey {
  id: string
  name: string
  scopes: string[]
  /** The API that it is for. `null`: the host's own routes. */
  resource: string | null
  createdAt: Date
  /** `null`: never. */
  expiresAt: Date | null
  /** To the minute. `null`: never used. */
  lastUsedAt: Date | null
}

/** API keys of users. Each method throws a TypeError without the option `apiKeys`. */
export interface UserApiKeys {
  /**
   * Makes a key for a user. `key` is in this answer alone. `expiresIn` is in seconds.
   * @throws OAuthError `invalid_request`, `invalid_scope`, `invalid_target`, `api_key_limit`; `invalid_grant` without
   * an active user
   */
  create(asked: {
    userId: string
    name: string
    scopes?: readonly string[] | undefined
    resource?: string | null | undefined
    expiresIn?: number | undefined
  }): Promise<Omit<UserApiKey, 'lastUsedAt'> & { key: string }>
  /** The oldest first, expired ones too. */
  list(userId: string): Promise<UserApiKey[]>
  /** Returns `false` if the user has no such key. */
  revoke(userId: string, id: string): Promise<boolean>
  /** A good key and its user. Counts as a use. @throws OAuthError `invalid_token` */
  verify(key: string): Promise<UserApiKey & { userId: string }>
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
