/** A consent of a user to a third-party client. */
export interface UserConsent {
  clientId: string
  scopes: string[]
  grantedAt: Date
  expiresAt: Date
}

/** A provider account with which a user can sign in. */
export interface UserIdentity {
  /** For `unlinkIdentity`: a digest that reveals neither issuer nor subject. */
  id: string
  /** The connection of the last sign-in with this account, or of `linkIdentity` before the first sign-in. */
  connection: string
  issuer: string
  subject: string
  /** The last email address that the provider verified. `null`: none. */
  email: string | null
  linkedAt: Date
  lastUsedAt: Date
}

/** The data of an API key for a user's own programs. The key itself is not included. */
export interface UserApiKey {
  id: string
  name: string
  scopes: string[]
  /** The `resource` of the API that accepts the key. `null`: the host's own routes accept it. */
  resource: string | null
  createdAt: Date
  /** `null`: the key never expires. */
  expiresAt: Date | null
  /** Written at most once a minute. `null`: the key was never used. */
  lastUsedAt: Date | null
}

/** API keys of users. Each method throws a TypeError without the option `apiKeys`. */
export interface UserApiKeys {
  /**
   * Makes a key for a user. Only this answer contains the key itself, as `key`. `expiresIn` is in seconds.
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
  /** All keys of the user, oldest first, including expired keys. */
  list(userId: string): Promise<UserApiKey[]>
  /** Returns `false` if the user has no such key. */
  revoke(userId: string, id: string): Promise<boolean>
  /**
   * Verifies a key, and returns its data with the id of its user. Counts as a use of the key.
   * @throws OAuthError `invalid_token`
   */
  verify(key: string): Promise<UserApiKey & { userId: string }>
}

/** The link with which a sign-in through a connection begins. */
export interface ConnectionLink {
  id: string
  name: string
  url: string
}

/**
 * A link by which a user sets up a second factor. The user must also sign in with their first factor, such as the
 * password.
 */
export interface EnrolmentLink {
  /** Give this URL only to the user. */
  url: string
  expiresAt: Date
}

/** A second factor of a user, without any secret. */
export interface UserFactor {
  id: string
  kind: 'totp' | 'passkey'
  /** The name by which the user recognizes the factor. `null`: none. */
  name: string | null
  createdAt: Date
  lastUsedAt: Date | null
  /** True if too many wrong codes were given. The app then works only in known browsers. Always false for a passkey. */
  disabled: boolean
  /** True if a passkey is synced or backed up. `null` for an authenticator app. */
  synced: boolean | null
}
