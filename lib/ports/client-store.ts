export type GrantType =
  | 'password'
  | 'authorization_code'
  | 'refresh_token'
  | 'client_credentials'
  | 'urn:ietf:params:oauth:grant-type:token-exchange'

/** The grants for which a client can be registered. The compiler asks for each. */
export const GRANT_TYPES = Object.keys({
  password: 1,
  authorization_code: 1,
  refresh_token: 1,
  client_credentials: 1,
  'urn:ietf:params:oauth:grant-type:token-exchange': 1
} satisfies Record<GrantType, 1>) as GrantType[]

/** A registered OAuth client. @see RFC 7591 §2 for the terms */
export interface Client {
  clientId: string
  /** 32 bytes or more. Without it the client is public. */
  clientSecret?: string | undefined
  /**
   * `web` (the default): its URIs are `https:`, or `http:` on this machine. `native`: private-use schemes too, and any
   * port of a loopback address. @see OpenID Connect Dynamic Client Registration 1.0 §2, RFC 8252 §7
   */
  applicationType?: 'web' | 'native' | undefined
  redirectUris?: string[] | undefined
  postLogoutRedirectUris?: string[] | undefined
  /** Origins that may call by CORS. Default: those of the redirect URIs. */
  origins?: string[] | undefined
  /** Default: authorization code and refresh token. */
  grantTypes?: GrantType[] | undefined
  /** Scopes that the client may be granted. Default: every scope of the option `scopes`. */
  scopes?: string[] | undefined
  /** Default true; always true for a public client. */
  requirePkce?: boolean | undefined
  /** Default true. Others ask the user for consent. */
  firstParty?: boolean | undefined
  name?: string | undefined
  /** For the consent page: an `https:` address of its logo, and of a page about it. */
  logoUri?: string | undefined
  clientUri?: string | undefined
  idTokenSignedResponseAlg?: string | undefined
  /** Which claims its ID tokens have. Default: the option `idToken.claims`. */
  idTokenClaims?: 'requested' | 'scopes' | undefined
  backchannelLogoutUri?: string | undefined
  /**
   * The lowest authentication level with which this client gets tokens of the user: a value that this configuration can
   * give. Default: any level.
   */
  acr?: string | undefined
}

/**
 * The host's own clients. Every row is checked as listed clients are: one that does not fit is an unknown client and an
 * error in the log that names the field (`MisfitError`). `null` in a field is "not given", as SQL has it; names that no
 * client has are refused.
 */
export interface ClientStore {
  /** `null`: there is none. `undefined` is taken for it too. */
  findById(clientId: string): Promise<Client | null>
}
