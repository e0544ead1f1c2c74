import type { Actor, Origin } from '../events.ts'
import type { User } from '../ports/user-store.ts'
import type { ActClaim } from '../protocol/access-token.ts'
import type { ActorSignIn } from '../sessions/active-user.ts'

/**
 * A user as support staff see them: no password hash, and of the host's own fields only those of `registration.fields`.
 */
export interface ManagedUser {
  id: string
  username: string
  email: string | null
  emailVerified: boolean
  disabled: boolean
  hasPassword: boolean
  /** `null`: the user store keeps no creation time. */
  createdAt: Date | null
  /**
   * Pass it as `version` of an action, which is then refused if the user has changed since. `null`: the user store has
   * no versions.
   */
  version: number | string | null
  [field: string]: unknown
}

/** A user's data, for themselves or for an administrator. Contains no secret and no digest of a secret. */
export type UserExport = Readonly<Record<string, unknown>>

/** The options of an administrator's action on a user. */
export interface UserAct {
  /** The actor. Default `{ type: 'host', id: 'app' }`. */
  by?: Actor | undefined
  /** The action is refused with `changed_meanwhile` if the user has another version now. */
  version?: number | string | undefined
  /** The reason in the actor's own words, for the event. At most 500 characters. */
  reason?: string | undefined
}

/** An access token that acts in the name of a user. There is no refresh token and no ID token. */
export interface ImpersonationAnswer {
  access_token: string
  token_type: 'Bearer' | 'DPoP'
  /** Seconds. */
  expires_in: number
  /** Absent if no scope was granted. */
  scope?: string
  act: ActClaim
}

/** An administrator's action, with the facts of the request that asks for it. */
export interface RequestedAct extends UserAct {
  origin?: Origin | undefined
  /** Refuses a user on whom the actor may not act. @throws OAuthError */
  check?: ((user: User) => Promise<void>) | undefined
  signIn?: ActorSignIn | undefined
}

/** A checked request for a token that acts in the name of a user. */
export interface ImpersonationAsk {
  user: User
  actor: Actor
  reason: string
  scope: string | undefined
  /** `null`: the host asks. The token then ends with the actor's account, if the actor is a user. */
  signIn: ActorSignIn | null
}

export interface UserChanges {
  username?: string | undefined
  email?: string | undefined
  /** Fields of `registration.fields`. `null` removes one. */
  fields?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Manages users, for the support staff of a service. An action that fails half-way leaves the safer state, and
 * repeating it does the rest. A call rejects with `NotSupportedError` if the user store lacks the method that it needs,
 * and with an `OAuthError` `not_found` for an id that nobody has (`get` resolves to `null`).
 */
export interface ManagedUsers<Act extends UserAct = UserAct> {
  /**
   * Lists users, the newest first. `next` is the `after` of the next page, `null` on the last page. `limit`: 1 to 200,
   * default 50. `prefix`: the beginning of the username. `email`: the whole address, in any case of its ASCII letters.
   * `connection`: the id of a connection to which the user has a link.
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
   * Creates a user without a password and with an unconfirmed address, even if registration is closed. `invite`: also
   * sends an invitation, like the method `invite`. If only the invitation fails, the user exists, and a call of
   * `invite` sends it.
   * @throws OAuthError `username_taken`, `invalid_request` naming the field
   */
  create(user: UserChanges & { username: string; invite?: boolean | undefined }, act?: Act): Promise<ManagedUser>
  /**
   * Changes these fields and no others. A new address is unconfirmed: open links end, and both mailboxes get a message.
   * A username that is an email address changes with the address.
   * @throws OAuthError `username_taken`, `invalid_request`, `changed_meanwhile`
   */
  update(id: string, changes: UserChanges, act?: Act): Promise<ManagedUser>
  /** Keeps the user from signing in. Ends all their sessions, tokens and open links. */
  disable(id: string, act?: Act): Promise<void>
  enable(id: string, act?: Act): Promise<void>
  /**
   * Removes the password, ends all sign-ins and consents, and sends the link that sets a new password.
   * @throws OAuthError `conflict` for a user who is disabled, has no address, or signs in by an enforced connection;
   * `invalid_request` without `sendMessage`
   */
  requireReset(id: string, act?: Act): Promise<void>
  /**
   * Sends a link with which the user chooses a password, or signs in through a connection with the same address. The
   * link works once, for 7 days, confirms the address, and replaces an earlier invitation.
   * @throws OAuthError `conflict` for a user who is disabled, has a password or has no address; `invalid_request`
   * without `sendMessage` or hosted pages
   */
  invite(id: string, act?: Act): Promise<void>
  /** Exports all that the service keeps of the user, without secrets, for a user who asks for a copy. */
  export(id: string, act?: Act): Promise<UserExport>
  /**
   * Makes an access token with which `by` sees the service as the user, for the service's own audience: `sub` is the
   * user, and `act.sub` the actor. The token is valid for at most `admin.impersonation.expiresIn` seconds, and ends
   * with the actor's sign-in or account. The routes of accounts and of administration refuse it. `reason`: 10 to 500
   * characters. `scope`: the requested scopes. Left out: all possible ones except `offline_access`.
   * @throws OAuthError `conflict` for a disabled user, if the user is the actor, or if the actor has no active account;
   * `access_denied` for a client as the actor; `invalid_request` without a reason, or if the option `admin` is off or
   * has `impersonation: false`; `invalid_scope`
   */
  impersonate(id: string, act?: Act & { scope?: string | undefined }): Promise<ImpersonationAnswer>
  /** Removes the user like `deleteUser`, but rejects with `not_found` if there is none. */
  remove(id: string, act?: Act): Promise<void>
}

/** A user as support staff see them, with the row of the store. */
export interface UserWithRow {
  user: ManagedUser
  row: User
}

/** The use cases for the routes and pages of administration, which also need the rows. */
export interface RequestedUsers extends Omit<ManagedUsers<RequestedAct>, 'list' | 'get'> {
  list(...query: Parameters<ManagedUsers['list']>): Promise<{ users: UserWithRow[]; next: string | null }>
  get(id: string): Promise<UserWithRow | null>
}
