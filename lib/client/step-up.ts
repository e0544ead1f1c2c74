/** `fastify-authority/client/step-up`: signs in again if an API requires a more recent or stronger sign-in. */
import { AuthClientError } from './errors.ts'
import type { AnyAuthClient, LoginOptions } from './options.ts'

/** An API's requirements on a sign-in, as parameters of an authorization request. @see RFC 9470 §3 */
export interface StepUpChallenge {
  /** The accepted levels of the sign-in, separated by spaces. */
  acr_values?: string
  /** The maximum age of the sign-in in seconds. */
  max_age?: string
}

export interface StepUpOptions<AppState = unknown> extends LoginOptions<AppState> {
  /**
   * Signs in with these options without leaving the page, such as `(options) => loginWithPopup(auth, options)`.
   * Default: the browser goes to the sign-in page.
   */
  signIn?: (options: LoginOptions<AppState>) => Promise<unknown>
}

/**
 * The challenge of a 401 `insufficient_user_authentication`, or `null` for every other response. A page can read the
 * challenge of another origin only if the API sends `Access-Control-Expose-Headers: WWW-Authenticate`.
 */
export function stepUpChallenge({ status, headers }: Response): StepUpChallenge | null {
  const challenge = headers.get('www-authenticate') ?? ''
  if (status !== 401 || !/\berror="?insufficient_user_authentication\b/.test(challenge)) return null
  const asked: StepUpChallenge = {}
  for (const [, name, value] of challenge.matchAll(/\b(acr_values|max_age)="?([^",]+)/g))
    asked[name as keyof StepUpChallenge] ??= value as string
  return asked
}

const underWay = new WeakMap<object, Promise<unknown>>()

/**
 * The client's `fetch` with step-up. If the API requires another sign-in, `signIn` signs in the same user, and the
 * request is repeated once. Requests that the API refuses at the same time share one sign-in. Without `signIn`, the
 * browser goes to the sign-in page, and the call resolves to the 401 response. The page at `redirectUri` can continue
 * with `appState`. If nobody is signed in, the call resolves to the 401 response without a sign-in. Not for `cookie`
 * mode, which has no tokens.
 * @throws AuthClientError `login_required` if another user has signed in, and the request is then not repeated; the
 * errors of the client's `fetch` and of `signIn`
 */
export async function fetchWithStepUp<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  input: string | URL | Request,
  init?: RequestInit,
  { signIn, ...options }: StepUpOptions<AppState> = {}
): Promise<Response> {
  const request = new Request(input, init)
  const { referrer, referrerPolicy } = request
  // Hands on the signal, because it replaces the client's time limit. A request with options loses its referrer.
  const limit = init?.signal ? { signal: init.signal, referrer, referrerPolicy } : undefined
  const response = await client.fetch(request.clone(), limit)
  const asked = stepUpChallenge(response)
  const user = asked && (await client.getUser())
  if (!user) return response
  const { sub } = user
  const authorizationParams = {
    ...options.authorizationParams,
    ...asked,
    claims: JSON.stringify({ id_token: { sub: { value: sub } } })
  }
  const begun =
    underWay.get(client) ??
    (signIn ?? client.loginWithRedirect)({ ...options, authorizationParams }).finally(() => underWay.delete(client))
  underWay.set(client, begun)
  await begun
  if (!signIn) return response
  if ((await client.getUser())?.sub !== sub) throw new AuthClientError('login_required')
  return client.fetch(request, limit)
}
