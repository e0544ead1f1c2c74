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
   * The frozen claims of a good access token.
   * @throws OAuthError `invalid_token`, `temporarily_unavailable` (its key cannot be looked up)
   */
  verify(token: string): Promise<AccessTokenClaims>
  /**
   * Issues tokens for a user whom the host has authenticated itself, as the password grant does. `amr` says how, in
   * terms of RFC 8176, such as `['pwd']`. With `mfa` in it the `acr` is `mfa`, for two factors that the host has
   * checked; with `pwd` it is `password`. Without `amr` the tokens have neither `acr` nor `amr`.
   * @throws OAuthError `invalid_grant` if there is no such user or the account is disabled; `invalid_scope`;
   * `invalid_client`; `unmet_authentication_requirements` if the client has an `acr` that `amr` does not give
   */
  issueTokens(
    userId: string,
    options?: { scope?: string | undefined; clientId?: string | undefined; amr?: readonly string[] | undefined }
  ): Promise<TokenResponse>
  /**
   * Signs in, in the browser of this request, a user whom the host has authenticated itself. Sets the session cookie on
   * the reply, which must not be sent yet. Asks for no second factor, because the host vouches for the whole sign-in.
   * Ends the session of a user who was signed in there before. Guard the route against forged requests: a link must not
   * sign anybody in. `amr` as for `issueTokens`.
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
   * nobody. Counts as a use of the session. Other sites' requests carry the cookie too, except posts, because it is
   * `SameSite=Lax`.
   */
  readSession: Hook
  /**
   * Makes an `onRequest` hook for pages that need a sign-in, at most `maxAge` seconds old and with at least this `acr`
   * if these are given. It sets `request.authSession`, or redirects (303) to the sign-in page and back, or to the
   * set-up of a factor that `acr` needs. Called without a callback it sends nothing and rejects with `login_required`
   * (401), whose `redirectTo` is that place. Accepts requests that change something from pages of this origin only (403
   * `access_denied`), and carries no form over the sign-in. A user who has just signed in, or cannot reach `acr`, gets
   * 403 `unmet_authentication_requirements`.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS` at the call, for a requirement that cannot be met, and with
   * `pages: false`
   */
  requireSession(...required: [] | [AuthRequirements]): Hook
  /** Ends all sessions of the user, everywhere, and with `apiKeys` all API keys. Call it after disabling one. */
  revokeUser(userId: string, options?: { apiKeys?: boolean | undefined }): Promise<void>
  apiKeys: UserApiKeys
  users: ManagedUsers
  /** Live sign-ins, newest first: browser sessions and token families. */
  sessions(userId: string): Promise<Session[]>
  /** Returns `false` if the user has no such session. */
  revokeSession(userId: string, id: string): Promise<boolean>
  /** Valid consents, newest first. */
  consents(userId: string): Promise<UserConsent[]>
  /** Revokes the consent and ends everything that the client got for the user. Returns `false` without a consent. */
  revokeConsent(userId: string, clientId: string): Promise<boolean>
  /**
   * Blocks a client that nobody registered: it gets 401 `invalid_client` from now on. Its access tokens live until they
   * expire. A registered client is removed from the option `clients` instead.
   */
  blockClient(clientId: string): Promise<void>
  unblockClient(clientId: string): Promise<void>
  /**
   * Looks for changes in the log. Without `checkpoints`, of the lines `FST_AUTHORITY_AUDIT_CHECKPOINT`, a cut end
   * is not seen.
   */
  verifyAudit(checkpoints?: readonly AuditCheckpoint[]): Promise<AuditVerdict>
  /** The provider accounts of the user, oldest first. */
  identities(userId: string): Promise<UserIdentity[]>
  /**
   * Lets the user sign in as this person of another provider. The host has to know that they are the same: nobody is
   * asked. Tells the user by a message if there is `sendMessage`. Returns `taken` if the identity belongs to another
   * user.
   * @throws OAuthError `invalid_request` if the user store keeps no links
   */
  linkIdentity(userId: string, identity: HostLink): Promise<'linked' | 'already_linked' | 'taken' | 'unknown_user'>
  /**
   * Removes such a link and tells the user. Returns `last_sign_in_method` if the user has no other way to sign in. A
   * link of a connection that is not among `connections` is no way in, and is always removed. Sessions stay:
   * `revokeUser` ends them.
   */
  unlinkIdentity(userId: string, id: string): Promise<'unlinked' | 'last_sign_in_method' | 'unknown'>
  /**
   * A PHC string with the current parameters, through the hashing queue.
   * @throws OAuthError `temporarily_unavailable`
   */
  hashPassword(password: string): Promise<string>
  /**
   * The id of the user whom this name and password prove. `null` after the same time for every refusal: unknown name,
   * wrong password, disabled account, unconfirmed email that must be confirmed. Counts under the rule `account`. Limits
   * by address apply to requests only, so a page of the host's own needs its own. Signs nobody in.
   * @throws OAuthError `too_many_requests`; `temporarily_unavailable` if the hashing queue is full
   */
  verifyPassword(username: string, password: string): Promise<string | null>
  /**
   * Sets a new password for a user, under the rules for new passwords. Ends all their sessions, and tells them by a
   * message if there is `sendMessage`. Asks for no current password: the host has to know that the user may do this.
   * @throws OAuthError `invalid_password` with the reason; `invalid_grant` if there is no such user;
   * `temporarily_unavailable`
   */
  changePassword(userId: string, newPassword: string): Promise<void>
  /** The second factors of a user, and the number of recovery codes left. Empty without the option `factors`. */
  factors(userId: string): Promise<{ factors: UserFactor[]; recoveryCodesLeft: number }>
  /**
   * Removes one factor and tells the user. The last one takes the recovery codes along. Returns `false` if the user has
   * no such factor. `by` names the admin, for the event `factor_removed`.
   */
  removeFactor(userId: string, factorId: string, options?: { by?: string | undefined }): Promise<boolean>
  /**
   * Removes all second factors and recovery codes of a user who has lost them, ends all their sessions, and tells a
   * user who had one. Afterwards the password alone signs in, so verify by other means that the user asks. Resolves to
   * the number of removed factors. `by` names the admin, such as an id; it is the field `admin` of the event
   * `factor_removed`. Throws a TypeError for a value that cannot be a name.
   * @throws OAuthError `invalid_grant` if there is no such user; `temporarily_unavailable`
   */
  resetFactors(userId: string, options?: { by?: string | undefined }): Promise<number>
  /**
   * Makes a link by which a user without a second factor sets one up, such as a user who lost all of theirs, after
   * `resetFactors`. Hand it to the user by the means by which you verified them. Nothing is sent, and nobody at your
   * desk sees or sets a key, a code or a password. The link works for 24 hours and for one press of the button on its
   * page; opening the page does not use it up. It signs nobody in and is no factor. In that browser, for an hour, the
   * person signs in as usual and has to set a factor up before there is a session, whether `mfa.required` asks for one
   * or not, and even with an unconfirmed address. Another link, another password and any change of the factors end it.
   * @throws OAuthError `invalid_grant` if there is no such user; `invalid_request` for a disabled user or one with a
   * second factor; `not_found` if `mfa.methods` has nothing to set up; `temporarily_unavailable`. TypeError without
   * `factors`, or with `pages: false`
   */
  startEnrolment(userId: string): Promise<EnrolmentLink>
  /**
   * Adds the authenticator app that a user has set up with another system, for a move from there. `secret` is its key
   * in base32 or as 10 to 128 bytes. The app must be of the usual kind (`algorithm` `SHA1`, six `digits`, a `period` of
   * 30 seconds), because codes of another kind would always be wrong. The next code of the app is accepted, whether it
   * was used there or not. Makes no recovery codes and tells nobody. The first second factor of a user ends their
   * sign-ins here. Returns `already_added` if the user has an app with this key, so that an import can be repeated,
   * also twice at once.
   * @throws OAuthError `invalid_grant` if there is no such user; `invalid_request` for an invalid key, a `name` that is
   * no string, or an app of another kind; `factor_limit` after three apps; `temporarily_unavailable`. TypeError without
   * `factors`
   */
  importTotp(userId: string, app: ImportedTotp): Promise<'added' | 'already_added'>
  /**
   * Makes every remembered browser of the user ask for the second factor again (`mfa.rememberDevice`). Sign-ins
   * continue.
   * @throws OAuthError `invalid_grant` if there is no such user; `temporarily_unavailable`
   */
  forgetDevices(userId: string): Promise<void>
  /**
   * Removes the account for good and tells the user. Order: sessions and tokens, consents and open links,
   * `users.remove`, second factors. A call that failed can be repeated. Returns `false` if there was no such user;
   * remains of a former call have ended then. `by` as for `resetFactors`, in the event `account_removed`.
   * @throws OAuthError `server_error` if the user store has no `remove`; `temporarily_unavailable`
   */
  deleteUser(userId: string, options?: { by?: string | undefined }): Promise<boolean>
  /**
   * Sends the user a reset message, in the language of their claim `locale`. Rejects without such a user or without
   * `sendMessage`.
   */
  startPasswordReset(userId: string): Promise<void>
  /**
   * The connections that are on, as links for a sign-in page of the host's own. A link begins the sign-in and continues
   * to the target of the request's own query (`return_to`, as the sign-in page got it). It works from a page of this
   * origin; from anywhere else it shows the sign-in page first.
   */
  connections(request: FastifyRequest): Promise<ConnectionLink[]>
  /**
   * The health of the service, for a readiness route. Never rejects, answers within about a second whatever the stores
   * do, and reveals nothing that strangers should not know. Parallel calls share one look.
   */
  health(): Promise<Health>
  on: Events['on']
  off: Events['off']
}
