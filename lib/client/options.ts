import type { AuthClientError } from './errors.ts'
import type { Claims } from './id-token.ts'

/** Where a session is kept. The methods may answer by a promise. */
export interface AuthStorage {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): unknown
  removeItem(key: string): unknown
}

export interface AuthClientOptions {
  clientId: string
  /** The provider: a host, host:port or a full URL. */
  domain: string
  /** Default: the page's own URL without query and hash. */
  redirectUri?: string
  audience?: string
  /** Default: `openid profile email`. `offline_access` is added by itself. */
  scope?: string
  /**
   * Where the session is kept. `local` (default): all tabs, and the next visit; any script of the page's origin can read it.
   * `session`: this tab. `memory`: the open tabs of this origin, which hand it to each other. Or the host's own.
   */
  storage?: 'local' | 'session' | 'memory' | AuthStorage
  /**
   * `token` (default): an OAuth client with tokens of its own. `cookie`: for pages on the provider's own origin; the tokens never
   * reach JavaScript, and the browser session of the hosted pages is the session.
   */
  mode?: 'token' | 'cookie'
  /** In `cookie` mode: where the provider's endpoints are mounted. Default: `/auth`. */
  prefix?: string
  /** Origins beside the page's own that `fetch` sends the access token to. */
  allowedOrigins?: string[]
}

export interface LoginOptions<AppState = unknown> {
  /** Comes back from `handleRedirectCallback`. Any JSON value; never leaves the browser. */
  appState?: AppState
  loginHint?: string
  redirectUri?: string
  /** More parameters of the authorization request, by their names on the wire. */
  authorizationParams?: Record<string, string>
  /** Takes the address in place of the page's own location. */
  openUrl?: (url: string) => void | Promise<void>
}

export interface LogoutOptions {
  /** Where the provider leads back to. Default: the page stays with the provider. `false`: only this browser's session ends, and no page is left. */
  returnTo?: string | false
  openUrl?: (url: string) => void | Promise<void>
}

export interface AuthClientEvents<Profile> {
  /** Somebody is signed in: at once where somebody is already when the listener is added, and in whatever tab it happens. */
  authenticated: Profile
  unauthenticated: undefined
  token_refreshed: undefined
  error: AuthClientError
}

export type UserProfile = Claims

export interface AuthClient<Profile extends UserProfile = UserProfile, AppState = unknown> {
  /** Leads to the provider's sign-in page. Resolves when the browser has been sent there. */
  loginWithRedirect(options?: LoginOptions<AppState>): Promise<void>
  /**
   * Ends a sign-in with the answer in `url` (default: the page's own), and takes it out of the address. Called twice, in whatever
   * way, it answers twice the same.
   */
  handleRedirectCallback(url?: string): Promise<{ appState: AppState | undefined }>
  /** Who is signed in; `null`: nobody. Asks no server. The same object for as long as it is the same. */
  getUser(): Promise<Profile | null>
  /** An access token that is good now. Refreshed where it is about to end, once over all tabs. */
  getAccessToken(options?: { force?: boolean }): Promise<string>
  /** Signs out: here at once, then with the provider. */
  logout(options?: LogoutOptions): Promise<void>
  /** `fetch` with the access token, for the page's own origin and `allowedOrigins`. Tries once more with a new token after a 401. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Returns its undo. A listener that throws disturbs nobody. */
  on<Name extends keyof AuthClientEvents<Profile>>(name: Name, listener: (payload: AuthClientEvents<Profile>[Name]) => void): () => void
  off<Name extends keyof AuthClientEvents<Profile>>(name: Name, listener: (payload: AuthClientEvents<Profile>[Name]) => void): void
}
