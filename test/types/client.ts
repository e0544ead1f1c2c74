/**
 * The browser client as a consumer's compiler sees it: with `moduleResolution` `nodenext` and Node's types (a server
 * that renders), and, by `browser/tsconfig.json`, with `bundler` and a browser's. Each `@ts-expect-error` fails the
 * check where there is no error.
 */
import { AuthClientError, createAuthClient } from 'fastify-authority/client'
import type {
  AnyAuthClient,
  AuthClient,
  AuthClientEvents,
  AuthClientOptions,
  AuthStorage,
  LoginOptions,
  LogoutOptions,
  UserProfile
} from 'fastify-authority/client'
import { fetchWithStepUp, stepUpChallenge } from 'fastify-authority/client/step-up'
import { answerPopup, loginWithPopup } from 'fastify-authority/client/popup'
import { loginSilently } from 'fastify-authority/client/silent'
import { authStore } from 'fastify-authority/client/svelte'

/** An interface of the app's own: it has no index signature, and need not. */
interface Profile {
  sub: string
  name?: string
  role: 'admin' | 'user'
}
interface AppState {
  from: string
}

const options = { clientId: 'spa', domain: 'auth.example.com' }
const whatever: AuthClientOptions = options
export const auth = createAuthClient<Profile, AppState>({
  ...options,
  redirectUri: 'https://app.example/callback',
  scope: 'openid',
  allowedOrigins: ['https://api.example']
})
export const plain: AuthClient = createAuthClient(options)
export const inCookie: AuthClient<UserProfile, unknown, undefined> = createAuthClient({ ...options, mode: 'cookie' })
export const either: AnyAuthClient = createAuthClient(whatever)
// @ts-expect-error -- it may be in cookie mode
export const sureOfToken: AuthClient = createAuthClient(whatever)
export const extended = createAuthClient<UserProfile & { role: string }>(options)
// @ts-expect-error -- a signed-in user has a subject
createAuthClient<{ name: string }>(options)

const own: AuthStorage = { getItem: async () => null, setItem: () => {}, removeItem: async () => {} }
createAuthClient({ ...options, storage: own })
createAuthClient({ ...options, storage: 'memory', mode: 'cookie', prefix: '/auth' })

// @ts-expect-error -- the client id is required
createAuthClient({ domain: 'auth.example.com' })
// @ts-expect-error -- no such place
createAuthClient({ ...options, storage: 'disk' })
// As everywhere, undefined is "not given".
createAuthClient({ ...options, audience: undefined, storage: undefined })
// @ts-expect-error -- no such option
createAuthClient({ ...options, redirect_uri: '/' })

export async function calls(): Promise<void> {
  const login: LoginOptions<AppState> = {
    appState: { from: '/cart' },
    loginHint: 'ann',
    authorizationParams: { prompt: 'login' }
  }
  const nothing: void = await auth.loginWithRedirect(login)
  // @ts-expect-error -- another state than the app's
  await auth.loginWithRedirect({ appState: { to: '/cart' } })
  await auth.loginWithRedirect({ authorizationParams: { max_age: 5, prompt: undefined } })
  // @ts-expect-error -- parameters are texts and numbers
  await auth.loginWithRedirect({ authorizationParams: { claims: { id_token: null } } })

  const { appState } = await auth.handleRedirectCallback()
  const from: string | undefined = appState?.from
  // @ts-expect-error -- there may be none
  const sure: string = appState.from

  const user = await auth.getUser()
  const role: 'admin' | 'user' | undefined = user?.role
  // @ts-expect-error -- nobody may be signed in
  const sub: string = user.sub
  const standard = await plain.getUser()
  const anything: unknown = standard?.['https://example/claim']
  const claims: [string | undefined, boolean | undefined, number | undefined, string | undefined] = [
    standard?.email,
    standard?.email_verified,
    standard?.updated_at,
    standard?.address?.country
  ]
  // @ts-expect-error -- the standard claims have types
  const wrong: number | undefined = standard?.email

  const token: string = await auth.getAccessToken({ force: true })
  const none: undefined = await inCookie.getAccessToken()
  // @ts-expect-error -- in cookie mode there is no token
  const noToken: string = await inCookie.getAccessToken()
  // @ts-expect-error -- and where the mode is not known there may be none
  const perhaps: string = await either.getAccessToken()
  const logout: LogoutOptions = { returnTo: false, openUrl: async () => {} }
  await auth.logout(logout)
  const response: Response = await auth.fetch(new URL('https://api.example/orders'), { method: 'POST' })
  void [nothing, from, sure, role, sub, anything, claims, wrong, token, none, noToken, perhaps, response]

  // @ts-expect-error -- a client is no promise
  void auth.then
}

export function events(): void {
  const undo: () => void = auth.on('authenticated', (profile) => {
    const role: 'admin' | 'user' = profile.role
    void role
  })
  auth.on('unauthenticated', (payload: undefined) => payload)
  auth.on('token_refreshed', () => {})
  auth.on('error', ({ error, error_description: description, retryable, cause, appState }) => {
    void [error satisfies string, description satisfies string, retryable satisfies boolean, cause, appState]
  })
  // @ts-expect-error -- no such event
  auth.on('signed_in', () => {})
  // @ts-expect-error -- the payload is a profile
  auth.on('authenticated', (profile: string) => {
    void profile
  })
  const listener = (error: AuthClientEvents<Profile>['error']): void => {
    void error.retryable
  }
  auth.on('error', listener)
  auth.off('error', listener)
  undo()
}

export async function entries(): Promise<void> {
  const { appState } = await loginWithPopup(auth, {
    appState: { from: '/' },
    timeoutMs: 1000,
    redirectUri: 'https://app.example/popup'
  })
  const silent = await loginSilently(auth)
  await loginSilently(inCookie)
  const same: Array<AppState | undefined> = [appState, silent.appState]
  const answered: boolean = await answerPopup()
  const end: () => void = authStore(auth).subscribe(({ user, isLoading, error }) => {
    void [user?.role, isLoading satisfies boolean, error?.retryable]
  })
  // @ts-expect-error -- another state than the app's
  await loginWithPopup(auth, { appState: 7 })
  const response: Response = await fetchWithStepUp(
    auth,
    '/api',
    { method: 'POST' },
    { appState: { from: '/' }, signIn: async (options) => await loginWithPopup(auth, options) }
  )
  const asked: string | undefined = stepUpChallenge(response)?.acr_values
  // @ts-expect-error -- another state than the app's
  await fetchWithStepUp(auth, '/api', {}, { appState: 7 })
  void [same, answered, end, asked]
}

export function failure(error: unknown): string {
  return error instanceof AuthClientError
    ? `${error.error}${error.retryable ? ', try again' : ''}`
    : 'no error of the client'
}
