/**
 * The browser client as a consumer's compiler sees it: with `moduleResolution` `nodenext` and Node's types (a server that renders),
 * and, by `browser/tsconfig.json`, with `bundler` and a browser's. Each `@ts-expect-error` fails the check where there is no error.
 */
import { AuthClientError, createAuthClient } from 'fastify-authority/client'
import type { AuthClient, AuthClientEvents, AuthClientOptions, AuthStorage, LoginOptions, LogoutOptions, UserProfile } from 'fastify-authority/client'
import { answerPopup, loginWithPopup } from 'fastify-authority/client/popup'
import { loginSilently } from 'fastify-authority/client/silent'
import { authStore } from 'fastify-authority/client/svelte'

interface Profile extends UserProfile {
  name?: string
  role: 'admin' | 'user'
}
interface AppState { from: string }

const options: AuthClientOptions = { clientId: 'spa', domain: 'auth.example.com' }
export const auth = createAuthClient<Profile, AppState>({ ...options, redirectUri: 'https://app.example/callback', scope: 'openid', allowedOrigins: ['https://api.example'] })
export const plain: AuthClient = createAuthClient(options)

const own: AuthStorage = { getItem: async () => null, setItem: () => {}, removeItem: async () => {} }
createAuthClient({ ...options, storage: own })
createAuthClient({ ...options, storage: 'memory', mode: 'cookie', prefix: '/auth' })

// @ts-expect-error -- the client id is required
createAuthClient({ domain: 'auth.example.com' })
// @ts-expect-error -- no such place
createAuthClient({ ...options, storage: 'disk' })
// @ts-expect-error -- an option that is not there is left out, not undefined
createAuthClient({ ...options, audience: undefined })
// @ts-expect-error -- no such option
createAuthClient({ ...options, redirect_uri: '/' })

export async function calls (): Promise<void> {
  const login: LoginOptions<AppState> = { appState: { from: '/cart' }, loginHint: 'ann', authorizationParams: { prompt: 'login' } }
  const nothing: void = await auth.loginWithRedirect(login)
  // @ts-expect-error -- another state than the app's
  await auth.loginWithRedirect({ appState: { to: '/cart' } })
  // @ts-expect-error -- parameters are text
  await auth.loginWithRedirect({ authorizationParams: { max_age: 5 } })

  const { appState } = await auth.handleRedirectCallback()
  const from: string | undefined = appState?.from
  // @ts-expect-error -- there may be none
  const sure: string = appState.from

  const user = await auth.getUser()
  const role: 'admin' | 'user' | undefined = user?.role
  // @ts-expect-error -- nobody may be signed in
  const sub: string = user.sub
  const anything: unknown = (await plain.getUser())?.['https://example/claim']

  const token: string = await auth.getAccessToken({ force: true })
  const logout: LogoutOptions = { returnTo: false, openUrl: async () => {} }
  await auth.logout(logout)
  const response: Response = await auth.fetch(new URL('https://api.example/orders'), { method: 'POST' })
  void [nothing, from, sure, role, sub, anything, token, response]

  // @ts-expect-error -- a client is no promise
  void auth.then
}

export function events (): void {
  const undo: () => void = auth.on('authenticated', (profile) => { const role: 'admin' | 'user' = profile.role; void role })
  auth.on('unauthenticated', (payload: undefined) => payload)
  auth.on('token_refreshed', () => {})
  auth.on('error', ({ error, error_description: description, retryable, cause, appState }) => { void [error satisfies string, description satisfies string, retryable satisfies boolean, cause, appState] })
  // @ts-expect-error -- no such event
  auth.on('signed_in', () => {})
  // @ts-expect-error -- the payload is a profile
  auth.on('authenticated', (profile: string) => { void profile })
  const listener = (error: AuthClientEvents<Profile>['error']): void => { void error.retryable }
  auth.on('error', listener)
  auth.off('error', listener)
  undo()
}

export async function entries (): Promise<void> {
  const { appState } = await loginWithPopup(auth, { appState: { from: '/' }, timeoutMs: 1000, redirectUri: 'https://app.example/popup' })
  const silent = await loginSilently(auth)
  const same: Array<AppState | undefined> = [appState, silent.appState]
  const answered: boolean = await answerPopup()
  const end: () => void = authStore(auth).subscribe(({ user, isLoading, error }) => { void [user?.role, isLoading satisfies boolean, error?.retryable] })
  // @ts-expect-error -- another state than the app's
  await loginWithPopup(auth, { appState: 7 })
  void [same, answered, end]
}

export function failure (error: unknown): string {
  return error instanceof AuthClientError ? `${error.error}${error.retryable ? ', try again' : ''}` : 'no error of the client'
}
