import type { UpstreamFailure } from './errors.ts'
import type { Actor, ClientFailure, Origin } from './events/causes.ts'

export { NO_REQUEST } from './events/causes.ts'
export type { Actor, ClientFailure, Origin } from './events/causes.ts'

/** Why a sign-in failed: for the log and for handlers, never for the wire. */
export type LoginFailure =
  | 'unknown_user'
  | 'wrong_password'
  | 'disabled'
  | 'no_password'
  | 'email_not_verified'
  | 'unusable_hash'
  | 'changed_meanwhile'
  | 'connection_only'
  | 'unknown_passkey'
  | 'passkey_refused'
  | 'wrong_code'

/** The first factor of a sign-in. */
export type FirstFactorKind = 'password' | 'connection' | 'passkey' | 'email'

/** The facts of each event. None of them is a password, a token, a code or a digest of one. */
export interface EventFacts {
  /**
   * `sid`: the sign-in that began by it, a token family or a browser session. `method`: the first factor; `methods`:
   * all that were proved.
   */
  authenticated: {
    userId: string
    sid: string
    clientId: string | null
    method: FirstFactorKind
    methods: string[]
    connection?: string
  }
  /** `sid`: of who is signed in and gave a wrong current password; else `null`. */
  login_failed: {
    reason: LoginFailure
    userId?: string
    username?: string
    sid: string | null
    clientId: string | null
  }
  /** `clientId`: of a known client, because anything may be sent. `method`: as in metadata. */
  client_authentication_failed: {
    reason: ClientFailure
    clientId: string | null
    method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  }
  /** The first factor was right, and the second is asked for: nobody is signed in yet. */
  second_factor_required: { userId: string; clientId: string | null }
  /**
   * The first factor was right, and by `mfa.required` or a link of `startEnrolment` a second has to be set up: nobody
   * is signed in yet.
   */
  enrolment_required: { userId: string; clientId: string | null }
  /** By `app.authority.startEnrolment`. */
  enrolment_link_made: { userId: string }
  /** A person pressed the button of the link's page. */
  enrolment_link_used: { userId: string }
  /** `replayed`: the code was used before. `disabled`: the user has no app any more that works. */
  second_factor_failed: {
    userId: string
    kind: 'totp' | 'recovery_code' | 'passkey'
    reason: 'wrong' | 'replayed' | 'disabled'
    clientId: string | null
  }
  /** `sid`: the sign-in that added it; `null` where it was added before the sign-in that had to have it. */
  factor_added: { userId: string; factorId: string; kind: 'totp' | 'passkey'; sid: string | null }
  /** `mailbox`: a person proved or disowned the address. The factor was set up before that. */
  factor_removed: {
    userId: string
    factorId: string | null
    kind: 'totp' | 'passkey' | null
    admin?: string
    by: 'user' | 'host' | 'mailbox'
  }
  /** After a hundred wrong codes in a row. */
  factor_disabled: { userId: string; kind: 'totp' }
  factor_replayed: { userId: string; factorId: string }
  /** The counter of a passkey did not grow, which a copy may cause. `refused`: the sign-in was refused. */
  passkey_counter_regressed: { userId: string; factorId: string; refused: boolean }
  /** The user turned two-step sign-in on or off. `sid`: the sign-in that did. */
  two_step_changed: { userId: string; sid: string; on: boolean }
  recovery_code_used: { userId: string; left: number }
  /** `sid`: the sign-in that made the new ones. */
  recovery_codes_replaced: { userId: string; sid: string }
  /** This browser is not asked for the second factor any more. `sid`: the sign-in in which the user chose that. */
  device_remembered: { userId: string; sid: string }
  /** A signed-in user proved their identity again. The session goes on, under a new secret, with these proofs. */
  step_up: { userId: string; sid: string; methods: string[] }
  /** A session began in a browser in which the account never had one, with the password of now. `sid`: that session. */
  new_sign_in: { userId: string; sid: string; reasons: Array<'unknown_browser'> }
  /** Every browser of the user is asked for the second factor again. */
  devices_forgotten: { userId: string; by: 'user' | 'host' }
  /** `sid`: the sign-in that made the key; `null`: the host did. */
  api_key_created: { userId: string; keyId: string; sid: string | null }
  api_key_revoked: { userId: string; keyId: string; by: 'user' | 'host' | 'account_removed' | 'mailbox' }
  registered: { userId: string; username: string }
  /** A sign-in through this connection came to nothing. */
  connection_failed: { connection: string; reason: UpstreamFailure }
  /** A person of this connection has the address of `userId`, and has to sign in as that user to link the two. */
  link_required: { connection: string; userId: string }
  /** `userId` and `sid` are `null` where a client got a token of its own (client credentials): no user, no session. */
  token_issued: { userId: string | null; sid: string | null; clientId: string | null; scope: string; grantType: string }
  token_refreshed: { userId: string; sid: string; clientId: string | null; rotated: boolean }
  refresh_token_reused: { userId: string; sid: string; clientId: string | null }
  password_reset_requested: { userId: string }
  /** `sid`: the sign-in that changed it, which goes on; `null` where it was reset, or changed by the host. */
  password_changed: {
    userId: string
    sid: string | null
    by: 'change' | 'reset' | 'invitation' | 'disowned' | 'email_sign_in' | 'identity_linked'
  }
  email_verified: { userId: string }
  /** `sid`: the sign-in that asked. */
  email_change_requested: { userId: string; sid: string }
  email_changed: { userId: string }
  /** `sid`: the sign-in that changed it. */
  profile_changed: { userId: string; sid: string; fields: string[] }
  /** A sign-in through this connection now leads to the user. */
  identity_linked: { userId: string; connection: string; by: 'user' | 'host' }
  /**
   * All causes but `user` and `host` end a link that was made before anybody had proved the address of the account.
   */
  identity_unlinked: {
    userId: string
    connection: string
    by: 'user' | 'host' | 'password_reset' | 'disowned' | 'email_sign_in' | 'email_changed' | 'identity_linked'
  }
  /** `sid`: the sign-in that asked. */
  account_removed: { userId: string; sid: string | null; admin?: string }
  user_created: { userId: string; actor: Actor; reason?: string }
  user_updated: { userId: string; actor: Actor; reason?: string; fields: string[] }
  user_disabled: { userId: string; actor: Actor; reason?: string }
  user_enabled: { userId: string; actor: Actor; reason?: string }
  user_invited: { userId: string; actor: Actor; reason?: string }
  /** `connection`: the one that the person accepted by; `null`: they chose a password. */
  invitation_accepted: { userId: string; connection: string | null }
  password_reset_required: { userId: string; actor: Actor; reason?: string }
  /** An access token was made with which `actor` acts in the name of the user. */
  impersonated: { userId: string; actor: Actor; reason: string; scope: string }
  logged_out: {
    userId: string
    sids: string[]
    by:
      | 'user'
      | 'host'
      | 'password_changed'
      | 'disabled'
      | 'code_reused'
      | 'undone'
      | 'account_removed'
      | 'email_changed'
      | 'identity_linked'
      | 'factors_changed'
      | 'admin'
  }
  /** `sid`: the browser session in which the person allowed it. `scope`: all that the client may now do. */
  consent_granted: { userId: string; sid: string; clientId: string; scope: string }
  /** `sid`: the browser session in which the person took it back, where the person did (`user`). */
  consent_revoked: {
    userId: string
    sid: string | null
    clientId: string
    by: 'user' | 'host' | 'password_changed' | 'account_removed'
  }
  /** `sid`: the browser session. */
  device_authorized: { userId: string; sid: string; clientId: string; scope: string }
  /** `attempts`: at which one. */
  message_sent: { kind: string; userId: string; attempts: number }
  /** `attempts`: how many there were; 0 where there was no room for the message. */
  message_failed: { kind: string; userId: string; attempts: number }
  /** `signsFrom`: as `time`. It is published from now on. */
  key_created: { kid: string; alg: string; signsFrom: string }
  key_retired: { kid: string; alg: string }
  rate_limited: { rule: string; max: number; windowMs: number; retryAfter: number }
  hash_queue_full: { running: number; waiting: number; maxQueue: number }
  store_degraded: { store: string; error: string }
  /** `waiting`: the entries that can not be written now. */
  audit_degraded: { waiting: number }
}

