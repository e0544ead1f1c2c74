/** A row of the host's user store. `id` is the subject of every token: stable, never reassigned. */
export interface User {
  id: string
  /** Normalised, as `findByUsername` gets it. */
  username: string
  /**
   * A PHC string (argon2, scrypt, PBKDF2), or a hash of another system that the guide on importing users lists. `null`:
   * the user can't sign in with a password.
   */
  passwordHash: string | null
  email?: string
  emailVerified?: boolean
  /**
   * The time at which this service, or a connection that decides on the mailbox, proved that the address is the user's,
   * as milliseconds since the epoch or a `Date`. 0: never, and `emailVerified` is the claim of another provider. Left
   * out, or `null`: not known, so `emailVerified` counts as the host says.
   */
  emailProvedAt?: number | Date | null
  /**
   * The time of the last change of the password, as milliseconds since the epoch or a `Date`. If the store provides it,
   * a sign-in from before is refused, even if ending it has failed, and a consent from before is asked for again. Left
   * out, or `null`: not known.
   */
  passwordChangedAt?: number | Date | null
  /**
   * The time at which the store made the user, as milliseconds since the epoch or a `Date`. Left out, or `null`: not
   * known.
   */
  createdAt?: number | Date | null
  /** A disabled user can't sign in, and every refresh token of theirs is refused. */
  disabled?: boolean
  /**
   * A number or a string of the store's own that changes with each `update`, so that one of parallel updates wins. Left
   * out, or `null`: the store has none, and the last of parallel updates wins.
   */
  version?: number | string | null
  [claim: string]: unknown
}

/** The fields of a new user. The store makes the `id`. */
export interface NewUser {
  username: string
  /** `null`: the user signs in through a connection and has no password. */
  passwordHash: string | null
  email?: string
  emailVerified?: boolean
  emailProvedAt?: number | Date | null
  [claim: string]: unknown
}

/**
 * Changes of a user. A field that is `null` is removed; one that is left out or `undefined` stays as it is. The plugin
 * never hands in `id`, `passwordHash`, `passwordChangedAt`, `createdAt` or `version`, and a store changes none of them
 * here.
 */
export interface UserPatch {
  /** Normalised, as `findByUsername` gets it. A user always has one, so it is never `null`. */
  username?: string | undefined
  email?: string | null | undefined
  emailVerified?: boolean | null | undefined
  emailProvedAt?: number | Date | null | undefined
  [claim: string]: unknown
}

/** A page of users. Conditions that are left out hold for all users. */
export interface UserListQuery {
  /** The most users in the answer. */
  limit: number
  /** The page begins after this place. The user of the place may be gone. */
  after?: { createdAt: number; id: string } | undefined
  /** The beginning of the normalised username. */
  prefix?: string | undefined
  /** The whole `email`, in any letter case. */
  email?: string | undefined
  /** The `id` of a connection: users with a link of this `connection`. */
  connection?: string | undefined
}

/**
 * A person's identity at another provider. The pair is the key of a link; an email address never is. @see OpenID
 * Connect Core 1.0 §5.7
 */
export interface Identity {
  /** The value from the connection, byte for byte. */
  issuer: string
  subject: string
}

/** A sign-in at another provider that leads to a user here. Times are milliseconds since the epoch. */
export interface LinkedIdentity extends Identity {
  /** The `id` of the connection of its last use. */
  connection: string
  /**
   * The provider's last verified address. It helps the person to tell links apart, and is never used to find a user.
   */
  email?: string
  linkedAt: number
  lastUsedAt: number
  /**
   * The refresh token of a provider that revokes it (Apple), sealed for this service. Revoked there when the link or
   * the account is removed.
   */
  sealed?: string
  /**
   * The link was made before the user's own address was proved, so perhaps by a person who signed up with another
   * person's address. A password reset proves the mailbox and removes such links.
   */
  provisional?: boolean
}

/**
 * The host's users. Every method is a transaction: when its promise resolves, the change is visible to every other
 * caller. An outage rejects; "there is none" resolves to `null` (or `undefined`). A missing method turns off the routes
 * that need it. Every answer is checked. One of another shape (an array of rows, 0 for `disabled`) is a `MisfitError`
 * in the log, the request is answered 500 `server_error`, and the attempt counts. An optional field may be `null`, as
 * SQL has it. `Account`: the type of your rows, by which `authPlugin<Account>` types the option `claims`.
 */
