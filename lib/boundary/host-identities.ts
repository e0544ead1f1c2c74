import type { User, UserStore } from '../ports/user-store.ts'
import { linksFrom, outcomeFrom, userFrom, userOrNone } from './answers.ts'

const LINK_OUTCOMES = ['linked', 'already_linked', 'taken', 'unknown_user'] as const
const UNLINK_OUTCOMES = ['unlinked', 'last_sign_in_method', 'unknown'] as const

type IdentityMethods = Pick<
  UserStore,
  'findByIdentity' | 'createWithIdentity' | 'linkIdentity' | 'unlinkIdentity' | 'listIdentities' | 'useIdentity'
>

/**
 * The identity methods of the host's user store, each answer checked. `inTime`: within the time that a call has. See
 * `hostUserStore`.
 */
export function hostIdentities(
  users: UserStore,
  inTime: (call: () => Promise<unknown>) => Promise<unknown>
): IdentityMethods {
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
    // The arguments as they came: a store may count them.
    ...(useIdentity === undefined
      ? {}
      : {
          useIdentity: async (...args) => {
            await inTime(() => useIdentity.apply(users, args))
          }
        })
  }
}
