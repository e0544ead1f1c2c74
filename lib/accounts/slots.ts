import type { User } from '../ports/user-store.ts'

/** Answers of a feature to questions about accounts. */
export interface AccountSlots {
  /** The ways into the account that the feature opens for this user. */
  ways?(user: User): ReadonlyArray<'mail'>
}
