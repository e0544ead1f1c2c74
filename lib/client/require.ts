/** The React, Vue and Svelte views that only signed-in people see share this code. */
import type { AuthClientError } from './errors.ts'
import { answered } from './http.ts'
import type { AnyAuthClient, LoginOptions } from './options.ts'
import { type AuthState, stateOf } from './state.ts'
import { transactions } from './storage.ts'

/** The clients that a sign-in was asked of, and nobody has signed in since. */
const asked = new WeakSet<object>()

/**
 * Leads to the sign-in page where nobody is signed in: once, however many views ask, and after a sign-out that is under
 * way. What failed is not tried again by itself, for that could go on for ever: `useAuth` has the error.
 */
export function requireUser<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  { user, isLoading }: Pick<AuthState<Profile>, 'user' | 'isLoading'>,
  login?: LoginOptions<AppState>
): void {
  if (user) asked.delete(client)
  if (user || isLoading || asked.has(client)) return
  asked.add(client)
  // Whoever listens for errors has heard of it.
  signIn(client, login).catch(() => {})
}

/** What is no answer to a sign-in of this browser: an old address, or parameters of the app's own. */
const NO_ANSWER: readonly string[] = ['state_mismatch', 'missing_transaction']
const TRIED = 'authority.tried'
const AGAIN_MS = 60_000

/** Where the browser keeps nothing, each answer is one of no sign-in, so a second one would go on for ever. */
function isFirstTry(): boolean {
  const store = transactions()
  const before = Number(store.getItem(TRIED))
  store.setItem(TRIED, String(Date.now()))
  return Date.now() - before > AGAIN_MS && Number(store.getItem(TRIED)) > before
}

async function signIn<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  login?: LoginOptions<AppState>
): Promise<void> {
  const { searchParams: params } = new URL(location.href)
  // The address holds the answer to a sign-in, so the sign-in is finished first. Another caller of
  // `handleRedirectCallback` gets the same result.
  if (params.has('state') && (params.has('code') || params.has('error')))
    await client.handleRedirectCallback().catch(() => {})
  const failed = (await Promise.allSettled(Object.values(answered))).find(({ status }) => status === 'rejected') as
    | PromiseRejectedResult
    | undefined
  const error = failed && (failed.reason as AuthClientError).error
  if ((error && error !== 'login_required' && !(NO_ANSWER.includes(error) && isFirstTry())) || (await client.getUser()))
    return
  await client.loginWithRedirect(login)
  // The person went back from the sign-in page and the browser restored this page as it was, so the sign-in is asked
  // for again.
  addEventListener('pageshow', function again(event) {
    if (!event.persisted) return
    removeEventListener('pageshow', again)
    asked.delete(client)
    requireUser(client, stateOf(client).get(), login)
  })
}