export interface UserStore<Account extends User = User> {
  findById(id: string): Promise<Account | null>
  /** The argument is the normalised name. The call should take the same time whether the user exists or not. */
  findByUsername(username: string): Promise<Account | null>
  /**
   * The users whose `email` is this address in any letter case: at most ten, those with `emailVerified` first, because
   * a stranger can make many unconfirmed ones. Empty if there is none. A connection with `enforce` takes over an
   * account with an address in its domains whose username is of another kind. Without this method no sign-in finds such
   * an account, and the host links it.
   */
  findByEmail?(email: string): Promise<Account[]>
  /**
   * The newest users first: by `createdAt` (0 where it is not known), then by `id`, both descending. A walk through all
   * pages has each user once who was there from its beginning to its end. Without this method nobody lists users.
   */
  list?(query: UserListQuery): Promise<Account[]>
  /**
   * Atomic: of any number of parallel calls with one username, one resolves and the others reject with
   * `UsernameTakenError`.
   */
  create?(user: NewUser): Promise<Account>
  /**
   * Replaces the password hash. `null` removes it, so that no password opens the account. With `expected` (`null`
   * too) it is a compare-and-set: `false`, and nothing is written, if the stored hash differs. `false` also if there
   * is no such user. `changedAt`: the password is a new one (left out: a new hash of the same one). The store may
   * keep it in the same step and return it as `passwordChangedAt`.
   */
  setPasswordHash?(id: string, next: string | null, expected?: string | null, changedAt?: number): Promise<boolean>
  /**
   * Idempotent. With `address` it is a compare-and-set: nothing is written if the user's address differs. The address
   * of a user is `email`, or the username if there is none. A store without this comparison marks a wrong address if a
   * user changes it at the right moment. `provedAt`: becomes `emailProvedAt`, in the same step. Left out:
   * `emailProvedAt` stays as it is.
   */
  setEmailVerified?(id: string, address?: string, provedAt?: number): Promise<void>
  /**
   * Changes the fields of the patch and no others, all in one step or none. Resolves to the changed user. `null`, and
   * nothing is written, if there is no such user, or if `expectedVersion` differs from the user's `version`. Rejects
   * with `UsernameTakenError`, and writes nothing, if another user has the patch's `username`: of parallel calls with
   * one username, for any users, one resolves. Must not recreate a user who is being removed.
   */
  update?(id: string, patch: UserPatch, expectedVersion?: number | string): Promise<Account | null>
  /** Sets or removes the mark `disabled`. Idempotent. `false`: there is no such user. */
  setDisabled?(id: string, disabled: boolean): Promise<boolean>
  /**
   * Removes the user with all of the user's data, links included, in one step. Idempotent: resolves if there is none,
   * too. The `id` is never given to another user.
   */
  remove?(id: string): Promise<void>
  /**
   * The user to whom this identity is linked: both strings compared byte by byte. Without it and `linkIdentity` there
   * are no connections.
   */
  findByIdentity?(identity: Identity): Promise<Account | null>
  /**
   * Creates a user with a first link, both or neither. One of any number of parallel calls with one identity resolves
   * and the others reject with `IdentityTakenError`; with one username, with `UsernameTakenError`. Nothing is left of a
   * call that rejects.
   */
  createWithIdentity?(user: NewUser, link: LinkedIdentity): Promise<Account>
  /**
   * One of any number of parallel calls with one identity, for whatever users, is `linked`. `already_linked`: to this
   * user, and nothing is written; `taken`: to another. Must not make a link of a user who is being removed.
   */
  linkIdentity?(userId: string, link: LinkedIdentity): Promise<'linked' | 'already_linked' | 'taken' | 'unknown_user'>
  /**
   * Removes a link, unless the user could not sign in without it: a password hash, another link or `otherFactors` must
   * remain, decided in the same step, so that of two parallel calls for the last two links one is
   * `last_sign_in_method`. `unknown`: this user has no such link.
   */
  unlinkIdentity?(
    userId: string,
    identity: Identity,
    otherFactors: boolean
  ): Promise<'unlinked' | 'last_sign_in_method' | 'unknown'>
  /** The links of a user, the oldest first. */
  listIdentities?(userId: string): Promise<LinkedIdentity[]>
  /**
   * Notes a sign-in through this identity: `at` becomes its `lastUsedAt`, and `email`, if given, its `email`. Does
   * nothing if there is no such link.
   */
  useIdentity?(identity: Identity, at: number, email?: string): Promise<void>
}

/** The host's user store lacks the method that a call needs. */
export class NotSupportedError extends Error {
  readonly code = 'FST_AUTHORITY_NOT_SUPPORTED'

  constructor(method: string) {
    super(`The user store has no ${method}.`)
    this.name = 'NotSupportedError'
  }
}

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
