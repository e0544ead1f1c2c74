import type { SignUpCheck } from '../accounts/federated-user.ts'
import type { AccountsDeps } from '../accounts/deps.ts'
import type { SecondFactorCheck } from '../accounts/factors/deps.ts'
import type { AssertionStore } from '../ports/assertion-store.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { TokenStore } from '../ports/token-store.ts'
import type { Connection } from '../ports/upstream.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import type { ClaimsFunction } from '../tokens/released-claims.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'
import type { Origin, Sessions } from '../sessions/sessions.ts'

export type { ClaimsFunction } from '../tokens/released-claims.ts'
export type { Origin } from '../sessions/sessions.ts'

interface RefreshTokenPolicy {
  expiresInMs: number
  idleTimeoutMs: number
  rotate: 'oauth' | 'always' | 'never'
  graceMs: number
}

/** The dependencies of a grant. */
export interface GrantDeps {
  accounts: AccountsDeps
  clients: ClientStore
  tokens: TokenStore
  sessions: Sessions
  accessTokens: AccessTokens
  /** `null`: OpenID Connect is off. */
  idTokens: IdTokens | null
  /** The option `scopes`. */
  scopes: readonly string[]
  passwordGrant: 'first-party' | 'clients' | false
  refreshToken: RefreshTokenPolicy
  claims: ClaimsFunction | null
  /** `null`: no connection takes ID tokens of apps. */
  exchange: TokenExchangeDeps | null
}

interface TokenExchangeDeps {
  /** Those that take ID tokens of apps. */
  connections: ReadonlyMap<string, Connection>
  assertions: AssertionStore
  /** The fields of a new account; `null`: the host wants more than the provider said. */
  complete(profile: Readonly<Record<string, unknown>>): Record<string, unknown> | null
}

/** The caller: the authenticated client, if there is one, and its address. */
export interface GrantContext {
  client: Client | null
  origin: Origin
}

/** A call of the token endpoint. */
export interface GrantCall extends GrantContext {
  /** Counts an account that the grant makes. @throws OAuthError where there were too many */
  reserveSignUp(check: SignUpCheck): Promise<void>
  /** True if the user has given their second factor in this browser before, where codes of a disabled app count. */
  knows(check: SecondFactorCheck): boolean
}

/** The fields of a token answer. @see RFC 6749 §5.1, OpenID Connect Core 1.0 §3.1.3.3 */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token?: string
  id_token?: string
  /** Absent where nothing was granted. */
  scope?: string
  /** Of a token exchange. @see RFC 8693 §2.2.1 */
  issued_token_type?: string
}
