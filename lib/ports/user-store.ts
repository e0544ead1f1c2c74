/** A row of the host's user store. `id` is the subject of every token: stable, never reassigned. */
export interface User {
  id: string
  /** Normalised, as `findByUsername` gets it. */
  username: string
  /**
   * A PHC string (argon2, scrypt, PBKDF2), or a hash of another system that the guide on importing users lists; `null`:
   * nobody can sign in with a password.
   */
  passwordHash: string | null
  email?: string
  emailVerified?: boolean
  /**
   * When this service, or a connection that decides on the mailbox, proved that the address is the user's, as
   * milliseconds since the epoch or a `Date`. 0: nobody did, and `emailVerified` is what another provider claims. Left
   * out, or `null`: not known, so `emailVerified` counts as the host says.
   */
  emailProvedAt?: number | Date | null
  /**
   * When the password was last changed, as milliseconds since the epoch or a `Date`. Where the store tells, a sign-in
   * that began before it is refused, even if ending it has failed; and a consent that was given before it is asked for
   * again. Left out, or `null`: it is not known.
   */
  passwordChangedAt?: number | Date | null
  /** A disabled user can't sign in, and every refresh token of theirs is refused. */
  disabled?: boolean
  /**
   * A number or a string of the store's own that is another one after each `update`, so that of parallel updates of
   * what all have read one wins. Left out, or `null`: the store has none, and of parallel updates the last one stays.
   */
  version?: number | string | null
  [claim: string]: unknown
}

/** What registration hands to the store. The store makes the `id`. */
export interface NewUser {
  username: string
  /** `null`: somebody who signs in through a connection and has no password. */
  passwordHash: string | null
  email?: string
  emailVerified?: boolean
  emailProvedAt?: number | Date | null
  [claim: string]: unknown
}

/**
 * What of a user changes. A field that is `null` is removed, one that is left out or `undefined` stays as it is. The
 * plugin never hands in `id`, `passwordHash`, `passwordChangedAt` or `version`, and a store changes none of them here.
 */
export interface UserPatch {
  /** Normalised, as `findByUsername` gets it. A user always has one, so it is never `null`. */
  username?: string | undefined
  email?: string | null | undefined
  emailVerified?: boolean | null | undefined
  emailProvedAt?: number | Date | null | undefined
  [claim: string]: unknown
}

/**
 * Who somebody is at another provider. The pair is the key of a link; an e-mail address never is. @see OpenID Connect
 * Core 1.0 §5.7
 */
export interface Identity {
  /** As the connection says it, byte for byte. */
  issuer: string
  subject: string
}

/** A sign-in at another provider that leads to a user here. Times are milliseconds since the epoch. */
export interface LinkedIdentity extends Identity {
  /** The `id` of the connection through which it was last used. */
  connection: string
  /** What the provider verified and said last, for the person to tell their links apart. Nobody is looked up by it. */
  email?: string
  linkedAt: number
  lastUsedAt: number
  /**
   * What only this service can read: the refresh token of a provider that takes it back (Apple), sealed. It is revoked
   * there when the link or the account is removed.
   */
  sealed?: string
  /**
   * It was made while nobody had proved the user's own address, so perhaps by somebody who signed up with the address
   * of another person. A password reset, which proves the mailbox, takes such links away.
   */
  provisional?: boolean
}

/**
 * The host's users. Every method is a transaction: when its promise resolves, the change is visible to every other
 * caller. An outage rejects; "there is none" resolves to `null` (or `undefined`). What is missing turns off the routes
 * that need it.
 *
 * Every answer is checked. One of another shape (an array of rows, 0 for `disabled`) is a `MisfitError` in the log, the
 * request is answered 500 `server_error`, and what was attempted counts. An optional field may be `null`, as SQL has
 * it.
 *
 * `Account`: the type of your rows, by which `authPlugin<Account>` types the option `claims`.
 */
export interface UserStore<Account extends User = User> {
  findById(id: string): Promise<Account | null>
  /** Gets the normalised name. Should take the same time whether the user exists or not. */
  findByUsername(username: string): Promise<Account | null>
  /**
   * The users whose `email` is this address, whatever the case of its letters: at most ten, first those with
   * `emailVerified`, because a stranger can make many that have not confirmed it. None where nobody has it. A
   * connection with `enforce` takes an account over that has an address of its domains beside a username of another
   * kind. Without it such an account is found by no sign-in, and the host links it.
   */
  findByEmail?(email: string): Promise<Account[]>
  /**
   * Atomic: of any number of parallel calls with one username, one resolves and the others reject with
   * `UsernameTakenError`.
   */
  create?(user: NewUser): Promise<Account>
  /**
   * Replaces the password hash. Where `expected` is given (`null` too) it is a compare-and-set: `false`, and nothing is
   * written, if the stored hash is another one by now. `false` also where there is no such user. `changedAt`: the
   * password is a new one (left out: a new hash of the same); what the store may keep and tell as `passwordChangedAt`,
   * in the same step.
   */
  setPasswordHash?(id: string, next: string, expected?: string | null, changedAt?: number): Promise<boolean>
  /**
   * Idempotent. Where `address` is given it is a compare-and-set: nothing is written if the user has another address by
   * now. The address of a user is `email`, or the username where there is none. A store that leaves that out lets
   * whoever changes their address at the right moment have it marked as theirs. `provedAt`: becomes `emailProvedAt`, in
   * the same step. Left out: `emailProvedAt` stays as it is.
   */
  setEmailVerified?(id: string, address?: string, provedAt?: number): Promise<void>
  /**
   * Changes the fields of the patch and no others, all of them in one step or none; resolves to the user as they are
   * after it. `null`, and nothing is written, where there is no such user, or where `expectedVersion` is given and the
   * user's `version` is another one by now. Rejects with `UsernameTakenError`, and writes nothing, where the patch has
   * a `username` that is somebody else's: of any number of parallel calls with one username, for whatever users, one
   * resolves. Must not make a user who is being removed again.
   */
  update?(id: string, patch: UserPatch, expectedVersion?: number | string): Promise<Account | null>
  /**
   * Removes the user with all that the store has of them, links included, in one step. Idempotent: resolves where there
   * is none, too. The `id` is never given to somebody else.
   */
  remove?(id: string): Promise<void>
  /**
   * The user to whom this identity is linked: both strings compared byte by byte. Without it and `linkIdentity` there
   * are no connections.
   */
  findByIdentity?(identity: Identity): Promise<Account | null>
  /**
   * Creates a user with a first link, both or neither. Of any number of parallel calls with one identity one resolves
   * and the others reject with `IdentityTakenError`; with one username, with `UsernameTakenError`. Nothing is left of a
   * call that rejects.
   */
  createWithIdentity?(user: NewUser, link: LinkedIdentity): Promise<Account>
  /**
   * Of any number of parallel calls with one identity, for whatever users, one is `linked`. `already_linked`: to this
   * user, and nothing is written; `taken`: to another. Must not make a link of a user who is being removed.
   */
  linkIdentity?(userId: string, link: LinkedIdentity): Promise<'linked' | 'already_linked' | 'taken' | 'unknown_user'>
  /**
   * Takes a link away, unless the user could not sign in without it: it goes only where a password hash, another link
   * or `otherFactors` is left, decided in the same step, so that of two parallel calls for the last two links one is
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
   * Notes a sign-in through this identity: `at` becomes its `lastUsedAt`, and `email`, where it is given, its `email`.
   * Does nothing where there is no such link.
   */
  useIdentity?(identity: Identity, at: number, email?: string): Promise<void>
}
