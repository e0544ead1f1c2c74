import type { AuthClientError } from './errors.ts'

/** The storage of a session. Each method may return a promise. */
export interface AuthStorage {
  /** The value under this key. `null`: none. */
  getItem(key: string): string | null | Promise<string | null>
  /** Stores the value. */
  setItem(key: string, value: string): unknown
  /** Removes the value. */
  removeItem(key: string): unknown
}

export interface AuthClientOptions {
  /** The id of a public client that is registered at the provider. @see RFC 6749 §2.1 */
  clientId: string
  /**
   * The provider: a host, host:port or a full URL. Without a scheme, `localhost`, `127.0.0.1` and `[::1]` get http, and
   * any other host gets https.
   */
  domain: string
  /**
   * The address to which the provider redirects after a sign-in. In `token` mode it must be equal to a registered one,
   * character by character. Default: the page's own URL without query and hash.
   */
  redirectUri?: string | undefined
  /**
   * The API that the access token is for: one of the server's option `resources`. Add the API's scopes to `scope`. The
   * token is not for userinfo then, so `getUser()` has only the claims of the ID token.
   */
  audience?: string | undefined
  /** Default: `openid profile email`. The client adds `offline_access`. Not used in `cookie` mode. */
  scope?: string | undefined
  /**
   * The storage of the session. `local` (default): all tabs, and the next visit; any script of the page's origin can
   * read it. `session`: this tab. `memory`: the open tabs of this origin, which send it to each other. An object: the
   * host's own storage. If web storage is blocked or full, the session ends with the page.
   */
  storage?: 'local' | 'session' | 'memory' | AuthStorage | undefined
  /**
   * `token` (default): an OAuth client with its own tokens. `cookie`: for pages on the provider's own origin. The
   * client uses the browser session of the hosted pages, and there are no tokens.
   */
  mode?: 'token' | 'cookie' | undefined
  /** In `cookie` mode: the path prefix of the provider's endpoints. Default: `/auth`. */
  prefix?: string | undefined
  /** Further origins, besides the page's own, to which `fetch` sends the access token. */
  allowedOrigins?: string[] | undefined
}

export interface LoginOptions<AppState = unknown> {
  /** Any JSON value. `handleRedirectCallback` returns it. It is not part of the authorization request. */
  appState?: AppState
  /** The username or email address to fill in on the sign-in page (`login_hint`). */
  loginHint?: string
  /**
   * `signup`: asks the provider to show its sign-up page first (`prompt=create`). The provider must list `create` in
   * `prompt_values_supported` of its metadata. Other providers may have their own parameter for `authorizationParams`.
   */
  screen?: 'signup'
  /** Replaces the `redirectUri` of the client for this sign-in. */
  redirectUri?: string
  /** Further parameters of the authorization request, by their names in the request. Not sent in `cookie` mode. */
  authorizationParams?: Record<string, string | number | undefined>
  /** Called with the address instead of navigating the page. */
  openUrl?: (url: string) => void | Promise<void>
}

export interface LogoutOptions {
  /**
   * The address to which the provider redirects after the sign-out. Default: the browser stays at the provider.
   * `false`: the browser does not navigate, and in `token` mode the provider's own session continues. In `cookie` mode,
   * or if the provider has no sign-out page, the browser goes directly to `returnTo`. Without a `returnTo`, it then
   * does not navigate.
   */
  returnTo?: string | false
  /** Called with the address instead of navigating the page. */
  openUrl?: (url: string) => void | Promise<void>
}

export interface AuthClientEvents<Profile> {
  /**
   * A user is signed in. Also fires after a sign-in in another tab with the same storage. A listener that is added
   * later is called with the stored user.
   */
  authenticated: Profile
  /** The user is signed out, in this tab or another. */
  unauthenticated: undefined
  /** There is a new access token, requested by this tab or another. */
  token_refreshed: undefined
  /**
   * A method rejected with this error in this tab. `getAccessToken` rejects with `login_required` without an event if
   * nobody is signed in.
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

/** `Token`: the type that `getAccessToken` resolves to, `undefined` in `cookie` mode. */
export interface AuthClient<
  Profile extends { sub: string } = UserProfile,
  AppState = unknown,
  Token extends string | undefined = string
> {
  /**
   * Navigates to the provider's sign-in page. Waits for a sign-out that is under way. Resolves when the navigation has
   * begun.
   */
  loginWithRedirect(options?: LoginOptions<AppState>): Promise<void>
  /**
   * Completes a sign-in with the response in `url` (default: the page's URL). Removes the response from the page's URL.
   * After a success, a second call has the same result.
   */
  handleRedirectCallback(url?: string): Promise<{ appState: AppState | undefined }>
  /**
   * The signed-in user, or `null`. Sends no request. Returns the same object for as long as the user's claims do not
   * change.
   */
  getUser(): Promise<Profile | null>
  /**
   * A valid access token. Refreshes a token that is about to expire. All tabs share one refresh. `force`: refreshes a
   * token that is still valid too. `undefined` in `cookie` mode.
   */
  getAccessToken(options?: { force?: boolean }): Promise<Token>
  /**
   * Signs out. In `token` mode the client sends the request that revokes the refresh token without waiting for the
   * response. Then the browser goes to the provider's sign-out, unless `returnTo` is `false`. In `cookie` mode the
   * client ends the session by a request and waits for the response. Every tab is notified. During the sign-out,
   * `loginWithRedirect` waits in all tabs, at most 15 s. For half a minute after the sign-out, `loginWithRedirect`
   * sends `prompt=login` (or `prompt=create` for a sign-up), so that the user must sign in again.
   */
  logout(options?: LogoutOptions): Promise<void>
  /**
   * `fetch` with the access token, for the page's own origin and `allowedOrigins`. Tries once more with a new token
   * after a 401.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Adds a listener. Returns a function that removes it. A listener that throws does not affect the others. */
  on<Name extends keyof AuthClientEvents<Profile>>(
    name: Name,
    listener: (payload: AuthClientEvents<Profile>[Name]) => void
  ): () => void
  /** Removes a listener. Ignores an unknown listener. */
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
