import type { ConnectionSignIn, Linking, UpstreamTokens, UpstreamWishes } from './upstream.ts'

/** A provider's statement about a person. */
export interface Assertion {
  /**
   * The person's id at the provider, which the provider never gives to another person: 1 to 255 characters. Never an
   * email address or a name that can change hands.
   */
  subject: string
  /** Together with the subject, the key of a link. Default: the `issuer` of the connection. */
  issuer?: string | undefined
  email?: string | null | undefined
  /** True if the provider says that it verified the address. An address that is not verified counts as none. */
  emailVerified?: boolean | undefined
  /**
   * True if the provider is authoritative for that mailbox, so that no other person can have verified the address
   * there. Default: `false`.
   */
  emailAuthoritative?: boolean | undefined
  /**
   * Further claims about the person, under the names of the standard claims: `name`, `given_name`, `picture`. @see
   * OpenID Connect Core 1.0 §5.1
   */
  profile?: Readonly<Record<string, unknown>> | undefined
  /** The time of the person's sign-in at the provider, in milliseconds since the epoch, if the provider reports it. */
  authenticatedAt?: number | undefined
  /** All claims of the provider, for the hooks `profile`, `assurance` and `onSignIn`. Default: the fields above. */
  claims?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Calls an API of the provider with the access token as Bearer, and resolves to the parsed JSON. Limits: five seconds,
 * 256 kB, https (http on this machine only), no redirects.
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
   * The endpoint that revokes tokens. If set, each link keeps the provider's refresh token, sealed. The service revokes
   * this token when the link or the account is removed.
   * @see RFC 7009 §2
   */
  revocation?: string | undefined
}

/** An invalid option, found by the function that made the connection: its name, its value and the accepted values. */
export interface ProviderMistake {
  option: string
  got: unknown
  takes: string
}

export interface ProviderBase {
  /** The provider's name for stylesheets, as `data-brand` of its button. `null`: none. */
  brand: string | null
  /**
   * The built-in logo on the provider's button: paths in a square of 24 units, by their color. Unchanged as the brand
   * rules require: no other colors, no cropping. `currentColor` is only for brands that allow a logo in the text color.
   */
  mark: Readonly<Record<string, string>> | null
  /** The issuer in the key of a link, unless an assertion has its own. */
  issuer: string
  /** The scopes to ask for if the option `scopes` is absent. */
  scopes: readonly string[]
  /** Extra parameters of every authorization request. */
  parameters: Readonly<Record<string, string>>
  /** True if the provider answers with `response_mode=form_post`. */
  formPost: boolean
  /** True if the provider can be asked for a fresh sign-in and proves it by `auth_time`. */
  provesFreshness: boolean
  /** `metadata`: as in the provider's metadata. `apple`: a `client_secret` that is signed again for each call. */
  clientAuthentication: 'metadata' | 'client_secret_post' | 'client_secret_basic' | 'apple'
  /** True if every client must have a secret. */
  secretRequired: boolean
  mistake: ProviderMistake | null
  /** Converts our wishes to this provider's parameters. */
  wishes(wishes: UpstreamWishes): Record<string, string>
  /** True if `iss` of an answer or an ID token is one of the provider's own. */
  acceptsIssuer(iss: string): boolean
}

/**
 * A provider with ID tokens. `assertion` gets only claims of a token whose signature, audience, nonce and times are
 * valid.
 */
