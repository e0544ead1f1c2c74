import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ImportedTotp } from '../accounts/factors/import-totp.ts'
import type { HostLink } from '../accounts/identities.ts'
import type { Events } from '../events.ts'
import type { TokenResponse } from '../oauth/deps.ts'
import type { Hook } from '../http/edge/hook.ts'
import type { AccessTokenClaims } from '../protocol/access-token.ts'
import type { AuthRequirements } from '../settings/auth-requirements.ts'
import type { Session } from '../sessions/list.ts'
import type { ConnectionLink, EnrolmentLink, UserConsent, UserFactor, UserIdentity } from './authority-answers.ts'
import type { Health } from './health.ts'

/** What the host can do from its own code: `app.authority`. */
export interface Authority {
  /**
   * The claims of a good access token, frozen. @throws OAuthError `invalid_token`, `temporarily_unavailable` (its key
   * can't be looked up)
   */
  verify(token: string): Promise<AccessTokenClaims>
  /**
   * Tokens for a user that the host has authenticated by its own means, as the password grant would give them. `amr`:
   * how it did, in the words of RFC 8176, such as `['pwd']`: with `mfa` in it the `acr` is `mfa`, for two factors that
   * the host has seen; with `pwd` it is `password`. Left out, the tokens say nothing of it, neither `acr` nor `amr`.
   * @throws OAuthError `invalid_grant` where there is no such user or the account is disabled; `invalid_scope`;
   * `invalid_client`; `unmet_authentication_requirements` where the client has an `acr` that `amr` does not give
   */
  issueTokens(
    userId: string,
    options?: { scope?: string | undefined; clientId?: string | undefined; amr?: readonly string[] | undefined }
  ): Promise<TokenResponse>
  /**
   * Signs in, in the browser that sent this request, a user whom the host has authenticated by its own means: sets the
   * session cookie on the reply, which must not be sent yet. No second factor is asked for: the host vouches for all of
   * it. A user who was signed in there before no longer is. Guard the route against forged requests: what signs in must
   * not be a link. `amr`: how it did, as for `issueTokens`.
   * @throws OAuthError `invalid_grant` where there is no such user or the account is disabled
   */
  signIn(
    request: FastifyRequest,
    reply: FastifyReply,
    userId: string,
    options?: { amr?: readonly string[] | undefined }
  ): Promise<void>
  /** Ends the browser session of this request, if there is one, as `/auth/logout` does, and takes the cookie back. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
  /**
   * An `onRequest` hook: sets `request.authSession` to who is signed in in this browser, `null` where nobody is.
   * Refuses nobody. Counts as a use of the session. A cookie comes with requests of other sites too: `SameSite=Lax`
   * keeps it from their posts.
   */
  readSession: Hook
  /**
   * Makes an `onRequest` hook for pages that need a sign-in, of at most `maxAge` seconds ago and worth at least `acr`
   * where these are given. Sets `request.authSession`, or leads to the sign-in page and back (303), or to where what
   * `acr` takes is set up. Called without a callback, it sends nothing and rejects with `login_required` (401), whose
   * `redirectTo` is that place. A request that changes something is taken from pages of this origin alone (403
   * `access_denied`), and no form is carried over the sign-in. Somebody who has signed in just now, or has no way to
   * show `acr`, is 403 `unmet_authentication_requirements`.
   * @throws StartError `FST_AUTHORITY_INVALID_OPTIONS`, where the hook is made, for what can't be met, and with `pages:
   * false`
   */
  requireSession(...required: [] | [AuthRequirements]): Hook
  /** Ends all sessions of the user, everywhere. Call it after disabling one. */
  revokeUser(userId: string): Promise<void>
  /** Alive now, newest first: browser sessions and token families. */
  sessions(userId: string): Promise<Session[]>
  /** `false` where the user has no such session. */
  revokeSession(userId: string, id: string): Promise<boolean>
  /** Valid now, newest first. */
  consents(userId: string): Promise<UserConsent[]>
  /**
   * Takes the consent back and ends all that this client was given for the user. `false` where there was no consent.
   */
  revokeConsent(userId: string, clientId: string): Promise<boolean>
  /** The accounts at other providers that the user signs in with, the oldest first. */
  identities(userId: string): Promise<UserIdentity[]>
  /**
   * Lets the user sign in as this person of another provider, which is for the host to know: it asks nobody. Tells the
   * user by a message where there is `sendMessage`. `taken`: it leads to somebody else.
   * @throws OAuthError `invalid_request` where the user store keeps no links
   */
  linkIdentity(userId: string, identity: HostLink): Promise<'linked' | 'already_linked' | 'taken' | 'unknown_user'>
  /**
   * Takes such a link away, and tells the user. `last_sign_in_method`: nothing else is left with which they could sign
   * in. A link of a connection that is not among `connections` is no such way, and goes in any case. Sessions stay:
   * `revokeUser` ends them.
   */
  unlinkIdentity(userId: string, id: string): Promise<'unlinked' | 'last_sign_in_method' | 'unknown'>
  /**
   * A PHC string with the current parameters, through the hashing queue. @throws OAuthError `temporarily_unavailable`
   */
  hashPassword(password: string): Promise<string>
  /**
   * The id of the user whom this name and password prove; `null`, whatever is wrong (unknown name, wrong password,
   * disabled account, e-mail not confirmed where it must be), after the same time. Counts under the rule `account`;
   * limits by address are for requests, so a page of the host's own needs its own. Signs nobody in.
   * @throws OAuthError `too_many_requests`; `temporarily_unavailable` where the hashing queue is full
   */
  verifyPassword(username: string, password: string): Promise<string | null>
  /**
   * Gives a user a new password, under the rules for new passwords. Ends all their sessions, and tells them by a
   * message where there is `sendMessage`. Asks for no current password: that the user may do this is for the host to
   * know.
   * @throws OAuthError `invalid_password` with the reason; `invalid_grant` where there is no such user;
   * `temporarily_unavailable`
   */
  changePassword(userId: string, newPassword: string): Promise<void>
  /**
   * The second factors of a user, and how many recovery codes they have left. Empty where the option `factors` is not
   * set.
   */
  factors(userId: string): Promise<{ factors: UserFactor[]; recoveryCodesLeft: number }>
  /**
   * Removes one of them, and tells the user. The recovery codes go with the last one. `false` where the user has no
   * such factor. `by`: who of yours does it, for the event `factor_removed`.
   */
  removeFactor(userId: string, factorId: string, options?: { by?: string | undefined }): Promise<boolean>
  /**
   * Removes all second factors of a user who has lost them, with their recovery codes, ends all their sessions, and
   * tells who had one. Afterwards their password alone signs in, so make sure by means of your own that it is them who
   * ask. Resolves to how many factors there were. `by`: who of yours did it, such as the id of an admin; it is the
   * field `admin` of the event `factor_removed`. A TypeError for what can't be that.
   * @throws OAuthError `invalid_grant` where there is no such user; `temporarily_unavailable`
   */
  resetFactors(userId: string, options?: { by?: string | undefined }): Promise<number>
  /**
   * Makes a link by which a user without a second factor sets one up, such as somebody who has lost all of theirs,
   * after `resetFactors`: to be handed to them by you, by the means by which you have made sure that it is them.
   * Nothing is sent, and nobody at your desk sees or sets a key, a code or a password. The link is good for 24 hours
   * and for one press of the button of its page; opening it uses nothing up. It signs nobody in and is no factor: in
   * that browser, for an hour, the person signs in as ever and is led to set one up before there is a session, whether
   * `mfa.required` asks for one or not, and even where the address of the account is not confirmed. Another link,
   * another password and any change of their factors end it.
   * @throws OAuthError `invalid_grant` where there is no such user; `invalid_request` where they are disabled, or have
   * a second factor; `not_found` where `mfa.methods` has nothing that can be set up; `temporarily_unavailable`.
   * TypeError without `factors`, or where `pages` is `false`
   */
  startEnrolment(userId: string): Promise<EnrolmentLink>
  /**
   * Adds the authenticator app that a user has set up with another system, for a move from there. `secret` is its key,
   * as base32 or as bytes: 10 to 128 of them, of an app of the usual kind (`algorithm` `SHA1`, six `digits`, a `period`
   * of 30 seconds), for of another kind every code would be wrong. The next code of the app is taken, whether it was
   * used there or not. No recovery codes are made and nobody is told; the first second factor of a user ends their
   * sign-ins here. `already_added`: they have an app with this key, so an import can be run again, and twice at once.
   * @throws OAuthError `invalid_grant` where there is no such user; `invalid_request` where the key can't be one,
   * `name` is no string, or the app is said to be of another kind; `factor_limit` after three apps;
   * `temporarily_unavailable`. TypeError without `factors`
   */
  importTotp(userId: string, app: ImportedTotp): Promise<'added' | 'already_added'>
  /**
   * Has the user asked for the second factor again in every browser that was to be remembered (`mfa.rememberDevice`).
   * Sign-ins go on.
   * @throws OAuthError `invalid_grant` where there is no such user; `temporarily_unavailable`
   */
  forgetDevices(userId: string): Promise<void>
  /**
   * Removes the account for good and tells the user: their sessions and tokens end first, then what they allowed to
   * clients and their open links, then `users.remove` is called, and last their second factors go. A call that failed
   * on its way can be repeated. `false`: there was no such user; what a former call may have left of them has ended.
   * `by`: as for `resetFactors`, in the event `account_removed`.
   * @throws OAuthError `server_error` where the user store has no `remove`; `temporarily_unavailable`
   */
  deleteUser(userId: string, options?: { by?: string | undefined }): Promise<boolean>
  /**
   * Sends the user a reset message, in the language of their claim `locale`. Rejects where there is no such user or no
   * `sendMessage`.
   */
  startPasswordReset(userId: string): Promise<void>
  /**
   * The connections that are on, for a sign-in page of the host's own: each a link that begins the sign-in, and goes on
   * to where the request's own query leads (`return_to`, as the sign-in page was given it). A link of a page of this
   * origin: from anywhere else it shows the sign-in page first.
   */
  connections(request: FastifyRequest): Promise<ConnectionLink[]>
  /**
   * How the service is, for a readiness route: never rejects, answers within about a second whatever the stores do, and
   * tells nothing that strangers should not know. Calls at once share one look.
   */
  health(): Promise<Health>
  on: Events['on']
  off: Events['off']
}
