/** The grants for which a client can be registered. */
export const GRANT_TYPES = [
  'password',
  'authorization_code',
  'refresh_token',
  'client_credentials',
  'urn:ietf:params:oauth:grant-type:token-exchange',
  'urn:ietf:params:oauth:grant-type:device_code'
] as const
export type GrantType = (typeof GRANT_TYPES)[number]

/** The brand of a client. A title without a logo is shown as text, because the logo of the service has its name. */
export interface ClientPages {
  /** The name at the top of the pages. */
  title?: string | undefined
  /** The logo, instead of the name. */
  logo?:
    | {
        /** The image. */
        url: string
        /** The image in dark mode. */
        dark?: string | undefined
        /** Its height in pixels. */
        height?: number | undefined
        /** Its words for people who can't see it. */
        alt?: string | undefined
      }
    | undefined
  /** Colour of buttons and links. */
  accentColor?:
    | string
    | {
        /** The colour in light mode. */
        light?: string | undefined
        /** The colour in dark mode. */
        dark?: string | undefined
      }
    | undefined
}

/** A registered OAuth client. @see RFC 7591 §2 for the terms */
export interface Client {
  /** The name of the client in requests and tokens. */
  clientId: string
  /**
   * 32 bytes or more. Without it and without keys the client is public. Make it in base64url, which is the same with
   * and without form-encoding: `node -p "crypto.randomBytes(32).toString('base64url')"`.
   */
  clientSecret?: string | undefined
  /**
   * How the client proves itself. `private_key_jwt`: by a JWT that it signs with a key of `jwks` or `jwksUri`, whose
   * `aud` is the issuer.
   * @see RFC 7523 §3, OpenID Connect Core 1.0 §9
   */
  tokenEndpointAuthMethod?: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt' | undefined
  /** The public keys of the client. */
  jwks?:
    | {
        /** At most 20 JWKs, for `ES256`, `EdDSA`, `PS256` or `RS256`. */
        keys: Array<Record<string, unknown>>
      }
    | undefined
  /**
   * The address of its key set, instead of `jwks`: `https:`, or `http:` on this machine. The keys are cached for ten
   * minutes, and for up to 24 hours while the address does not answer. A new `kid` is looked up at most once a minute.
   */
  jwksUri?: string | undefined
  /**
   * `"web"`: its URIs are `https:`, or `http:` on this machine. `"native"`: an app on the user's device, whose redirect
   * URIs may have a private-use scheme with a dot, and any port of a loopback address.
   * @see OpenID Connect Dynamic Client Registration 1.0 §2, RFC 8252 §7
   */
  applicationType?: 'web' | 'native' | undefined
  /**
   * The addresses to which codes may be sent: `https:`, `http:` on this machine, or for `native` a private-use scheme
   * with a dot. Compared character by character; the port of a loopback address may be another for `native`.
   */
  redirectUris?: string[] | undefined
  /** The addresses to which a sign-out may lead. Compared character by character. */
  postLogoutRedirectUris?: string[] | undefined
  /** The origins whose pages may call by CORS. */
  origins?: string[] | undefined
  /** The grants that the client may use. */
  grantTypes?: GrantType[] | undefined
  /** The scopes that the client may be granted. */
  scopes?: string[] | undefined
  /** `false` only for a client with a secret or keys. A public client always needs PKCE. */
  requirePkce?: boolean | undefined
  /** Every authorization request of the client must be pushed. @see RFC 9126 §6 */
  requirePushedAuthorizationRequests?: boolean | undefined
  /** `false`: a third-party program. It asks users for consent and never has the password grant. */
  firstParty?: boolean | undefined
  /** Its name on the pages. */
  name?: string | undefined
  /** Its logo, on the consent page: an `https:` URL. */
  logoUri?: string | undefined
  /** A page about it, linked on the consent page: an `https:` URL. */
  clientUri?: string | undefined
  /** The brand of the pages on the way to this client, where it differs from the service's. */
  pages?: ClientPages | undefined
  /** The algorithm of its ID tokens. */
  idTokenSignedResponseAlg?: string | undefined
  /** Which claims its ID tokens have: see `idToken.claims`. */
  idTokenClaims?: 'requested' | 'scopes' | undefined
  /**
   * The address to call when a browser session ends that the client took part in (OpenID Connect Back-Channel Logout
   * 1.0).
   */
  backchannelLogoutUri?: string | undefined
  /**
   * The lowest authentication level with which this client gets tokens of the user, for any `acr_values` in the
   * request: one of `acr_values_supported`. [Step-up](../guides/step-up.md)
   */
  acr?: string | undefined
  /** `true`: the client gets only tokens that are bound to its key, in every grant. Needs the option `dpop`. */
  dpopBoundAccessTokens?: boolean | undefined
  /** The APIs that the client may ask for, by `resource`, among those that allow it. `[]`: none. */
  resources?: string[] | undefined
  /**
   * For an API that asks the introspection endpoint: its `resource`. The answers are about tokens for it alone, and
   * `active: false` for all others.
   */
  introspects?: string[] | undefined
}

/**
 * A store of clients. Every row is checked like a listed client: an invalid row is an unknown client, and an error in
 * the log names the field (`MisfitError`). `null` in a field means "not given", as in SQL. Unknown field names are
 * refused.
 */
export interface ClientStore {
  /** `null` or `undefined`: there is none. */
  findById(clientId: string): Promise<Client | null>
}

/** A client that nobody registered: it describes itself. It always asks for consent. */
export interface UnknownClient extends Client {
  firstParty: false
  unknown: {
    /** The host of its document. `null`: nobody vouches for the client. */
    host: string | null
    /** True if the host trusts that one. */
    isTrusted: boolean
    /** Each of these proves the client. */
    authMethods: readonly NonNullable<Client['tokenEndpointAuthMethod']>[]
    /** Private-use schemes without a dot that its redirect URIs may have. */
    redirectSchemes: readonly string[]
  }
}

/** The means to find a client that nobody registered. */
export interface Asking {
  /** Runs a fetch of the client's document, under a limit. Absent: only known documents count. */
  fetching?<Found>(work: () => Promise<Found>): Promise<Found>
  /** True for a new authorization request: a description that is out of date is fetched again. */
  begins?: boolean
}

/** Clients of a feature. Registered clients come first. */
export interface ClientSource {
  /** True if an id has the form of this source. */
  takes(clientId: string): boolean
  /** @throws OAuthError if a description can't be fetched now */
  find(clientId: string, asking: Asking): Promise<UnknownClient | null>
}

/** All clients of the service. */
export interface Clients extends ClientStore {
  findById(clientId: string, asking?: Asking): Promise<Client | null>
}
