import type { AuditCheckpoint, AuditVerdict } from '../ports/audit-log.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ImportedTotp } from '../protocol/totp.ts'
import type { ManagedUsers } from '../accounts/managed-users.ts'
import type { HostLink } from '../accounts/identities.ts'
import type { Events } from '../events.ts'
import type { TokenResponse } from '../oauth/deps.ts'
import type { Hook } from '../http/edge/hook.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import type { AuthRequirements } from '../settings/auth-requirements.ts'
import type { Session } from '../sessions/browser-sessions.ts'
import type {
  ConnectionLink,
  EnrolmentLink,
  UserApiKeys,
  UserConsent,
  UserFactor,
  UserIdentity
} from './authority-answers.ts'
import type { Health } from './health.ts'

/** The methods for the host's own code: `app.authority`. */
export interface Authority {
  /**
   * The frozen claims of a valid access token.
   * @throws OAuthError `invalid_token`; `temporarily_unavailable` if the signing key cannot be looked up
   */
  verify(token: string): Promise<AccessTokenClaims>
  /**
   * Issues tokens for a user whom the host has authenticated itself, as the password grant does. `amr` has the methods
   * of that authentication in terms of RFC 8176, such as `['pwd']`. `mfa` (the host has checked two factors) gives the
   * `acr` `mfa`, otherwise `pwd` gives `password`. Without `amr` the tokens have neither `acr` nor `amr`.
   * @throws OAuthError `invalid_grant` if there is no such user or the account is disabled; `invalid_scope`;
   * `invalid_client`; `unmet_authentication_requirements` if `amr` does not reach the `acr` of the client
   */
  issueTokens(
    userId: string,
    options?: { scope?: string | undefined; clientId?: string | undefined; amr?: readonly string[] | undefined }
  ): Promise<TokenResponse>
  /**
   * Starts a browser session for a user whom the host has authenticated itself. Sets the session cookie on the reply,
   * which must not be sent yet. Asks for no second factor, because the host vouches for the whole sign-in. Ends the
   * session of another user in this browser. Guard the route against forged requests: a link must not sign anybody in.
   * `amr` as for `issueTokens`.
   * @throws OAuthError `invalid_grant` if there is no such user or the account is disabled
   */
  signIn(
    request: FastifyRequest,
    reply: FastifyReply,
    userId: string,
    options?: { amr?: readonly string[] | undefined }
  ): Promise<void>
  /** Ends the browser session of this request, if there is one, like `/auth/logout`, and removes the cookie. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * An `onRequest` hook that sets `request.authSession` to the user signed in in this browser, or `null`. Refuses
   * nobody. Counts as a use of the session. The cookie is `SameSite=Lax`, so a link on another site sends it too, but a
   * form post does not.
   */
  readSession: Hook
  /**
   * Makes an `onRequest` hook for pages that need a sign-in, at most `maxAge` seconds old and with at least this `acr`
   * if these are given. Sets `request.authSession`. Otherwise redirects (303) to the page for the missing step, such as
   * the sign-in. That page leads back. Called without a callback, the hook sends nothing and rejects with
   * `login_required` (401); its `redirectTo` is that page. Requests other than GET and HEAD must come from a page of
   * this origin (403 `access_denied`), and their form is lost in the sign-in. 403 `unmet_authentication_requirements`
   * if no step helps to reach `acr`.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` at the call, for a requirement that is invalid or cannot be met,
   * and with `pages: false`
   */
  requireSession(...required: [] | [AuthRequirements]): Hook
  /** Ends all sessions of the user, and with `apiKeys` all API keys. Call it after you disable a user. */
  revokeUser(userId: string, options?: { apiKeys?: boolean | undefined }): Promise<void>
  apiKeys: UserApiKeys
  users: ManagedUsers
  /** Live sessions, newest first: browser sessions and refresh token families. */
  sessions(userId: string): Promise<Session[]>
  /** Returns `false` if the user has no such session. */
  revokeSession(userId: string, id: string): Promise<boolean>
  /** Valid consents, newest first. */
  consents(userId: string): Promise<UserConsent[]>
  /** Revokes the consent, and ends all tokens of the client for the user. Returns `false` without a consent. */
  revokeConsent(userId: string, clientId: string): Promise<boolean>
  /**
   * Blocks a client that nobody registered: it gets 401 `invalid_client` from now on. Its access tokens live until they
   * expire. To block a registered client, remove it from the option `clients`.
   */
  blockClient(clientId: string): Promise<void>
  unblockClient(clientId: string): Promise<void>
  /**
   * Looks for changes in the audit log. `checkpoints` come from the log lines `FST_AUTHORITY_AUDIT_CHECKPOINT`. Without
   * them, nobody notices if the newest entries were removed.
   */
  verifyAudit(checkpoints?: readonly AuditCheckpoint[]): Promise<AuditVerdict>
  /** The linked provider accounts of the user, oldest first. */
  identities(userId: string): Promise<UserIdentity[]>
  /**
   * Links an account at another provider, so that the user can sign in with it. Asks nobody: the host must know that
   * both belong to the same person. Sends the user a message if there is `sendMessage`. Returns `taken` if the account
   * is linked to another user.
   * @throws OAuthError `invalid_request` if the user store keeps no links
   */
  linkIdentity(userId: string, identity: HostLink): Promise<'linked' | 'already_linked' | 'taken' | 'unknown_user'>
  /**
   * Removes a link and sends the user a message. Returns `last_sign_in_method` if the user has no other way to sign in.
   * A link of a connection that the option `connections` lacks signs nobody in, and is always removed. Sessions stay:
   * `revokeUser` ends them.
   */
  unlinkIdentity(userId: string, id: string): Promise<'unlinked' | 'last_sign_in_method' | 'unknown'>
  /**
   * Hashes a password, through the hashing queue, to a PHC string with the current parameters.
   * @throws OAuthError `temporarily_unavailable`
   */
  hashPassword(password: string): Promise<string>
  /**
   * Verifies a username and password, and returns the id of the user. Signs nobody in. Returns `null` after the same
   * time for every refusal: unknown name, wrong password, disabled account, account of a connection, email to be
   * confirmed first. Counts under the rule `account`, not by address, so your own page needs a limit by address.
   * @throws OAuthError `too_many_requests`; `temporarily_unavailable` if the hashing queue is full
   */
  verifyPassword(username: string, password: string): Promise<string | null>
  /**
   * Sets a new password for a user, under the rules for new passwords. Ends all their sessions, and tells them by a
   * message if there is `sendMessage`. Asks for no current password: the host has to know that the user may do this.
   * @throws OAuthError `invalid_password` with the reason; `invalid_grant` if there is no such user, or if another
   * request changes the password meanwhile; `temporarily_unavailable`
   */
  changePassword(userId: string, newPassword: string): Promise<void>
  /** The second factors of a user, and the number of recovery codes left. Empty without the option `factors`. */
  factors(userId: string): Promise<{ factors: UserFactor[]; recoveryCodesLeft: number }>
  /**
   * Removes a factor and sends the user a message. The recovery codes go with the last factor. Returns `false` if the
   * user has no such factor. `by` names the admin, for the event `factor_removed`.
   * @throws OAuthError `invalid_grant` if there is no such user
   */
  removeFactor(userId: string, factorId: string, options?: { by?: string | undefined }): Promise<boolean>
  /**
   * Removes all second factors and recovery codes of a user who has lost them. Ends all their sessions. Sends a message
   * if there was a factor. Afterwards the first factor alone signs in, so verify by other means that the user asks.
   * Resolves to the number of removed factors. `by` names the admin, such as an id; it is the field `admin` of the
   * event `factor_removed`. Throws a TypeError for a value that cannot be a name.
   * @throws OAuthError `invalid_grant` if there is no such user; `temporarily_unavailable`
   */
  resetFactors(userId: string, options?: { by?: string | undefined }): Promise<number>
  /**
   * Makes a link by which a user without a second factor sets one up, such as after `resetFactors`. Sends nothing: give
   * the link to the user in the way in which you verified them. The link works for 24 hours and for one press of the
   * button on its page; opening the page does not use it up. It signs nobody in and is no factor. For an hour after the
   * press, a sign-in of the user in that browser must set up a factor before a session begins. `mfa.required` and a
   * confirmed address do not matter. A new link, a new password and any change of the factors end the link.
   * @throws OAuthError `invalid_grant` if there is no such user; `invalid_request` for a disabled user or one with a
   * second factor; `not_found` if `mfa.methods` has nothing to set up; `temporarily_unavailable`. TypeError without
   * `factors`, or with `pages: false`
   */
  startEnrolment(userId: string): Promise<EnrolmentLink>
  /**
   * Imports an authenticator app that a user has set up with another system. `secret` is its key in base32 or as 10 to
   * 128 bytes. The app must have the usual `algorithm` (`SHA1`), six `digits` and a `period` of 30 seconds. Codes of
   * any other app would be wrong. The first code here may be one that the other system accepted already. Makes no
   * recovery codes and sends no message. If the app turns two-step sign-in on, all sessions of the user end. Returns
   * `already_added` if the user has an app with this key, so that an import can be repeated, even in parallel.
   * @throws OAuthError `invalid_grant` if there is no such user; `invalid_request` for an invalid key, a `name` that is
   * no string, or an app of another kind; `factor_limit` after three apps; `temporarily_unavailable`. TypeError without
   * `factors`
   */
  importTotp(userId: string, app: ImportedTotp): Promise<'added' | 'already_added'>
  /**
   * Forgets the browsers that `mfa.rememberDevice` remembers: their next sign-in asks for the second factor. Sessions
   * continue.
   * @throws OAuthError `invalid_grant` if there is no such user; `temporarily_unavailable`
   */
  forgetDevices(userId: string): Promise<void>
  /**
   * Removes the account for good and sends the user a message. Ends sessions, tokens, consents and open links, then
   * calls `users.remove`, then removes the second factors. A call that failed can be repeated. If there is no such
   * user, ends what an earlier call left and returns `false`. `by` as for `resetFactors`, in the event
   * `account_removed`.
   * @throws OAuthError `server_error` if the user store has no `remove`; `temporarily_unavailable`
   */
  deleteUser(userId: string, options?: { by?: string | undefined }): Promise<boolean>
  /**
   * Sends the user a reset message, in the language of their claim `locale`. Rejects if the user is unknown, disabled
   * or signs in through a connection alone, and without `sendMessage`.
   */
  startPasswordReset(userId: string): Promise<void>
  /**
   * Links for a sign-in page of the host's own, one for each connection that is on. Pass the request of that page: the
   * sign-in ends at its `return_to`. On a page of this origin a link begins the sign-in. Elsewhere it leads to the
   * sign-in page first.
   */
  connections(request: FastifyRequest): Promise<ConnectionLink[]>
  /**
   * The health of the service, for a readiness route. Never rejects, answers within about a second whatever the stores
   * do, and reveals nothing that strangers should not know. Parallel calls share one check.
   */
  health(): Promise<Health>
  on: Events['on']
  off: Events['off']
}
