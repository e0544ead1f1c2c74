/** Shared by the React, Vue and Svelte components that require a signed-in user. */
import type { AuthClientError } from './errors.ts'
import { answered, isAnswer } from './http.ts'
import type { AnyAuthClient, LoginOptions } from './options.ts'
import { type AuthState, stateOf } from './state.ts'

/** The clients for which a sign-in was started and not yet completed. */
const asked = new WeakSet<object>()

/**
 * Redirects to the sign-in page if nobody is signed in, once for all components of the client. Waits for a sign-out
 * that is under way. `signIn` decides whether to try again after a failed sign-in.
 */
export function requireUser<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  { user, isLoading }: Pick<AuthState<Profile>, 'user' | 'isLoading'>,
  login?: LoginOptions<AppState>
): void {
  if (user) asked.delete(client)
  if (user || isLoading || asked.has(client)) return
  asked.add(client)
  // Ignores the error, because the client has emitted it to the listeners of `error`.
  signIn(client, login).catch(() => {})
}

async function signIn<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  login?: LoginOptions<AppState>
): Promise<void> {
  // Completes the sign-in first, if the address contains its response. Another caller of `handleRedirectCallback` gets
  // the same result.
  if (isAnswer(location.href)) await client.handleRedirectCallback().catch(() => {})
  for (const answer of Object.values(answered))
    try {
      await answer
    } catch (cause) {
      const { error } = cause as AuthClientError
      // Stops after a failed sign-in: `useAuth` has the error. A response without a stored sign-in (such as an old
      // link) starts a new sign-in, but only once per tab. Otherwise a browser that stores nothing would do so for
      // ever.
      if (error !== 'login_required') {
        if (sessionStorage.authority || !/^(state|missing)_/.test(error)) return
        sessionStorage.authority = 1
      }
    }
  if (await client.getUser()) return
  await client.loginWithRedirect(login)
  // If the user goes back from the sign-in page, the browser may restore this page from its cache. Then asks for a
  // sign-in again.
  addEventListener('pageshow', function again(event) {
    if (!event.persisted) return
    removeEventListener('pageshow', again)
    asked.delete(client)
    requireUser(client, stateOf(client).get(), login)
  })
}
