/** `fastify-authority/client/react`. */
import { type ReactNode, useEffect, useSyncExternalStore } from 'react'
import type { AnyAuthClient, LoginOptions } from './options.ts'
import { requireUser } from './require.ts'
import { type AuthState, stateOf } from './state.ts'

export type { AuthState } from './state.ts'

/**
 * The sign-in state, the same in all components and tabs. `isLoading` is true on the server, and until the browser has
 * read the session.
 */
export function useAuth<Profile extends { sub: string }, AppState = unknown>(
  client: AnyAuthClient<Profile, AppState>
): AuthState<Profile> {
  const { get, subscribe, initial } = stateOf(client)
  return useSyncExternalStore(subscribe, get, initial)
}

export interface RequireAuthProps<Profile extends { sub: string }, AppState> {
  /** The client whose user is shown. */
  client: AnyAuthClient<Profile, AppState>
  /** The options for `loginWithRedirect`. */
  login?: LoginOptions<AppState>
  /** Shown until a user is signed in. */
  fallback?: ReactNode
  /** Shown to a signed-in user. */
  children?: ReactNode
}

/**
 * Shows its children to a signed-in user. Redirects a visitor without a session to the sign-in page, once for all
 * components. Waits for a sign-out that is under way. Completes the sign-in when the user returns to this page.
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
