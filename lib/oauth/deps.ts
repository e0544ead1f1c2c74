import type { TokenRequestParams } from '../protocol/request-params.ts'
import type { AccountsDeps } from '../accounts/deps.ts'
import type { FirstFactor, SecondFactorCheck } from '../accounts/slots.ts'
import type { OAuthError, OAuthErrorCode } from '../errors.ts'
import type { UserFactors } from '../ports/factor-store.ts'
import type { Client, Clients, GrantType } from '../ports/client-store.ts'
import type { AssertionStore } from '../ports/state.ts'
import type { TokenStore } from '../ports/token-store.ts'
import type { AccessTokens, Possession } from '../tokens/access-tokens.ts'
import type { ClaimsFunction } from '../tokens/disclosure.ts'
import type { IdTokens } from '../tokens/id-tokens.ts'
import type { Origin, Sessions } from '../sessions/sessions.ts'
import type { Granted, Targets } from './target.ts'

export type { ClaimsFunction } from '../tokens/disclosure.ts'
export type { Origin } from '../sessions/sessions.ts'
export type { Possession } from '../tokens/access-tokens.ts'

interface RefreshTokenPolicy {
  expiresInMs: number
  idleTimeoutMs: number
  rotate: 'oauth' | 'always' | 'never'
  reuseGraceMs: number
}

/** A sign-in by a grant, whose tokens are not handed out yet. */
export interface GrantSignIn extends Omit<FirstFactor, 'clientId'>, Granted {
  /** The nonce of the app. Only a token exchange has one. */
  nonce?: string | undefined
  /** `null`: second factors are off. */
  factors: UserFactors | null
}

/** Answers of a feature to questions of the token endpoint. */
export interface TokenSlots {
  /**
   * The answer without tokens, if the sign-in needs a further step. Asked after a right first factor, and again when
   * the tokens are committed, because the answer may have changed in between.
   */
  beforeTokens?(first: GrantSignIn, call: GrantCall, at: 'sign_in' | 'commit'): Promise<OAuthError | null>
}

/** The dependencies of a grant. */
export interface GrantDeps extends Required<TokenSlots>, Targets {
  accounts: AccountsDeps
  /** Those that are on. */
  grants: readonly Grant[]
  /** All that could be on. */
  declaredGrants: readonly GrantDeclaration[]
  /** `null`: no token is bound to a key. */
  possession: Possession | null
  clients: Clients
  /** Assertions that count once. */
  assertions: AssertionStore | undefined
  /** The keys of a client that proves itself by one of them; fetched again where none has this `kid`. */
  clientKeys(client: Client, kid: string | undefined): Promise<readonly unknown[]>
  tokens: TokenStore
  sessions: Sessions
  accessTokens: AccessTokens
  /** `null`: OpenID Connect is off. */
  idTokens: IdTokens | null
  passwordGrant: 'first-party' | 'clients' | false
  refreshToken: RefreshTokenPolicy
  claims: ClaimsFunction | null
  /** True if a connection takes ID tokens of apps. */
  exchange: boolean
}

/** The caller: the authenticated client, if there is one, and its address. */
export interface GrantContext {
  client: Client | null
  /** The thumbprint of the key that the caller proved, to which its tokens are bound. `null`: none. */
  jkt: string | null
  origin: Origin
}

/** The limit of an account that is made through a connection, by a page or by JSON. */
export type SignUpCheck = { rule: 'register' } | { rule: 'connect'; kept: true }

/** A call of the token endpoint. */
export interface GrantCall extends GrantContext {
  /** Counts a new account of the grant. @throws OAuthError where there were too many */
  reserveSignUp(check: SignUpCheck): Promise<void>
  /** True if the user has given their second factor in this browser before, where codes of a disabled app count. */
  knows(check: SecondFactorCheck): boolean
}

/** The fields of a token answer. @see RFC 6749 §5.1, OpenID Connect Core 1.0 §3.1.3.3 */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer' | 'DPoP'
  expires_in: number
  refresh_token?: string
  id_token?: string
  /** Absent where nothing was granted. */
  scope?: string
  /** Only in the answer to a token exchange. @see RFC 8693 §2.2.1 */
  issued_token_type?: string
}

/** A parameter of a grant. */
interface GrantParam {
  /** Its limit in bytes of UTF-8. */
  bytes: number
  /** Its description in API documents, which leave out a parameter with `null`. */
  what?: string | null
}

/** The last part of a grant that guesses at a second factor. Only the first part knows the user. */
export interface GuessAtFactor {
  check: SecondFactorCheck
  finish(given: { isKnown: boolean }): Promise<TokenResponse>
}

/**
 * The declaration of a grant of the token endpoint, also where options turn it off. API documents, the reference and
 * the limits of parameters come from it. A grant is this, its line in `GRANTS` or in the `grants` of a feature, and its
 * type in `GRANT_TYPES` if clients register for it.
 */
export interface GrantDeclaration<Name extends string = string> {
  /** The value of `grant_type`. */
  type: string
  /** A client must be registered for one of these. Absent: for `type`. */
  rightOf?: readonly GrantType[]
  /** The clients that may be registered for it. Absent: all. */
  clients?: {
    /** Only those with a secret. */
    confidential?: true
    /** Only those with a redirect URI. */
    redirectUris?: true
    /** The reason why clients with `firstParty: false` may not have it. */
    firstParty?: string
  }
  /** How users sign in by it: with a password alone, or in any way. Absent: nobody does. */
  signsIn?: 'password' | 'any'
  /** Its parameters, besides `scope` and those of client authentication. */
  params: Readonly<Record<Name, GrantParam>>
  /** Codes that it answers with status 400, besides `invalid_request`, `unauthorized_client` and the like. */
  errors: readonly OAuthErrorCode[]
  /** Markdown for the reference, to follow "With `grant_type=…`:". */
  what: string
}

export interface Grant<Name extends string = string> extends GrantDeclaration<Name> {
  /** True if the options turn it on. Absent: always. */
  isOn?(deps: Pick<GrantDeps, 'passwordGrant' | 'idTokens' | 'exchange'>): boolean
  /**
   * The limit that counts an attempt before `handle`. Absent for a secret of 256 random bits, which counts after it has
   * failed.
   */
  guess?(params: TokenRequestParams<NoInfer<Name>>): { rule: 'login' | 'connect'; account?: string }
  /** Throws a refusal that counts as a failed attempt. Returns an `OAuthError` for a refusal after a success. */
  handle(
    params: TokenRequestParams<NoInfer<Name>>,
    call: GrantCall,
    deps: GrantDeps
  ): Promise<TokenResponse | GuessAtFactor | OAuthError>
}

/** Infers the parameter names of a declaration. */
export const grant = <Name extends string>(declared: Grant<Name>): Grant<Name> => declared
