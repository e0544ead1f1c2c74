/** A row of the host's user store. `id` is the subject of the user's tokens: stable, never reassigned. */
export interface User {
  id: string
  /** Normalized, as `findByUsername` gets it. */
  username: string
  /**
   * A PHC string (argon2, scrypt, PBKDF2), or a hash of another system that the guide on importing users lists. `null`:
   * the user can't sign in with a password.
   */
  passwordHash: string | null
  email?: string
  emailVerified?: boolean
  /**
   * The time at which the address was proved to be the user's, as milliseconds since the epoch or a `Date`. The proof
   * came from this service, or from a connection that is authoritative for the mailbox. 0: never, and `emailVerified`
   * is the claim of another provider. Left out, or `null`: not known, so the service trusts `emailVerified`.
   */
  emailProvedAt?: number | Date | null
  /**
   * The time of the last change of the password, as milliseconds since the epoch or a `Date`. If the store provides it,
   * the service refuses a sign-in from before that time, even if it failed to end the sign-in. Only the sign-in that
   * changed the password stays. A consent from before is asked for again. Left out, or `null`: not known.
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

/**
 * Fields that identify a user or give rights: never taken from a request, even if the host's schema lets them through.
 */
export const OWN_FIELDS = new Set([
  'id',
  'sub',
  'username',
  'password',
  'passwordHash',
  'disabled',
  'email',
  'emailVerified',
  'email_verified',
  'emailProvedAt',
  'passwordChangedAt',
  'createdAt',
  'version',
  '__proto__'
])

/** The fields of a new user. The store makes the `id`. */
export interface NewUser {
  username: string
  /** `null`: no password, such as after a sign-up through a connection or by an emailed code. */
  passwordHash: string | null
  email?: string
  emailVerified?: boolean
  emailProvedAt?: number | Date | null
  [claim: string]: unknown
}

/**
 * Changes of a user. A field that is `null` is removed. A field that is left out or `undefined` stays as it is. The
 * plugin never hands in `id`, `passwordHash`, `passwordChangedAt`, `createdAt` or `version`, and a store changes none
 * of them here.
 */
export interface UserPatch {
  /** Normalized, as `findByUsername` gets it. A user always has a username, so it is never `null`. */
  username?: string | undefined
  email?: string | null | undefined
  emailVerified?: boolean | null | undefined
  emailProvedAt?: number | Date | null | undefined
  [claim: string]: unknown
}

/** A page of users. A condition that is left out matches all users. */
export interface UserListQuery {
  /** The maximum number of users in the answer. */
  limit: number
  /** The last user of the previous page. The page begins after this place, even if that user is removed meanwhile. */
  after?: { createdAt: number; id: string } | undefined
  /** The beginning of the normalized username. */
  prefix?: string | undefined
  /** The whole `email`, in any case of its ASCII letters. */
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
  /** The last verified address at the provider. Shown to the person to tell links apart. Never used to find a user. */
  email?: string
  linkedAt: number
  lastUsedAt: number
  /**
   * The sealed refresh token of a provider with a revocation endpoint (such as Apple). It is revoked there when the
   * link or the account is removed.
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
 * caller. A method rejects during an outage. A missing user resolves to `null` (or `undefined`). A missing method turns
 * off the routes that need it. Every answer is checked. An answer of another shape (an array of rows, the text `false`
 * for `disabled`) is a `MisfitError` in the log. The request then gets 500 `server_error`, and the attempt counts
 * against the limits. An optional field may be `null`, as SQL has it, and a boolean may be 0, 1 or a `Date`. `Account`:
 * the type of your rows, by which `authPlugin<Account>` types the option `claims`.
 */
export interface UserStore<Account extends User = User> {
  findById(id: string): Promise<Account | null>
  /** The argument is the normalized name. The call should take the same time whether the user exists or not. */
  findByUsername(username: string): Promise<Account | null>
  /**
   * The users whose `email` is this address in any case of its ASCII letters: at most ten, those with `emailVerified`
   * first, because a stranger can make many unconfirmed accounts. A store may fold other letters too. Empty if there is
   * none. A connection with `enforce` uses this to take over an account with an address in its domains and a username
   * that is no such address. Without this method, the host must link such accounts itself.
   */
  findByEmail?(email: string): Promise<Account[]>
  /**
   * The newest users first: by `createdAt` (0 if it is not known), then by `id`, both descending. A caller that reads
   * all pages gets each user exactly once who existed the whole time. Without this method users can't be listed.
   */
  list?(query: UserListQuery): Promise<Account[]>
  /**
   * Creates a user. Atomic: of any number of parallel calls with one username, one resolves and the others reject with
   * `UsernameTakenError`.
   */
  create?(user: NewUser): Promise<Account>
  /**
   * Replaces the password hash. `null` removes it, so that no password opens the account. With `expected` (also `null`)
   * it is a compare-and-set: `false`, and nothing is written, if the stored hash differs. `false` also if there is no
   * such user. `changedAt`: the time at which the former password stopped working, also with `null` (left out: `next`
   * is a new hash of the same password). The store may write it in the same step and return it as `passwordChangedAt`.
   */
  setPasswordHash?(id: string, next: string | null, expected?: string | null, changedAt?: number): Promise<boolean>
  /**
   * Sets `emailVerified`. Idempotent. With `address` it is a compare-and-set: nothing is written if the user's address
   * differs. The address of a user is `email`, or the username if there is none. A store that ignores `address` may
   * mark a wrong address as verified if the user changes it at the same moment. `provedAt`: becomes `emailProvedAt`, in
   * the same step. Left out: `emailProvedAt` stays as it is.
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
   * Removes the user with all of the user's data, links included, in one step. Idempotent: also resolves if there is no
   * such user. The `id` is never given to another user.
   */
  remove?(id: string): Promise<void>
  /**
   * The user to whom this identity is linked. Both strings are compared byte by byte. Without this method and
   * `linkIdentity`, connections can't be used.
   */
  findByIdentity?(identity: Identity): Promise<Account | null>
  /**
   * Creates a user with a first link, both or neither. Of parallel calls with one identity, one resolves and the others
   * reject with `IdentityTakenError`. Of parallel calls with one username, the others reject with `UsernameTakenError`.
   * A call that rejects leaves nothing behind.
   */
  createWithIdentity?(user: NewUser, link: LinkedIdentity): Promise<Account>
  /**
   * Links an identity to a user. Of parallel calls with one identity, for any users, one is `linked`. `already_linked`:
   * the identity is linked to this user, and nothing is written. `taken`: it is linked to another user. Must not make a
   * link of a user who is being removed.
   */
  linkIdentity?(userId: string, link: LinkedIdentity): Promise<'linked' | 'already_linked' | 'taken' | 'unknown_user'>
  /**
   * Removes a link, unless the user could not sign in without it: then it is `last_sign_in_method`. A password hash,
   * another link or `otherFactors` must remain. The store decides in the same step, so that only one of two parallel
   * calls for the last two links succeeds. `unknown`: this user has no such link.
   */
  unlinkIdentity?(
    userId: string,
    identity: Identity,
    otherFactors: boolean
  ): Promise<'unlinked' | 'last_sign_in_method' | 'unknown'>
  /** The links of a user, the oldest first. */
  listIdentities?(userId: string): Promise<LinkedIdentity[]>
  /**
   * Records a sign-in through this identity: `at` becomes its `lastUsedAt`, and `email`, if given, its `email`. Does
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

/** A user of another system, with the user's links to providers. */
export interface UserToImport {
  user: User
  links: readonly LinkedIdentity[]
}

export interface ImportOutcome {
  /**
   * `imported`: the user was written. All other outcomes write nothing. `unchanged`: the store has the id with this
   * username. `other_name`: the store has the id with another username. `name_taken`: another user has the username.
   */
  outcome: 'imported' | 'unchanged' | 'other_name' | 'name_taken'
  /** The number of written links. Skips a link that any user has already. */
  links: number
}

/** A user store that can also import users of another system. The command `import` needs such a store. */
export interface UserImporter {
  /**
   * Writes users with the ids, hashes and times of the other system, each with its links in one step. Never changes an
   * existing user. Of two users with one id or one username, the first wins. Resolves to the outcomes in the order of
   * the users. `dryRun`: writes nothing, and resolves to the outcome that each user would have without the others.
   */
  importUsers(users: readonly UserToImport[], options?: { dryRun?: boolean }): Promise<ImportOutcome[]>
}
