import type { AppTokenRules } from '../protocol/app-id-token.ts'
import type { User } from './user-store.ts'

/** What another provider said of a person, with its signature, issuer, audience, nonce and times checked. */
export interface UpstreamAssertion {
  /** With the subject the key of a link. */
  issuer: string
  subject: string
  /** Only where the provider verified it; an address that is not verified counts as none. */
  email?: string
  /**
   * Whether the provider is the one who decides on this mailbox, so that nobody else can have had the address verified
   * there.
   */
  emailAuthoritative: boolean
  /** What it said besides, under the names of the standard claims. */
  profile: Readonly<Record<string, unknown>>
  /**
   * When the person signed in there, in milliseconds since the epoch, where the provider says so. @see OpenID Connect
   * Core 1.0 §2 `auth_time`
   */
  authenticatedAt?: number
}

/** What a sign-in elsewhere begins with and is checked against. Made anew for each, and kept sealed in the browser. */
export interface UpstreamFlow {
  state: string
  nonce: string
  codeVerifier: string
  /** Milliseconds since the epoch. */
  startedAt: number
  redirectUri: string
}

/** What the provider is asked for beside who the person is. */
export interface UpstreamWishes {
  loginHint?: string | undefined
  uiLocales?: string | undefined
  prompt?: 'login' | 'select_account' | undefined
  /** Seconds. */
  maxAge?: number | undefined
}

/** What the provider gave, seen by the host's hook once and kept nowhere. */
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

/** Another provider as the use cases see it. A call takes six seconds at most. */
export interface Upstream {
  /** @throws UpstreamError `outage` while nothing is known of the provider yet */
  authorizationUrl(flow: UpstreamFlow, wishes: UpstreamWishes): Promise<string>
  /**
   * Checks the answer that came to the callback, redeems its code and checks what that gives. `answer`: the parameters
   * of the query or, by `response_mode=form_post`, of the body.
   * @throws UpstreamError
   */
  authenticate(answer: URLSearchParams, flow: UpstreamFlow): Promise<UpstreamResult>
  /**
   * Checks an ID token that an app got from the provider by itself: its signature, issuer and times, and that it is for
   * one of the audiences, not older than five minutes and bound to the nonce. Userinfo is not asked. Whether it counts
   * for the first time is for the caller.
   * @throws UpstreamError
   */
  verifyIdToken(token: string, rules: Omit<AppTokenRules, 'now'>): Promise<AppSignIn>
  /**
   * Ends a refresh token at the provider, where its `revocation` endpoint is known; else does nothing. @throws
   * UpstreamError
   */
  revoke(token: string): Promise<void>
}

/** Under this a `provider` of a connection has, in tests, what is asked in place of a server. */
export const UPSTREAM: unique symbol = Symbol('upstream')

/**
 * What becomes of somebody who comes through a connection for the first time, and whose e-mail address an account here
 * has already.
 */
export type Linking = 'confirm' | 'verified-email' | 'never'

/** What `onSignIn` of a connection is told, once the sign-in stands. */
export interface ConnectionSignIn {
  user: User
  /** All that the provider said, as it said it. */
  claims: Readonly<Record<string, unknown>>
  tokens: UpstreamTokens
  /** Whether this sign-in registered the user. */
  isNew: boolean
}

/** A connection as the use cases know it: the host's option, checked, with every default filled in. */
export interface Connection {
  id: string
  /** What people are told they sign in with. */
  name: string
  upstream: Upstream
  /** Where the provider sends the browser back: the issuer, the prefix and `/connect/<id>/callback`. */
  callbackUrl: string
  linking: Linking
  /** Whether it may make accounts. */
  registration: boolean
  /** When the profile of the account is filled from the provider's: with the account, or at each sign-in. */
  sync: 'create' | 'always'
  /** Normalised ASCII domains whose addresses this connection alone takes and is found by. Empty: any. */
  domains: readonly string[]
  /** Whether accounts with an address in `domains` can sign in through this connection alone. */
  enforce: boolean
  /** What the provider calls the apps whose ID tokens are taken at the token endpoint. Empty: none is. */
  audiences: readonly string[]
  /** Whether such a token must have a nonce. */
  appNonce: boolean
  /** What of the provider's tokens is kept with a link, sealed: what `withdraw` needs. `undefined`: nothing. */
  keep(tokens: UpstreamTokens): string | undefined
  /**
   * Ends at the provider what a link kept. What is not of this service, or of a former secret, is left as it is.
   * @throws UpstreamError
   */
  withdraw(sealed: string): Promise<void>
  /** Whether a link to this issuer is one of this connection's. A provider may have moved to another issuer. */
  acceptsIssuer(issuer: string): boolean
  /** Whether answers come by POST. @see OAuth 2.0 Form Post Response Mode §2 */
  formPost: boolean
  /** Whether the provider can be asked for a fresh sign-in and proves it by `auth_time`. */
  provesFreshness: boolean
  /** `brand` names a mark that the pages know. */
  button: { brand: string | null; label: string | null; logoUrl: string | null }
  /**
   * Asked at the start and at the callback of each sign-in. A hook that throws or answers anything but `true` is no. An
   * answer is kept for a second.
   */
  enabled(): Promise<boolean>
  /** The same for a page, which waits half a second, and then shows what the hook said last. */
  shown(): Promise<boolean>
  /** Fields of `registration.fields` and the standard claims of a profile, and never a reserved one. */
  profile(claims: Readonly<Record<string, unknown>>): Record<string, unknown>
  /**
   * How the provider authenticated the person, where the host says how to read it. @see OpenID Connect Core 1.0 §2
   * `amr`, `acr`
   */
  assurance(claims: Readonly<Record<string, unknown>>): { amr?: string[]; acr?: string }
  onSignIn: ((event: ConnectionSignIn) => void | Promise<void>) | null
}

/** What the account rules ask of a connection. */
export type ConnectionWay = Pick<Connection, 'domains' | 'enforce' | 'acceptsIssuer' | 'enabled'>
