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

/** Who is signed in, as refs that follow it for as long as the component lives. */
export function useAuth<Profile extends { sub: string }>(
  client: AnyAuthClient<Profile>
): { [Name in keyof AuthState<Profile>]: ComputedRef<AuthState<Profile>[Name]> } {
  const { get, subscribe } = stateOf(client)
  const state = shallowRef(get())
  // A server renders once.
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
 * Its default slot for whoever is signed in, the slot `fallback` until then. Everybody else is sent to sign in, once,
 * and not before a sign-out has come to its end. On the page that the sign-in comes back to it ends it. `login`: for
 * `loginWithRedirect`.
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