export interface OpenidProvider extends ProviderBase {
  protocol: 'openid'
  /** `null`: by discovery at `issuer`. @see OpenID Connect Discovery 1.0 §4 */
  endpoints: ProviderEndpoints | null
  /** The accepted algorithms of ID tokens. `null`: those of the provider's metadata. */
  signingAlgs: readonly string[] | null
  /** True to call the userinfo endpoint, if the provider has one. */
  userinfo: boolean
  /**
   * `claims`: of the ID token, and of userinfo if it was called. `answer`: the unsigned parameters of the callback.
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

/** The differences of one provider from the others: data and pure functions. */
export type Provider = OpenidProvider | OauthProvider

/** Options that every connection has. */
export interface ConnectionOptions {
  /**
   * Part of its URLs, such as `/auth/connect/google`, and its name in events. No two connections have the same id.
   * `oidc` and `oauth2` have no default.
   */
  id?: string | undefined
  /** The name on the button. */
  name?: string | undefined
  /** The provider's id for this service. */
  clientId: string
  /** The client secret from the provider. */
  clientSecret?: string | undefined
  /** The scopes to ask for. */
  scopes?: string[] | undefined
  /** True if the connection may create accounts. */
  registration?: boolean | undefined
  /**
   * The rule for a person who comes for the first time with the email address of an account here. `"confirm"`: they
   * sign in the way they did before, then link. `"verified-email"`: linked at once if the provider verified the address
   * and is authoritative for it, and the account's address is verified too. Otherwise as `"confirm"`. `"never"`: they
   * sign in the way they did before.
   */
  linking?: Linking | undefined
  /**
   * Accepts only verified email addresses of these domains. People who type such an address on the sign-in page are
   * sent to this connection. A domain belongs to one connection. `[]`: addresses of any domain.
   */
  domains?: string[] | undefined
  /** True if accounts with an address in `domains` can sign in only through this connection, and in no other way. */
  enforce?: boolean | undefined
  /**
   * `(claims) => fields`: makes fields of an account from the provider's claims. Only fields of `registration.fields`
   * and the standard claims of a profile are taken.
   */
  profile?: ((claims: Readonly<Record<string, unknown>>) => Record<string, unknown>) | undefined
  /**
   * The time at which these fields are filled: with a new account (`create`, the default), or at each sign-in
   * (`always`).
   */
  sync?: 'create' | 'always' | undefined
  /**
   * `(claims) => ({ amr, acr })`: how the provider authenticated the person, for ID tokens of this service. An `acr` of
   * `acr_values_supported` counts as that value. Any other text is passed on as it is and meets no requirement.
   */
  assurance?:
    | ((claims: Readonly<Record<string, unknown>>) => { amr?: string[] | undefined; acr?: string | undefined })
    | undefined
  /**
   * `({ user, claims, tokens, isNew }) => void`: called after a sign-in that is finished with the provider's answer. No
   * reply waits for this hook. Only this hook sees the provider's tokens, once, because they are not stored. A sign-in
   * that ends on a page of this service (a second factor, fields of a new account, linking to an account) does not call
   * it. For these there are the events `authenticated`, `registered` and `identity_linked`.
   */
  onSignIn?: ((event: ConnectionSignIn) => void | Promise<void>) | undefined
  /** The link on the sign-in page. */
  button?:
    | {
        /** The text of the link. */
        label?: string | undefined
        /** A logo for a provider whose mark the pages don't know. */
        logoUrl?: string | undefined
      }
    | undefined
  /** `false` only for a provider that refuses PKCE (RFC 7636). */
  pkce?: boolean | undefined
  /**
   * The provider's names for your apps: the client ids of phone apps, Apple's bundle ids, and the client of One Tap on
   * a page of yours. Clients that list the grant can exchange an ID token that names one of these at the token endpoint
   * (`urn:ietf:params:oauth:grant-type:token-exchange`).
   * @see docs/guides/connections/apps.md
   */
  audiences?: string[] | undefined
  /**
   * `false` only for an app whose library can't put a nonce into its ID tokens. Then a token without a nonce is
   * accepted if the request has no nonce either. In any other case both nonces must match.
   */
  appNonce?: boolean | undefined
  /**
   * `false`, or a function that returns `false`, turns the connection off. So does a function that fails. The function
   * is called at most once a second, when the service must know the answer: such as at the start and at the callback of
   * each sign-in, and for each ID token of an app. Default: `true`.
   */
  enabled?: boolean | (() => boolean | Promise<boolean>) | undefined
}

/** The result of `google(…)`, `oidc(…)` and the others, for the option `connections`: data and pure functions. */
export interface ConnectionOption extends ConnectionOptions {
  id: string
  name: string
  /**
   * For `apple` and `oidc`: the private key in PEM with which the client authenticates instead of with a secret. A
   * literal `\n` counts as a line break.
   */
  privateKey?: string | undefined
  /** The id of that key at the provider. */
  keyId?: string | undefined
  /** The team that the key belongs to, for `apple`. */
  teamId?: string | undefined
  provider: Provider
}

/** This service's client at a provider, with checked options and every default filled in. */
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
