import type { AuthClientError } from './errors.ts'
import type { AnyAuthClient } from './options.ts'

/** The sign-in state for a view. The same object until the state changes. */
export interface AuthState<Profile> {
  /** The signed-in user. `null`: none, or not known yet. */
  user: Profile | null
  /** True until the session has been read. */
  isLoading: boolean
  /** The error of the last failed call, until the next sign-in. */
  error: AuthClientError | null
}

interface AuthStateStore<Profile> {
  get(): AuthState<Profile>
  /** The state on a server. */
  initial(): AuthState<Profile>
  subscribe(changed: () => void): () => void
}

const stores = new WeakMap<object, AuthStateStore<never>>()
/** The state before the session has been read, the same object for all clients. */
const INITIAL: AuthState<never> = { user: null, isLoading: true, error: null }

/** The store of a client's state, one for all views. Listens to the client from the first subscription on. */
export function stateOf<Profile extends { sub: string }, AppState = unknown>(
  client: AnyAuthClient<Profile, AppState>
): AuthStateStore<Profile> {
  let state: AuthState<Profile> = INITIAL
  let listening = false
  const subscribers = new Set<() => void>()
  const show = (user: Profile | null, error: AuthClientError | null): void => {
    if (!state.isLoading && user === state.user && error === state.error) return
    state = { user, isLoading: false, error }
    for (const changed of subscribers) changed()
  }
  const read = async (error = state.error): Promise<void> => {
    show(await client.getUser(), error)
  }
  const store: AuthStateStore<Profile> = (stores.get(client) as AuthStateStore<Profile> | undefined) ?? {
    get: () => state,
    initial: () => INITIAL,
    subscribe(changed) {
      if (!listening) {
        listening = true
        // Takes the user from the event, because the storage may show another tab's write a moment later.
        client.on('authenticated', (user) => {
          show(user, null)
        })
        client.on('unauthenticated', () => {
          show(null, state.error)
        })
        client.on('token_refreshed', () => {
          void read()
        })
        client.on('error', (error) => {
          void read(error)
        })
        void read()
      }
      subscribers.add(changed)
      return () => {
        subscribers.delete(changed)
      }
    }
  }
  stores.set(client, store as AuthStateStore<never>)
  return store
}
