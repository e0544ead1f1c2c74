import type { ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { UserStore } from '../ports/user-store.ts'
import { within } from './within.ts'

/** How long a store of the host's may take for one answer. */
const BUDGET_MS = 5000

/** The host's user store with an answer or a rejection within five seconds. What it lacks stays lacking. */
export function boundedUserStore (users: UserStore, clock: Clock): UserStore {
  const { create, setPasswordHash, setEmailVerified } = users
  return {
    findById: (id) => within(BUDGET_MS, clock, () => users.findById(id)),
    findByUsername: (username) => within(BUDGET_MS, clock, () => users.findByUsername(username)),
    ...(create === undefined ? {} : { create: (user) => within(BUDGET_MS, clock, () => create.call(users, user)) }),
    // The arguments as they came: where `expected` is left out it is no compare-and-set, and a store may count its arguments.
    ...(setPasswordHash === undefined ? {} : { setPasswordHash: (...args) => within(BUDGET_MS, clock, () => setPasswordHash.apply(users, args)) }),
    ...(setEmailVerified === undefined ? {} : { setEmailVerified: (id) => within(BUDGET_MS, clock, () => setEmailVerified.call(users, id)) })
  }
}

/** The host's client store, likewise. */
export function boundedClientStore (clients: ClientStore, clock: Clock): ClientStore {
  return { findById: (clientId) => within(BUDGET_MS, clock, () => clients.findById(clientId)) }
}
