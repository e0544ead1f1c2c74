import type { LinkedIdentity, User } from './user-store.ts'

/** A user of another system, with the links to providers that come along. */
export interface UserToImport {
  user: User
  links: readonly LinkedIdentity[]
}

export interface ImportOutcome {
  /**
   * `imported`: the user was written. Otherwise nothing was: `unchanged`, the store has the id with this username;
   * `other_name`, it has the id with another username; `name_taken`, another user has the username.
   */
  outcome: 'imported' | 'unchanged' | 'other_name' | 'name_taken'
  /** The number of written links. A link that any user has already is left out. */
  links: number
}

/** A user store that also takes users of another system. The command `import` needs one. */
export interface UserImporter {
  /**
   * Writes users with the ids, hashes and times that they have, each with its links in one step, and never changes a
   * user who is there. Of two users with one id or one username, the first counts. Resolves to the outcomes in the
   * order of the users. `dryRun`: writes nothing, and resolves to the outcomes that each user would have alone.
   */
  importUsers(users: readonly UserToImport[], options?: { dryRun?: boolean }): Promise<ImportOutcome[]>
}
