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
    findById: async (id) => await within(BUDGET_MS, clock, async () => await users.findById(id)),
    findByUsername: async (username) => await within(BUDGET_MS, clock, async () => await users.findByUsername(username)),
    ...(create === undefined ? {} : { create: async (user) => await within(BUDGET_MS, clock, async () => await create.call(users, user)) }),
    // The arguments as they came: where `expected` is left out it is no compare-and-set, and a store may count its arguments.
    ...(setPasswordHash === undefined ? {} : { setPasswordHash: async (...args) => await within(BUDGET_MS, clock, async () => await setPasswordHash.apply(users, args)) }),
    ...(setEmailVerified === undefined ? {} : { setEmailVerified: async (id) => { await within(BUDGET_MS, clock, async () => { await setEmailVerified.call(users, id) }) } })
  }
}

/** The host's client store, likewise. */
export function boundedClientStore (clients: ClientStore, clock: Clock): ClientStore {
  return { findById: async (clientId) => await within(BUDGET_MS, clock, async () => await clients.findById(clientId)) }
}