/** Every event with its payload. */
export type AuthorityEvents = {
  [Name in keyof EventFacts]: EventFacts[Name] &
    Origin & {
      /** When it happened, as RFC 3339 writes it, in UTC: `2026-01-01T00:00:00.000Z`. */
      time: string
    }
}

export type AuthorityEventName = keyof AuthorityEvents
export type AuthorityEventHandler<Name extends AuthorityEventName> = (
  payload: AuthorityEvents[Name]
) => void | Promise<void>

export const EVENT_NAMES: readonly AuthorityEventName[] = [
  'authenticated',
  'login_failed',
  'second_factor_required',
  'enrolment_required',
  'enrolment_link_made',
  'enrolment_link_used',
  'second_factor_failed',
  'factor_added',
  'factor_removed',
  'factor_disabled',
  'factor_replayed',
  'passkey_counter_regressed',
  'two_step_changed',
  'recovery_code_used',
  'recovery_codes_replaced',
  'device_remembered',
  'devices_forgotten',
  'new_sign_in',
  'step_up',
  'client_authentication_failed',
  'api_key_created',
  'api_key_revoked',
  'registered',
  'connection_failed',
  'link_required',
  'token_issued',
  'token_refreshed',
  'refresh_token_reused',
  'password_reset_requested',
  'password_changed',
  'email_verified',
  'email_change_requested',
  'email_changed',
  'profile_changed',
  'identity_linked',
  'identity_unlinked',
  'account_removed',
  'user_created',
  'user_updated',
  'user_disabled',
  'user_enabled',
  'user_invited',
  'impersonated',
  'invitation_accepted',
  'password_reset_required',
  'logged_out',
  'consent_granted',
  'consent_revoked',
  'device_authorized',
  'message_sent',
  'message_failed',
  'key_created',
  'key_retired',
  'rate_limited',
  'hash_queue_full',
  'store_degraded',
  'audit_degraded'
]

export interface Events {
  /** Adds the time. `origin` has to be said each time, so that no event comes without the id of its request. */
  emit<Name extends AuthorityEventName>(name: Name, facts: EventFacts[Name], origin: Origin): void
  on<Name extends AuthorityEventName>(name: Name, handler: AuthorityEventHandler<Name>): void
  off<Name extends AuthorityEventName>(name: Name, handler: AuthorityEventHandler<Name>): void
}
