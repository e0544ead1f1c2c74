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

/**
 * The brand of a client. A title without a logo is shown as text, because the logo of the service shows the service's
 * name.
 */
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
        /** The height of the logo in pixels. */
        height?: number | undefined
        /** The alternative text of the logo. */
        alt?: string | undefined
      }
    | undefined
  /** Color of buttons and links. */
  accentColor?:
    | string
    | {
        /** The color in light mode. */
        light?: string | undefined
        /** The color in dark mode. */
        dark?: string | undefined
      }
    | undefined
}

/** A registered OAuth client. @see RFC 7591 §2 for the terms */
export interface Client {
  /** The name of the client in requests and tokens. */
  clientId: string
  /**
   * The secret, 32 bytes or more. A client without a secret and without keys is public. Generate the secret in
   * base64url, which form-encoding does not change: `node -p "crypto.randomBytes(32).toString('base64url')"`.
   */
  clientSecret?: string | undefined
  /**
   * How the client proves itself. `private_key_jwt`: by a JWT with the issuer as `aud`, signed with a key of `jwks` or
   * `jwksUri`.
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
   * The address of the client's key set, instead of `jwks`: `https:`, or `http:` on this machine. The keys are cached
   * for ten minutes, and for up to 24 hours while the address does not answer. A `kid` that the cached set lacks causes
   * a new fetch, at most once a minute.
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
   * with a dot. Compared character by character, except that `native` may use any port of a loopback address.
   */
  redirectUris?: string[] | undefined
  /** The addresses to which a sign-out may lead. Compared character by character. */
  postLogoutRedirectUris?: string[] | undefined
  /** The origins whose pages may call the endpoints with CORS. */
  origins?: string[] | undefined
  /** The grants that the client may use. */
  grantTypes?: GrantType[] | undefined
  /** The scopes that the client may be granted. */
  scopes?: string[] | undefined
  /** `false`: the client may omit PKCE. Only for a client with a secret or keys. A public client always needs PKCE. */
  requirePkce?: boolean | undefined
  /** `true`: the client must push every authorization request. @see RFC 9126 §6 */
  requirePushedAuthorizationRequests?: boolean | undefined
  /** `false`: a third-party client. The service asks users for consent, and the client never has the password grant. */
  firstParty?: boolean | undefined
  /** The client's name on the pages. */
  name?: string | undefined
  /** The client's logo on the consent page: an `https:` URL. */
  logoUri?: string | undefined
  /** A page about the client, linked on the consent page: an `https:` URL. */
  clientUri?: string | undefined
  /** The brand of the pages on the way to this client. Omitted fields come from the brand of the service. */
  pages?: ClientPages | undefined
  /** The algorithm of the client's ID tokens. */
  idTokenSignedResponseAlg?: string | undefined
  /** The claims in the client's ID tokens: see `idToken.claims`. */
  idTokenClaims?: 'requested' | 'scopes' | undefined
  /**
   * The address to call when a browser session ends that the client took part in (OpenID Connect Back-Channel Logout
   * 1.0).
   */
  backchannelLogoutUri?: string | undefined
  /**
   * The lowest authentication level with which this client gets tokens of the user, regardless of `acr_values` in the
   * request: one of `acr_values_supported`. [Step-up](../guides/step-up.md)
   */
  acr?: string | undefined
  /** `true`: the client gets only tokens that are bound to its key, in every grant. Needs the option `dpop`. */
  dpopBoundAccessTokens?: boolean | undefined
  /** The APIs that the client may ask for, by `resource`, among those that allow it. `[]`: none. */
  resources?: string[] | undefined
  /**
   * For an API that calls the introspection endpoint: its `resource`. The API sees only tokens for that resource. All
   * other tokens are `active: false`.
   */
  introspects?: string[] | undefined
}

/**
 * A store of clients. Every row is checked like a client of the option `clients`. An invalid row counts as an unknown
 * client, and an error in the log names the field (`MisfitError`). `null` in a field means "not given", as in SQL.
 * Unknown field names are refused.
 */
export interface ClientStore {
  /** `null` or `undefined`: no client has this id. */
  findById(clientId: string): Promise<Client | null>
}

/**
 * A client that is not in the host's list or store and describes itself by metadata. It is always a third-party client,
 * so the service asks the user for consent.
 */
export interface UnknownClient extends Client {
  firstParty: false
  unknown: {
    /** The host of the client's metadata document. `null`: the client registered itself, and no host vouches for it. */
    host: string | null
    /** True if `clientIdMetadata.trusted` lists that host. */
    isTrusted: boolean
    /** The client may authenticate with any of these methods. */
    authMethods: readonly NonNullable<Client['tokenEndpointAuthMethod']>[]
    /** Private-use schemes without a dot that its redirect URIs may have. */
    redirectSchemes: readonly string[]
  }
}

/** The permissions of a lookup that may fetch the document of an unknown client. */
export interface ClientLookup {
  /**
   * Runs `work`, which fetches the client's document, under a rate limit. Absent: finds only documents that were
   * fetched before.
   */
  fetching?<Found>(work: () => Promise<Found>): Promise<Found>
  /** True for a new authorization request. Fetches a document again if its cached copy is out of date. */
  begins?: boolean
}

/** Clients from a feature. Used only for an id that no registered client has. */
export interface ClientSource {
  /** True if the id has the form of this source's ids. */
  takes(clientId: string): boolean
  /**
   * Finds the client that describes itself. `null`: the id is not valid, the client is blocked, its description is
   * refused, or the description is not cached and `asking` does not permit a fetch.
   * @throws OAuthError if the description can't be fetched now
   */
  find(clientId: string, asking: ClientLookup): Promise<UnknownClient | null>
}

/** All clients of the service. */
export interface Clients extends ClientStore {
  findById(clientId: string, asking?: ClientLookup): Promise<Client | null>
}
