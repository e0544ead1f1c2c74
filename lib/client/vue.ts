/** `fastify-authority/client/vue`. */
import {
  computed,
  type ComputedRef,
  defineComponent,
  getCurrentScope,
  onScopeDispose,
  type PropType,
  shallowRef,
  watchEffect
} from 'vue'
import type { AnyAuthClient, LoginOptions } from './options.ts'
import { requireUser } from './require.ts'
import { type AuthState, stateOf } from './state.ts'

export type { AuthState } from './state.ts'

/**
 * The sign-in state as refs, the same in all components and tabs. The refs follow the state for as long as the
 * component lives. On a server `isLoading` stays true.
 */
export function useAuth<Profile extends { sub: string }>(
  client: AnyAuthClient<Profile>
): { [Name in keyof AuthState<Profile>]: ComputedRef<AuthState<Profile>[Name]> } {
  const { get, subscribe } = stateOf(client)
  const state = shallowRef(get())
  // Does not subscribe on a server, which renders once.
  if (globalThis.document) {
    const end = subscribe(() => {
      state.value = get()
    })
    if (getCurrentScope()) onScopeDispose(end)
  }
  return {
    user: computed(() => state.value.user),
    isLoading: computed(() => state.value.isLoading),
    error: computed(() => state.value.error)
  }
}

/**
 * Shows its default slot to a signed-in user, and the slot `fallback` to others. Redirects a visitor without a session
 * to the sign-in page, once for all components. Waits for a sign-out that is under way. Completes the sign-in when the
 * user returns to this page. `login`: the options for `loginWithRedirect`.
 */
export const RequireAuth = defineComponent({
  props: {
    client: { type: Object as PropType<AnyAuthClient<{ sub: string }>>, required: true },
    login: Object as PropType<LoginOptions>
  },
  setup({ client, login }, { slots }) {
    const { user, isLoading } = useAuth(client)
    watchEffect(() => {
      requireUser(client, { user: user.value, isLoading: isLoading.value }, login)
    })
    return () => (user.value ? slots['default']?.() : slots['fallback']?.())
  }
})
