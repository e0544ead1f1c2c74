/** `fastify-authority/client/react`. */
import { type ReactNode, useEffect, useSyncExternalStore } from 'react'
import type { AnyAuthClient, LoginOptions } from './options.ts'
import { requireUser } from './require.ts'
import { type AuthState, stateOf } from './state.ts'

export type { AuthState } from './state.ts'

/** Who is signed in, in all components and tabs. On the server, and until it is known in the browser, `isLoading`. */
export function useAuth<Profile extends { sub: string }, AppState = unknown>(
  client: AnyAuthClient<Profile, AppState>
): AuthState<Profile> {
  const { get, subscribe, initial } = stateOf(client)
  return useSyncExternalStore(subscribe, get, initial)
}

export interface RequireAuthProps<Profile extends { sub: string }, AppState> {
  /** The client that knows who is signed in. */
  client: AnyAuthClient<Profile, AppState>
  /** For `loginWithRedirect`. */
  login?: LoginOptions<AppState>
  /** Until somebody is signed in. */
  fallback?: ReactNode
  /** For whoever is signed in. */
  children?: ReactNode
}

/**
 * Its children for whoever is signed in. Everybody else is sent to sign in, once, and not before a sign-out has come to
 * its end. On the page that the sign-in comes back to it ends it.
 */
export function RequireAuth<Profile extends { sub: string }, AppState>({
  client,
  login,
  fallback = null,
  children
}: RequireAuthProps<Profile, AppState>): ReactNode {
  const state = useAuth(client)
  useEffect(() => {
    requireUser(client, state, login)
  })
  return state.user ? children : fallback
}
