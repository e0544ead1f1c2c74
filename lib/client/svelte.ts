/** `fastify-authority/client/svelte`: a store by its contract, so `$auth` in a component; needs nothing of Svelte. */
import type { AnyAuthClient, LoginOptions } from './options.ts'
import { requireUser } from './require.ts'
import { type AuthState, stateOf } from './state.ts'

export type { AuthState } from './state.ts'

/** The signed-in user, in all components and tabs. */
export function authStore<Profile extends { sub: string }, AppState = unknown>(
  client: AnyAuthClient<Profile, AppState>
): { subscribe(run: (state: AuthState<Profile>) => void): () => void } {
  const { get, subscribe } = stateOf(client)
  return {
    subscribe(run) {
      run(get())
      return subscribe(() => {
        run(get())
      })
    }
  }
}

/**
 * The same store for a view of signed-in users, in `{#if $auth.user}`. Sends everybody else to sign in, once, and not
 * before a sign-out has come to its end. Completes the sign-in on the page that it comes back to. `login`: for
 * `loginWithRedirect`.
 */
export function requireAuth<Profile extends { sub: string }, AppState>(
  client: AnyAuthClient<Profile, AppState>,
  login?: LoginOptions<AppState>
): { subscribe(run: (state: AuthState<Profile>) => void): () => void } {
  const { subscribe } = authStore(client)
  return {
    subscribe: (run) =>
      subscribe((state) => {
        requireUser(client, state, login)
        run(state)
      })
  }
}
