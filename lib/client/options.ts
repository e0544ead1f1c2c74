import type { AuthClientError } from './errors.ts'

/** The storage of a session. The methods may answer by a promise. */
export interface AuthStorage {
  /** The value under this key. `null`: none. */
  getItem(key: string): string | null | Promise<string | null>
  /** Stores the value. A promise is awaited. */
  setItem(key: string, value: string): unknown
  /** Removes the value. A promise is awaited. */
  removeItem(key: string): unknown
}

export interface AuthClientOptions {
  /** The `clientId` of a client without a secret that the provider has registered. */
  clientId: string
  /** The provider: a host, host:port or a full URL. Without a scheme a loopback host is http, any other https. */
  domain: string
  /**
   * The address to which the answer of a sign-in comes, character by character as registered. Default: the page's own
   * URL without query and hash.
   */
  redirectUri?: string | undefined
  /**
   * The API that the access token is for: one of the server's option `resources`. `scope` names its scopes too. The
   * token is for that API alone and not for userinfo, so `getUser()` has only the claims of the ID token.
   */
  audience?: string | undefined
  /** Default: `openid profile email`. In `token` mode the client always adds `offline_access`. */
  scope?: string | undefined
  /**
   * The storage of the session. `local` (default): all tabs, and the next visit; any script of the page's origin can
   * read it. `session`: this tab. `memory`: the open tabs of this origin, which hand it to each other. An object: the
   * host's own storage. If web storage is blocked or full, the session ends with the page.
   */
  storage?: 'local' | 'session' | 'memory' | AuthStorage | undefined
  /**
   * `token` (default): an OAuth client with tokens of its own. `cookie`: for pages on the provider's own origin; the
   * tokens never reach JavaScript, and the browser session of the hosted pages is the session.
   */
  mode?: 'token' | 'cookie' | undefined
  /** In `cookie` mode: the path prefix of the provider's endpoints. Default: `/auth`. */
  prefix?: string | undefined
  /** Further origins, besides the page's own, to which `fetch` sends the access token. */
  allowedOrigins?: string[] | undefined
}

export interface LoginOptions<AppState = unknown> {
  /** Any JSON value. `handleRedirectCallback` returns it; it never leaves the browser. */
  appState?: AppState
  /** The name that the sign-in page has filled in (`login_hint`). */
  loginHint?: string
  /**
   * `signup`: the provider shows its sign-up page first (`prompt=create`). For providers that list `create` in their
   * metadata's `prompt_values_supported`; another one may have a parameter of its own for `authorizationParams`.
   */
  screen?: 'signup'
  /** Another `redirectUri` than that of the client, for this sign-in. */
  redirectUri?: string
  /** More parameters of the authorization request, by their names on the wire. */
  authorizationParams?: Record<string, string | number | undefined>
  /** Called with the address instead of navigating the page. */
  openUrl?: (url: string) => void | Promise<void>
}

export interface LogoutOptions {
  /**
   * The address to which the provider leads back. Default: the page stays with the provider. `false`: the browser does
   * not navigate. In `token` mode the provider's own session then continues. In `cookie` mode the session always ends,
   * because it is the session of this app. In `cookie` mode, and if the provider has no sign-out page, the browser goes
   * straight to `returnTo`, and does not navigate by default.
   */
  returnTo?: string | false
  /** Called with the address instead of navigating the page. */
  openUrl?: (url: string) => void | Promise<void>
}

export interface AuthClientEvents<Profile> {
  /** A user is signed in. Also fires for a listener that is added later, and for a sign-in in any tab. */
  authenticated: Profile
  /** The user is signed out, in this tab or another. */
  unauthenticated: undefined
  /** There is a new access token, requested by this tab or another. */
  token_refreshed: undefined
  /**
   * A method was rejected in this tab, with this error. `getAccessToken` rejects with `login_required` without an event
   * if nobody is signed in.
   */
  error: AuthClientError
}

/** The default profile: the standard claims, and all others of the provider. @see OpenID Connect Core 1.0 §5.1 */
export interface UserProfile {
  sub: string
  name?: string
  given_name?: string
  family_name?: string
  middle_name?: string
  nickname?: string
  preferred_username?: string
  profile?: string
  picture?: string
  website?: string
  email?: string
  email_verified?: boolean
  gender?: string
  birthdate?: string
  zoneinfo?: string
  locale?: string
  phone_number?: string
  phone_number_verified?: boolean
  address?: {
    formatted?: string
    street_address?: string
    locality?: string
    region?: string
    postal_code?: string
    country?: string
  }
  /** Seconds since the epoch. */
  updated_at?: number
  [claim: string]: unknown
}

/** `Token`: what `getAccessToken` resolves to. In `cookie` mode there is none. */
export interface AuthClient<
  Profile extends { sub: string } = UserProfile,
  AppState = unknown,
  Token extends string | undefined = string
> {
  /**
   * Leads to the provider's sign-in page. Waits for a sign-out that is under way. Resolves when the browser has been
   * sent there.
   */
  loginWithRedirect(options?: LoginOptions<AppState>): Promise<void>
  /**
   * Completes a sign-in with the response in `url` (default: the page's own), and removes it from the address. A second
   * call has the same result.
   */
  handleRedirectCallback(url?: string): Promise<{ appState: AppState | undefined }>
  /**
   * The signed-in user, or `null`. Asks no server. Returns the same object for as long as the user's claims do not
   * change.
   */
  getUser(): Promise<Profile | null>
  /**
   * A valid access token. Refreshes one that is about to expire, once for all tabs. `force` refreshes any token.
   * `undefined` in `cookie` mode.
   */
  getAccessToken(options?: { force?: boolean }): Promise<Token>
  /**
   * Signs out. In `token` mode the request that revokes the refresh token is sent and not waited for, and the browser
   * is sent to the provider's sign-out, unless `returnTo` is `false`. In `cookie` mode the client ends the session by a
   * request and waits for the response. Every tab is notified. Until the provider has answered, `loginWithRedirect`
   * waits in all tabs. For half a minute after the sign-out it sends `prompt=login`, so the person has to sign in
   * again.
   */
  logout(options?: LogoutOptions): Promise<void>
  /**
   * `fetch` with the access token, for the page's own origin and `allowedOrigins`. Tries once more with a new token
   * after a 401.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Returns a function that removes the listener. A listener that throws disturbs no other. */
  on<Name extends keyof AuthClientEvents<Profile>>(
    name: Name,
    listener: (payload: AuthClientEvents<Profile>[Name]) => void
  ): () => void
  /** Removes a listener. Removing an unknown listener is no error. */
  off<Name extends keyof AuthClientEvents<Profile>>(
    name: Name,
    listener: (payload: AuthClientEvents<Profile>[Name]) => void
  ): void
}

/** A client in either mode. */
export type AnyAuthClient<Profile extends { sub: string } = UserProfile, AppState = unknown> = AuthClient<
  Profile,
  AppState,
  string | undefined
>

/** Creates a client. The type follows `mode`: in `cookie` mode there is no access token. */
export interface CreateAuthClient {
  <Profile extends { sub: string } = UserProfile, AppState = unknown>(
    options: AuthClientOptions & { mode?: 'token' | undefined }
  ): AuthClient<Profile, AppState>
  <Profile extends { sub: string } = UserProfile, AppState = unknown>(
    options: AuthClientOptions & { mode: 'cookie' }
  ): AuthClient<Profile, AppState, undefined>
  <Profile extends { sub: string } = UserProfile, AppState = unknown>(
    options: AuthClientOptions
  ): AnyAuthClient<Profile, AppState>
}
