/** `fastify-authority/client/svelte`: a store by its contract, so `$auth` in a component; needs nothing of Svelte. */
import type { AuthClient, UserProfile } from './options.ts'
import { type AuthState, stateOf } from './state.ts'

export type { AuthState } from './state.ts'

/** Who is signed in, in all components and tabs. */
export function authStore<Profile extends UserProfile> (client: AuthClient<Profile>): { subscribe(run: (state: AuthState<Profile>) => void): () => void } {
  const { get, subscribe } = stateOf(client)
  return {
    subscribe (run) {
      run(get())
      return subscribe(() => { run(get()) })
    }
  }
}
