import type { AccountsDeps } from '../accounts/deps.ts'
import type { User } from '../ports/user-store.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { TokenStore } from '../ports/token-store.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import type { Origin, Sessions } from '../tokens/sessions.ts'

export type { Origin } from '../tokens/sessions.ts'

/** Host claims for a token. @see the option `claims` */
export type ClaimsFunction = (user: User, context: { scopes: string[], client: Client | null, use: 'access_token' | 'id_token' | 'userinfo' }) => Record<string, unknown> | Promise<Record<string, unknown>>

export interface RefreshTokenPolicy {
  expiresInMs: number
  idleTimeoutMs: number
  rotate: 'oauth' | 'always' | 'never'
  graceMs: number
}

/** What a grant may use. */
export interface GrantDeps {
  accounts: AccountsDeps
  clients: ClientStore
  tokens: TokenStore
  sessions: Sessions
  accessTokens: AccessTokens
  /** The option `scopes`. */
  scopes: readonly string[]
  passwordGrant: 'first-party' | 'clients' | false
  refreshToken: RefreshTokenPolicy
  claims: ClaimsFunction | null
}

/** Who asks: the authenticated client, if there is one, and where from. */
export interface GrantContext {
  client: Client | null
  origin: Origin
}

/** The five fields of a token answer. @see RFC 6749 §5.1 */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token?: string
  scope: string
}
