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

/** A sign-in by a grant. Its tokens are not handed out yet. */
export interface GrantSignIn extends Omit<FirstFactor, 'clientId'>, Granted {
  /** The nonce of the app. Only a token exchange has one. */
  nonce?: string | undefined
  /** `null`: the feature of second factors is off. */
  factors: UserFactors | null
}

/** The part of a feature that the token endpoint calls. */
export interface TokenSlots {
  /**
   * Returns the error to answer instead of tokens if the sign-in needs a further step, otherwise `null`. Called after a
   * correct first factor, and again when the tokens are committed, because the result may have changed in between.
   */
  beforeTokens?(first: GrantSignIn, call: GrantCall, at: 'sign_in' | 'commit'): Promise<OAuthError | null>
}

export interface GrantDeps extends Required<TokenSlots>, Targets {
  accounts: AccountsDeps
  /** The grants that are on. */
  grants: readonly Grant[]
  /** The declarations of all grants, also of those that are off. */
  declaredGrants: readonly GrantDeclaration[]
  /** Checks DPoP proofs. `null`: DPoP is off. */
  possession: Possession | null
  clients: Clients
  /** Remembers used assertions, so that each works once. `undefined`: the state store can't. */
  assertions: AssertionStore | undefined
  /**
   * Returns the public keys of a client that authenticates with `private_key_jwt`. If no fetched key has this `kid`,
   * fetches the key set at the `jwksUri` again, at most once a minute.
   */
  clientKeys(client: Client, kid: string | undefined): Promise<readonly unknown[]>
  tokens: TokenStore
  sessions: Sessions
  accessTokens: AccessTokens
  /** `null`: OpenID Connect is off. */
  idTokens: IdTokens | null
  passwordGrant: 'first-party' | 'clients' | false
  refreshToken: RefreshTokenPolicy
  claims: ClaimsFunction | null
  /** True if a token exchange accepts ID tokens that native apps got from a provider. */
  exchange: boolean
}

/** The caller: the authenticated client, if there is one, the proved key, and the origin of the request. */
export interface GrantContext {
  client: Client | null
  /** The thumbprint of the key that the caller proved, to which its tokens are bound. `null`: none. */
  jkt: string | null
  origin: Origin
}

/** The rate limit that counts a new account of a connection. `kept`: the attempt counts even if it succeeds. */
export type SignUpCheck = { rule: 'register' } | { rule: 'connect'; kept: true }

export interface GrantCall extends GrantContext {
  /** Counts an account that the grant is about to create. @throws OAuthError if there were too many */
  reserveSignUp(check: SignUpCheck): Promise<void>
  /**
   * True if the user has given their second factor in this browser since their password and factors last changed. In
   * such a browser, codes of an authenticator app still work after too many wrong codes have disabled the app.
   */
  knows(check: SecondFactorCheck): boolean
}

/** The fields of a token answer. @see RFC 6749 §5.1, OpenID Connect Core 1.0 §3.1.3.3 */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer' | 'DPoP'
  expires_in: number
  refresh_token?: string
  id_token?: string
  /** Absent if no scope was granted. */
  scope?: string
  /** Only in the answer to a token exchange. @see RFC 8693 §2.2.1 */
  issued_token_type?: string
}

/** A parameter of a grant. */
interface GrantParam {
  /** The maximum length of a value, in bytes of UTF-8. */
  bytes: number
  /** The description in API documents. `null`: they leave the parameter out. */
  what?: string | null
}

/**
 * The second part of a grant that checks a second factor. The first part (`handle`) finds the user, so that a limit can
 * count the guess before `finish` checks it.
 */
export interface GuessAtFactor {
  check: SecondFactorCheck
  finish(given: { isKnown: boolean }): Promise<TokenResponse>
}

/**
 * The declaration of a grant of the token endpoint. It exists even if options turn the grant off. API documents, the
 * reference and the limits of parameters come from it. A new grant needs its declaration, a line in `GRANTS` or in the
 * `grants` of a feature, and its type in `GRANT_TYPES` if clients register for it.
 */
export interface GrantDeclaration<Name extends string = string> {
  /** The value of `grant_type`. */
  type: GrantType | `urn:fastify-authority:${string}`
  /** A client must be registered for one of these grant types. Absent: for `type`. */
  rightOf?: readonly GrantType[]
  /** The clients that may register for this grant. Absent: all. */
  clients?: {
    /** Only clients with a secret or keys. */
    confidential?: true
    /** Only clients with a redirect URI. */
    redirectUris?: true
    /** The reason why clients with `firstParty: false` may not have the grant. */
    firstParty?: string
  }
  /**
   * How users sign in with this grant: with a password only, or in any way. Absent: it signs no user in, or no client
   * registers for its `type`.
   */
  signsIn?: 'password' | 'any'
  /** The parameters of the grant, besides `scope` and the parameters of client authentication. */
  params: Readonly<Record<Name, GrantParam>>
  /**
   * The error codes that this grant answers with status 400, besides those of every grant, such as `invalid_request`.
   */
  errors: readonly OAuthErrorCode[]
  /** Markdown for the reference, to follow "With `grant_type=…`:". */
  what: string
}

export interface Grant<Name extends string = string> extends GrantDeclaration<Name> {
  /** True if the options turn the grant on. Absent: it is always on. */
  isOn?(deps: Pick<GrantDeps, 'passwordGrant' | 'idTokens' | 'exchange'>): boolean
  /**
   * The rate limit that counts an attempt before `handle`. Absent for a secret of 256 random bits, because only failed
   * attempts with such a secret count.
   */
  guess?(params: TokenRequestParams<NoInfer<Name>>): { rule: 'login' | 'connect'; account?: string }
  /**
   * Throws a refusal if the attempt must count as failed. Returns an `OAuthError` if the secret was right, so that the
   * attempt does not count.
   */
  handle(
    params: TokenRequestParams<NoInfer<Name>>,
    call: GrantCall,
    deps: GrantDeps
  ): Promise<TokenResponse | GuessAtFactor | OAuthError>
}

/** Infers the parameter names of a declaration. */
export const grant = <Name extends string>(declared: Grant<Name>): Grant<Name> => declared
