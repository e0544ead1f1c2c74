import type { ConnectionSignIn, Linking, UpstreamTokens, UpstreamWishes } from './upstream.ts'

/** A provider's statement about a person. */
export interface Assertion {
  /**
   * The person's id there, which is never given to anybody else: 1 to 255 characters. Never an e-mail address or a name
   * that can change hands.
   */
  subject: string
  /** With the subject the key of a link. Default: the `issuer` of the connection. */
  issuer?: string | undefined
  email?: string | null | undefined
  /** True if the provider says that it verified the address. Any other address counts as none. */
  emailVerified?: boolean | undefined
  /**
   * True if the provider decides on that mailbox, so that no other person can have verified the address there. Default:
   * `false`.
   */
  emailAuthoritative?: boolean | undefined
  /**
   * Further claims about the person, under the names of the standard claims: `name`, `given_name`, `picture`. @see
   * OpenID Connect Core 1.0 §5.1
   */
  profile?: Readonly<Record<string, unknown>> | undefined
  /** When the person signed in there, in milliseconds since the epoch, where the provider says so. */
  authenticatedAt?: number | undefined
  /** All that it said, for the hooks `profile`, `assurance` and `onSignIn`. Default: what is above. */
  claims?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Asks an API of the provider with the access token as Bearer, and gives the parsed JSON. Five seconds, 256 kB, https
 * (http on this machine alone), no redirects.
 * @throws UpstreamError
 */
export type ProviderGet = (url: string, headers?: Readonly<Record<string, string>>) => Promise<unknown>

/** The addresses of a provider's endpoints. */
export interface ProviderEndpoints {
  authorization: string
  token: string
  /** The key set (JWKS). Without it there are no ID tokens. */
  keys?: string | undefined
  userinfo?: string | undefined
  /**
   * The endpoint that revokes tokens. With it, each link keeps the provider's refresh token, sealed, until the link or
   * the account is removed; then the token is revoked here. @see RFC 7009 §2
   */
  revocation?: string | undefined
}

/** An option that can't be, found by the function that made the connection: its name, what it got and what it takes. */
export interface ProviderMistake {
  option: string
  got: unknown
  takes: string
}

export interface ProviderBase {
  /** Names a mark that the pages know. */
  brand: string | null
  /** The first half of the key of a link, unless an assertion says its own. */
  issuer: string
  /** The scopes to ask for if the option `scopes` is absent. */
  scopes: readonly string[]
  /** Sent with every authorization request. */
  parameters: Readonly<Record<string, string>>
  /** True if answers come by POST. */
  formPost: boolean
  /** True if the provider can be asked for a fresh sign-in and proves it by `auth_time`. */
  provesFreshness: boolean
  /** `metadata`: as the provider's metadata say. `apple`: a `client_secret` that is signed again for each call. */
  clientAuthentication: 'metadata' | 'client_secret_post' | 'client_secret_basic' | 'apple'
  /** True if every client must have a secret. */
  secretRequired: boolean
  mistake: ProviderMistake | null
  /** Our wishes as the parameters that this provider knows. */
  wishes(wishes: UpstreamWishes): Record<string, string>
  /** True if `iss` of an answer or an ID token is one of the provider's own. */
  acceptsIssuer(iss: string): boolean
}

/** A provider with ID tokens. Their signature, audience, nonce and times were checked before `assertion` is asked. */
export interface OpenidProvider extends ProviderBase {
  protocol: 'openid'
  /** `null`: by discovery at `issuer`. @see OpenID Connect Discovery 1.0 §4 */
  endpoints: ProviderEndpoints | null
  /** Algorithms of ID tokens. `null`: as the metadata say. */
  signingAlgs: readonly string[] | null
  /** True if userinfo is called, if the provider has it. */
  userinfo: boolean
  /**
   * `claims`: those of the ID token, and of userinfo where it was asked. `answer`: what came to the callback; nobody
   * has signed it.
   * @throws UpstreamError for a person whom the options don't let in
   */
  assertion(claims: Readonly<Record<string, unknown>>, answer: URLSearchParams): Assertion
}

/** A provider with an API that identifies the person. */
export interface OauthProvider extends ProviderBase {
  protocol: 'oauth2'
  endpoints: ProviderEndpoints
  identify(get: ProviderGet, tokens: UpstreamTokens): Assertion | Promise<Assertion>
}

/** How one provider differs from the others: data and pure functions. */
export type Provider = OpenidProvider | OauthProvider

/** Options that every connection has. */
export interface ConnectionOptions {
  /** Part of its URLs: 1 to 32 of `a-z 0-9 -`, and no other connection's. Default: the provider's name. */
  id?: string | undefined
  /** The name on the button. Default: the provider's name. */
  name?: string | undefined
  /** The provider's name for this service. */
  clientId: string
  clientSecret?: string | undefined
  /** The scopes to ask for. Default: identity and email address. */
  scopes?: string[] | undefined
  /** True if the connection may create accounts. Default: as the option `registration`, if the user store can. */
  registration?: boolean | undefined
  /**
   * The rule for a person who comes for the first time with the email address of an account here. `confirm` (the
   * default): they sign in the way they did before, then link. `verified-email`: linked at once if the provider
   * verified the address and decides on it, and the account's is verified too; else as `confirm`. `never`: they sign in
   * the way they did before.
   */
  linking?: Linking | undefined
  /** Takes verified e-mail addresses of these domains alone, and is where people go who type one. Default: any. */
  domains?: string[] | undefined
  /** True if accounts in `domains` can sign in through this connection alone. Default: `false`. */
  enforce?: boolean | undefined
  /**
   * Makes fields of an account of what the provider said. Only fields of `registration.fields` and the standard claims
   * of a profile are taken.
   */
  profile?: ((claims: Readonly<Record<string, unknown>>) => Record<string, unknown>) | undefined
  /** When these fields are filled: with a new account (`create`, the default), or at each sign-in (`always`). */
  sync?: 'create' | 'always' | undefined
  /**
   * How the provider authenticated the person, for ID tokens of this service. Default: only that it was a connection.
   */
  assurance?:
    | ((claims: Readonly<Record<string, unknown>>) => { amr?: string[] | undefined; acr?: string | undefined })
    | undefined
  /**
   * Told after a sign-in that is finished with the provider's answer. No reply waits for it. It alone sees the
   * provider's tokens, once. A sign-in that ends on a page of this service (a second factor, fields of a new account,
   * linking to an account) is told by events alone, for the tokens are kept nowhere until then.
   */
  onSignIn?: ((event: ConnectionSignIn) => void | Promise<void>) | undefined
  /** Of the link on the sign-in page. */
  button?: { label?: string | undefined; logoUrl?: string | undefined } | undefined
  /** `false` only for a provider that refuses PKCE. @see RFC 7636 */
  pkce?: boolean | undefined
  /**
   * The provider's names for your apps: the client ids of phone apps, Apple's bundle ids, and the client of One Tap on
   * a page of yours. The token endpoint accepts an ID token from the provider's own library that names one of these.
   * Default: none.
   * @see docs/guides/connections/apps.md
   */
  audiences?: string[] | undefined
  /**
   * `false` only for a library that can't have a nonce put into its ID tokens: a token without one is taken then.
   * Default: `true`.
   */
  appNonce?: boolean | undefined
  /** Asked at the start and at the callback of each sign-in, and for each ID token of an app. Default: `true`. */
  enabled?: boolean | (() => boolean | Promise<boolean>) | undefined
}

/** The result of `google(…)`, `oidc(…)` and the others, for the option `connections`: data and pure functions. */
export interface ConnectionOption extends ConnectionOptions {
  id: string
  name: string
  /** A private key in PEM, by which the client proves itself instead of a secret. */
  privateKey?: string | undefined
  /** The id of that key. */
  keyId?: string | undefined
  /** Apple's. */
  teamId?: string | undefined
  provider: Provider
}

/** A client at a provider, as the adapter knows it: checked, with every default filled in. */
export interface UpstreamClient {
  clientId: string
  clientSecret: string | null
  /** In PEM. */
  privateKey: string | null
  keyId: string | null
  teamId: string | null
  scopes: readonly string[]
  pkce: boolean
  provider: Provider
}
