import type { AppTokenRules } from '../protocol/upstream-answer.ts'
import type { User } from './user-store.ts'

/** Another provider's statement about a person. Its signature, issuer, audience, nonce and times are checked. */
export interface UpstreamAssertion {
  /** Together with the subject, the key of a link. */
  issuer: string
  subject: string
  /** Only if the provider verified it; an address that is not verified counts as none. */
  email?: string
  /**
   * True if the provider is authoritative for this mailbox, so that no other person can have verified the address
   * there.
   */
  emailAuthoritative: boolean
  /** Further claims, under the names of the standard claims. */
  profile: Readonly<Record<string, unknown>>
  /**
   * Time of the person's sign-in at the provider, in milliseconds since the epoch, if the provider says so. @see OpenID
   * Connect Core 1.0 §2 `auth_time`
   */
  authenticatedAt?: number
}

/**
 * The values with which a sign-in at a provider begins, and against which its response is checked. Made for each
 * sign-in, and sealed in the browser.
 */
export interface UpstreamFlow {
  state: string
  nonce: string
  codeVerifier: string
  /** Milliseconds since the epoch. */
  startedAt: number
  redirectUri: string
}

/** Optional wishes for the sign-in at the provider. */
export interface UpstreamWishes {
  loginHint?: string | undefined
  uiLocales?: string | undefined
  prompt?: 'login' | 'select_account' | undefined
  /** Seconds. */
  maxAge?: number | undefined
}

/** Tokens of the provider. Only the host's hook receives them, once. They are not stored. */
export interface UpstreamTokens {
  accessToken: string
  refreshToken?: string
  idToken?: string
  /** Seconds, as the provider said. */
  expiresIn?: number
  scope?: string
}

export interface UpstreamResult {
  assertion: UpstreamAssertion
  /** All claims of the ID token and the userinfo answer, as the provider has them. */
  claims: Readonly<Record<string, unknown>>
  tokens: UpstreamTokens
}

interface AppSignIn extends Omit<UpstreamResult, 'tokens'> {
  /** `iat`, in seconds since the epoch. */
  issuedAt: number
}

/** A provider as the use cases see it. A call takes at most six seconds. */
export interface Upstream {
  /** Builds the URL that begins a sign-in. @throws UpstreamError `outage` before the provider's metadata is known */
  authorizationUrl(flow: UpstreamFlow, wishes: UpstreamWishes): Promise<string>
  /**
   * Checks the response at the callback, redeems its code, and checks the tokens. `answer`: the parameters of the query
   * or, with `response_mode=form_post`, of the body.
   * @throws UpstreamError
   */
  authenticate(answer: URLSearchParams, flow: UpstreamFlow): Promise<UpstreamResult>
  /**
   * Checks an ID token that an app got from the provider without this service: its signature, issuer and times, and
   * that it is for one of the audiences, not older than five minutes and bound to the nonce. Does not call userinfo.
   * The caller checks that the token is used once.
   * @throws UpstreamError
   */
  verifyIdToken(token: string, rules: Omit<AppTokenRules, 'now'>): Promise<AppSignIn>
  /** Ends a refresh token at the provider, if its `revocation` endpoint is known. @throws UpstreamError */
  revoke(token: string): Promise<void>
}

/** The key of a connection's `provider` under which tests put an upstream that replaces the real provider. */
export const UPSTREAM: unique symbol = Symbol('upstream')

/**
 * The rule for a person who comes through a connection for the first time with the email address of an account here.
 */
export type Linking = 'confirm' | 'verified-email' | 'never'

/** The argument of a connection's `onSignIn`, which is called after the sign-in is stored. */
export interface ConnectionSignIn {
  user: User
  /** All claims of the provider, unchanged. */
  claims: Readonly<Record<string, unknown>>
  tokens: UpstreamTokens
  /** True if this sign-in registered the user. */
  isNew: boolean
}

/** A connection as the use cases know it: the host's option, checked, with every default filled in. */
export interface Connection {
  id: string
  /** The name on the button and in texts. */
  name: string
  upstream: Upstream
  /** The address to which the provider sends the browser back: the issuer, the prefix and `/connect/<id>/callback`. */
  callbackUrl: string
  linking: Linking
  /** True if the connection may create accounts. */
  registration: boolean
  /** `create`: fills the profile of an account only when the account is created. `always`: at each sign-in. */
  sync: 'create' | 'always'
  /**
   * Normalized ASCII domains. The connection accepts only addresses in these domains, and a person with such an address
   * is sent to it. Empty: any.
   */
  domains: readonly string[]
  /** True if accounts with an address in `domains` can sign in through this connection alone. */
  enforce: boolean
  /** The provider's names for the apps whose ID tokens the token endpoint accepts. Empty: none. */
  audiences: readonly string[]
  /** True if an ID token of an app must have a nonce. */
  appNonce: boolean
  /**
   * Returns the part of the provider's tokens that a link keeps, sealed, for `withdraw`. `undefined`: the link keeps
   * nothing.
   */
  keep(tokens: UpstreamTokens): string | undefined
  /**
   * Revokes a token that `keep` sealed, at the provider. Ignores a value that another service sealed, or that was
   * sealed with a secret that is no longer configured.
   * @throws UpstreamError
   */
  withdraw(sealed: string): Promise<void>
  /** True if a link to this issuer belongs to this connection. A provider may have moved to another issuer. */
  acceptsIssuer(issuer: string): boolean
  /** True if the provider answers by POST. @see OAuth 2.0 Form Post Response Mode §2 */
  formPost: boolean
  /** True if the provider can be asked for a fresh sign-in and proves it by `auth_time`. */
  provesFreshness: boolean
  /** `mark`: the paths of the built-in logo, by their color. */
  button: {
    brand: string | null
    mark: Readonly<Record<string, string>> | null
    label: string | null
    logoUrl: string | null
  }
  /**
   * True if the connection is on. Call it at the start and at the callback of each sign-in, and wherever else a rule
   * depends on the connection. A hook that throws or returns anything but `true` turns the connection off. A result is
   * cached for a second.
   */
  enabled(): Promise<boolean>
  /** `enabled` for a page: waits at most half a second for the hook, then uses its last answer, or `false`. */
  shown(): Promise<boolean>
  /** Picks fields of `registration.fields` and standard claims of a profile. Never picks a reserved field. */
  profile(claims: Readonly<Record<string, unknown>>): Record<string, unknown>
  /**
   * Returns how the provider authenticated the person, if the host has configured that.
   * @see OpenID Connect Core 1.0 §2 `amr`, `acr`
   */
  assurance(claims: Readonly<Record<string, unknown>>): { amr?: string[]; acr?: string }
  onSignIn: ((event: ConnectionSignIn) => void | Promise<void>) | null
}

/** The part of a connection that the account rules use. */
export type ConnectionWay = Pick<Connection, 'domains' | 'enforce' | 'acceptsIssuer' | 'enabled' | 'withdraw'>
