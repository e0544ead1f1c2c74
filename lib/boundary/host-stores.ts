import { misfit, MisfitError } from '../errors.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { User, UserStore } from '../ports/user-store.ts'
import { HOST_BUDGET_MS, linksFrom, outcomeFrom, pageFrom, userFrom, userOrNone, usersFrom, within } from './answers.ts'

/**
 * Wraps the host's user store: every call settles within five seconds, and every used result is checked. An `undefined`
 * or `null` user or list means "none", except for a created user. Any other result that violates the port rejects with
 * `MisfitError`. Optional methods that the store does not implement stay undefined.
 */
export function hostUserStore(users: UserStore, clock: Clock): UserStore {
  const { findByEmail, list, create, setPasswordHash, setEmailVerified, update, setDisabled, remove } = users
  return {
    findById: async (id) =>
      userOfId('users.findById', id, await within(HOST_BUDGET_MS, clock, () => users.findById(id))),
    findByUsername: async (username) =>
      userOrNone('users.findByUsername', await within(HOST_BUDGET_MS, clock, () => users.findByUsername(username))),
    ...(findByEmail === undefined
      ? {}
      : {
          findByEmail: async (email) =>
            usersFrom('users.findByEmail', await within(HOST_BUDGET_MS, clock, () => findByEmail.call(users, email)))
        }),
    ...(list === undefined
      ? {}
      : {
          list: async (query) =>
            pageFrom('users.list', await within(HOST_BUDGET_MS, clock, () => list.call(users, query)), query.limit)
        }),
    ...(create === undefined
      ? {}
      : {
          create: async (user): Promise<User> =>
            userFrom('users.create', await within(HOST_BUDGET_MS, clock, () => create.call(users, user)))
        }),
    ...(setPasswordHash === undefined
      ? {}
      : {
          // Passes the arguments on unchanged: without `expected` the call is no compare-and-set, and a store may count
          // its arguments.
          async setPasswordHash(...args): Promise<boolean> {
            return booleanFrom(
              'users.setPasswordHash',
              await within(HOST_BUDGET_MS, clock, () => setPasswordHash.apply(users, args))
            )
          }
        }),
    // Passes the arguments on unchanged, because a store may count them.
    ...(setEmailVerified === undefined
      ? {}
      : {
          setEmailVerified: async (...args) => {
            await within(HOST_BUDGET_MS, clock, () => setEmailVerified.apply(users, args))
          }
        }),
    ...(update === undefined
      ? {}
      : {
          update: async (...args) =>
            userOfId('users.update', args[0], await within(HOST_BUDGET_MS, clock, () => update.apply(users, args)))
        }),
    ...(setDisabled === undefined
      ? {}
      : {
          setDisabled: async (...args) =>
            booleanFrom('users.setDisabled', await within(HOST_BUDGET_MS, clock, () => setDisabled.apply(users, args)))
        }),
    ...(remove === undefined
      ? {}
      : {
          remove: async (id) => {
            await within(HOST_BUDGET_MS, clock, () => remove.call(users, id))
          }
        }),
    ...hostIdentities(users, (call) => within(HOST_BUDGET_MS, clock, call))
  }
}

function booleanFrom(source: string, answer: unknown): boolean {
  if (typeof answer !== 'boolean') throw misfit('store', { source, got: answer, takes: 'true or false' })
  return answer
}

/** Compares the id too, because a query that lacks its condition returns an arbitrary user. */
function userOfId(source: string, id: string, answer: unknown): User | null {
  const user = userOrNone(source, answer)
  if (user !== null && user.id !== id)
    throw new MisfitError('store', { source, field: 'id', problem: 'not the one that was asked for' })
  return user
}

interface ClientStoreDeps {
  clock: Clock
  /** Reads a row of the store. @throws MisfitError */
  read(row: unknown): Client
  /** Receives the error of an invalid row, about once a minute for each client (`TOLD_AGAIN_MS`). */
  onMisfit(error: MisfitError, clientId: string): void
}

