export type GrantType = 'password' | 'authorization_code' | 'refresh_token' | 'client_credentials'

/** A registered OAuth client. @see RFC 7591 §2 for the terms */
export interface Client {
  clientId: string
  /** 32 bytes or more. Without it the client is public. */
  clientSecret?: string
  redirectUris?: string[]
  postLogoutRedirectUris?: string[]
  /** Origins that may call by CORS. Default: those of the redirect URIs. */
  origins?: string[]
  /** Default: authorization code and refresh token. */
  grantTypes?: GrantType[]
  /** What it may be granted. Default: every scope of the option `scopes`. */
  scopes?: string[]
  /** Default true; always true for a public client. */
  requirePkce?: boolean
  /** Default true. Others ask the user for consent. */
  firstParty?: boolean
  name?: string
  idTokenSignedResponseAlg?: string
  backchannelLogoutUri?: string
}

export interface ClientStore {
  findById(clientId: string): Promise<Client | null>
}
