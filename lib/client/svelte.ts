/**
 * `fastify-authority/client/svelte`: a store by Svelte's contract, for `$auth` in a component. Imports nothing of
 * Svelte.
 */
import type { AnyAuthClient, LoginOptions } from './options.ts'
import { requireUser } from './require.ts'
import { type AuthState, stateOf } from './state.ts'

export type { AuthState } from './state.ts'

/** A Svelte store of the sign-in state, the same in all components and tabs. */
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
 * The same store for a view of signed-in users, in `{#if $auth.user}`. Redirects a visitor without a session to the
 * sign-in page, once for all components. Waits for a sign-out that is under way. Completes the sign-in when the user
 * returns to this page. `login`: the options for `loginWithRedirect`.
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