/**
 * Reports the invalid row of a client once in this time, because strangers can request any client id at any rate. At
 * `MOST_TOLD` clients, all reports are forgotten and may repeat.
 */
const TOLD_AGAIN_MS = 60_000
const MOST_TOLD = 1000
/** Ids that any database can store and find: no NUL, no half of a surrogate pair. */
const CLIENT_ID = /^[^\0\p{Cs}]{1,512}$/u

/**
 * Checks the answers of the host's client store. A row that does not fit counts as an unknown client, because a wrong
 * value such as `firstParty: 0` or JSON text for an array could give the client rights that the host did not intend.
 */
export function hostClientStore(clients: ClientStore, { clock, read, onMisfit }: ClientStoreDeps): ClientStore {
  /** Monotonic time of the last report, by client id. */
  const told = new Map<string, number>()

  function tell(error: MisfitError, clientId: string): void {
    const now = clock.monotonic()
    const last = told.get(clientId)
    if (last !== undefined && now - last < TOLD_AGAIN_MS) return
    if (told.size >= MOST_TOLD) told.clear()
    told.set(clientId, now)
    onMisfit(error, clientId)
  }

  return {
    async findById(clientId) {
      // Strangers choose this value. A database that can't store it would reject, which would look like an outage.
      if (!CLIENT_ID.test(clientId)) return null
      const row: unknown = await within(HOST_BUDGET_MS, clock, () => clients.findById(clientId))
      if (row === undefined || row === null) return null
      try {
        const client = read(row)
        if (client.clientId !== clientId)
          throw new MisfitError('store', {
            source: 'clients.findById',
            field: 'clientId',
            problem: 'not the one that was asked for'
          })
        return client
      } catch (error) {
        if (!(error instanceof MisfitError)) throw error
        tell(error, clientId)
        return null
      }
    }
  }
}

const LINK_OUTCOMES = ['linked', 'already_linked', 'taken', 'unknown_user'] as const
const UNLINK_OUTCOMES = ['unlinked', 'last_sign_in_method', 'unknown'] as const

type IdentityMethods = Pick<
  UserStore,
  'findByIdentity' | 'createWithIdentity' | 'linkIdentity' | 'unlinkIdentity' | 'listIdentities' | 'useIdentity'
>

/**
 * Wraps the identity methods of the host's user store and checks each result. `inTime` applies the time limit. See
 * `hostUserStore`.
 */
function hostIdentities(users: UserStore, inTime: (call: () => Promise<unknown>) => Promise<unknown>): IdentityMethods {
  const { findByIdentity, createWithIdentity, linkIdentity, unlinkIdentity, listIdentities, useIdentity } = users
  return {
    ...(findByIdentity === undefined
      ? {}
      : {
          findByIdentity: async (identity) =>
            userOrNone('users.findByIdentity', await inTime(() => findByIdentity.call(users, identity)))
        }),
    ...(createWithIdentity === undefined
      ? {}
      : {
          createWithIdentity: async (user, link): Promise<User> =>
            userFrom('users.createWithIdentity', await inTime(() => createWithIdentity.call(users, user, link)))
        }),
    ...(linkIdentity === undefined
      ? {}
      : {
          linkIdentity: async (userId, link) =>
            outcomeFrom('users.linkIdentity', await inTime(() => linkIdentity.call(users, userId, link)), LINK_OUTCOMES)
        }),
    ...(unlinkIdentity === undefined
      ? {}
      : {
          unlinkIdentity: async (userId, identity, otherFactors) =>
            outcomeFrom(
              'users.unlinkIdentity',
              await inTime(() => unlinkIdentity.call(users, userId, identity, otherFactors)),
              UNLINK_OUTCOMES
            )
        }),
    ...(listIdentities === undefined
      ? {}
      : {
          listIdentities: async (userId) =>
            linksFrom('users.listIdentities', await inTime(() => listIdentities.call(users, userId)))
        }),
    // Passes the arguments on unchanged, because a store may count them.
    ...(useIdentity === undefined
      ? {}
      : {
          useIdentity: async (...args) => {
            await inTime(() => useIdentity.apply(users, args))
          }
        })
  }
}
