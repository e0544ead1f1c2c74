/** `fastify-authority/client/react`. */
import { useSyncExternalStore } from 'react'
import type { AuthClient, UserProfile } from './options.ts'
import { type AuthState, stateOf } from './state.ts'

export type { AuthState } from './state.ts'

/** Who is signed in, in all components and tabs. On the server, and until it is known in the browser, `isLoading`. */
export function useAuth<Profile extends UserProfile> (client: AuthClient<Profile>): AuthState<Profile> {
  const { get, subscribe, initial } = stateOf(client)
  return useSyncExternalStore(subscribe, get, initial)
}
