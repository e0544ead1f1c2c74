/** The React, Vue and Svelte views that only signed-in people see share this code. */
import type { AuthClientError } from './errors.ts'
import { answered } from './http.ts'
import type { AnyAuthClient, LoginOptions } from './options.ts'
import { type AuthState, stateOf } from './state.ts'

/** The clients for which a sign-in was started and not yet completed. */
const asked = new WeakSet<object>()

/**
 * Leads to the sign-in page if nobody is signed in: once, however many views ask, and after a sign-out that is under
 * way. A failed sign-in is not tried again by itself, because that could go on for ever: `useAuth` has the error.
 */
export function requireUser<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  { user, isLoading }: Pick<AuthState<Profile>, 'user' | 'isLoading'>,
  login?: LoginOptions<AppState>
): void {
  if (user) asked.delete(client)
  if (user || isLoading || asked.has(client)) return
  asked.add(client)
  // Already reported to the listeners of `error`.
  signIn(client, login).catch(() => {})
}

async function signIn<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  login?: LoginOptions<AppState>
): Promise<void> {
  const { href } = location
  // The address holds the answer to a sign-in, so the sign-in is finished first. Another caller of
  // `handleRedirectCallback` gets the same result.
  if (/[?&](error|code)=/.test(href) && /[?&]state=/.test(href)) await client.handleRedirectCallback().catch(() => {})
  for (const answer of Object.values(answered))
    try {
      await answer
    } catch (cause) {
      const { error } = cause as AuthClientError
      // An unknown response (an old link, another tab) starts one more sign-in per tab. Without that limit, a browser
      // that stores nothing would sign in for ever.
      if (error !== 'login_required') {
        if (sessionStorage.authority || !/^(state|missing)_/.test(error)) return
        sessionStorage.authority = 1
      }
    }
  if (await client.getUser()) return
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
