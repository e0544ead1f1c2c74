/** A row of the host's user store. `id` is the subject of every token: stable, never reassigned. */
export interface User {
  id: string
  /** Normalised, as `findByUsername` gets it. */
  username: string
  /** A PHC string (argon2, scrypt, PBKDF2) or a bcrypt hash; `null`: nobody can sign in with a password. */
  passwordHash: string | null
  email?: string
  emailVerified?: boolean
  /**
   * When the password was last changed, as milliseconds since the epoch or a `Date`. Where the store tells, a sign-in that began before it
   * is refused, even if ending it has failed; and a consent that was given before it is asked for again. Left out, or `null`: it is not known.
   */
  passwordChangedAt?: number | Date | null
  /** A disabled user can't sign in, and every refresh token of theirs is refused. */
  disabled?: boolean
  [claim: string]: unknown
}

/** What registration hands to the store. The store makes the `id`. */
export interface NewUser {
  username: string
  passwordHash: string
  email?: string
  emailVerified?: boolean
  [claim: string]: unknown
}

/**
 * The host's users. Every method is a transaction: when its promise resolves, the change is visible to every other caller.
 * An outage rejects; "there is none" resolves to `null` (or `undefined`). What is missing turns off the routes that need it.
 *
 * Every answer is checked. One of another shape (an array of rows, 0 for `disabled`) is a `MisfitError` in the log, the request is answered
 * 500 `server_error`, and what was attempted counts. An optional field may be `null`, as SQL has it.
 */
export interface UserStore {
  findById(id: string): Promise<User | null>
  /** Gets the normalised name. Should take the same time whether the user exists or not. */
  findByUsername(username: string): Promise<User | null>
  /** Atomic: of any number of parallel calls with one username, one resolves and the others reject with `UsernameTakenError`. */
  create?(user: NewUser): Promise<User>
  /**
   * Replaces the password hash. Where `expected` is given (`null` too) it is a compare-and-set: `false`, and nothing is
   * written, if the stored hash is another one by now. `false` also where there is no such user. `changedAt`: the password is a new one
   * (left out: a new hash of the same); what the store may keep and tell as `passwordChangedAt`, in the same step.
   */
  setPasswordHash?(id: string, next: string, expected?: string | null, changedAt?: number): Promise<boolean>
  /** Idempotent. */
  setEmailVerified?(id: string): Promise<void>
}
