import type { Actor } from '../events.ts'

/** A user as support staff see one: no hash, and no field of the row but those of `registration.fields`. */
export interface ManagedUser {
  id: string
  username: string
  email: string | null
  emailVerified: boolean
  disabled: boolean
  hasPassword: boolean
  /** `null`: the user store does not tell. */
  createdAt: Date | null
  /** For `version` of an act. `null`: the user store has none. */
  version: number | string | null
  [field: string]: unknown
}

/** A user's data, for themselves or for an administrator. No secret and no digest of one is in it. */
export type UserExport = Readonly<Record<string, unknown>>

/** The circumstances of an act. */
export interface UserAct {
  /** The actor. Default `{ type: 'host', id: 'app' }`. */
  by?: Actor | undefined
  /** The act is refused with `changed_meanwhile` if the user has another version now. */
  version?: number | string | undefined
  /** The reason in the actor's own words, of at most 500 characters, for the event. */
  reason?: string | undefined
}

export interface UserChanges {
  username?: string | undefined
  email?: string | undefined
  /** Fields of `registration.fields`. `null` removes one. */
  fields?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Users, for the people who support a service. An act that failed half-way leaves the safer state, and its repeat does
 * the rest. A call rejects with `NotSupportedError` if the user store lacks the method that it needs, and with an
 * `OAuthError` `not_found` for an id that nobody has.
 */
export interface ManagedUsers {
  /**
   * The newest users first. `next` is the `after` of the next page; `null`: this is the last one. `limit`: 1 to 200,
   * default 50. `prefix`: the beginning of the username. `email`: the whole address, in any letter case. `connection`:
   * the id of a connection that the user has a link of.
   * @throws OAuthError `invalid_request`
   */
  list(query?: {
    limit?: number | undefined
    after?: string | undefined
    prefix?: string | undefined
    email?: string | undefined
    connection?: string | undefined
  }): Promise<{ users: ManagedUser[]; next: string | null }>
  /** `null`: nobody has the id. */
  get(id: string): Promise<ManagedUser | null>
  /**
   * Creates a user without a password and with an unconfirmed address. Works where registration is closed. `invite`: as
   * `invite` does next. If only that fails, the user is there, and `invite` does the rest.
   * @throws OAuthError `username_taken`, `invalid_request` naming the field
   */
  create(user: UserChanges & { username: string; invite?: boolean | undefined }, act?: UserAct): Promise<ManagedUser>
  /**
   * Changes these fields and no others. A new address is unconfirmed: open links end, and both mailboxes are told. A
   * username that is an address changes with it.
   * @throws OAuthError `username_taken`, `invalid_request`, `changed_meanwhile`
   */
  update(id: string, changes: UserChanges, act?: UserAct): Promise<ManagedUser>
  /** The user can't sign in any more. All sessions, tokens and open links end. */
  disable(id: string, act?: UserAct): Promise<void>
  enable(id: string, act?: UserAct): Promise<void>
  /**
   * Removes the password, ends all sign-ins and consents, and sends the link that sets a new password.
   * @throws OAuthError `conflict` for a user who is disabled, has no address, or signs in by an enforced connection;
   * `invalid_request` without `sendMessage`
   */
  requireReset(id: string, act?: UserAct): Promise<void>
  /**
   * Sends a link with which the user chooses a password, or signs in through a connection with the same address. It
   * works once, for 7 days, and replaces the one before. It also confirms the address.
   * @throws OAuthError `conflict` for a user who is disabled, has a password or has no address; `invalid_request`
   * without `sendMessage` or hosted pages
   */
  invite(id: string, act?: UserAct): Promise<void>
  /** All that the service keeps of the user, without a secret, for a copy that the person asked for. */
  export(id: string, act?: UserAct): Promise<UserExport>
  /** As `deleteUser`, for a user who exists. */
  remove(id: string, act?: UserAct): Promise<void>
}
