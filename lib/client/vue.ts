/** `fastify-authority/client/vue`. */
import { computed, type ComputedRef, getCurrentScope, onScopeDispose, shallowRef } from 'vue'
import type { AuthClient, UserProfile } from './options.ts'
import { type AuthState, stateOf } from './state.ts'

export type { AuthState } from './state.ts'

/** Who is signed in, as refs that follow it for as long as the component lives. */
export function useAuth<Profile extends UserProfile> (client: AuthClient<Profile>): { [Name in keyof AuthState<Profile>]: ComputedRef<AuthState<Profile>[Name]> } {
  const { get, subscribe } = stateOf(client)
  const state = shallowRef(get())
  // A server renders once.
  if (globalThis.document) {
    const end = subscribe(() => { state.value = get() })
    if (getCurrentScope()) onScopeDispose(end)
  }
  return { user: computed(() => state.value.user), isLoading: computed(() => state.value.isLoading), error: computed(() => state.value.error) }
}
