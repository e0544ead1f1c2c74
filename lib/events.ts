import type { UpstreamFailure } from './errors.ts'
import type { Actor, ClientFailure, Origin } from './events/causes.ts'

export { NO_REQUEST } from './events/causes.ts'
export type { Actor, ClientFailure, Origin } from './events/causes.ts'

/** Why a sign-in failed: for the log and for handlers. The client learns only `email_not_verified`. */
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
   * `sid`: the session that began: a refresh token family or a browser session. `method`: the first factor. `methods`:
   * all proved methods.
   */
  authenticated: {
    userId: string
    sid: string
    clientId: string | null
    method: FirstFactorKind
    methods: string[]
    connection?: string
  }
  /** `sid`: the session of a signed-in user who gave a wrong current password, otherwise `null`. */
  login_failed: {
    reason: LoginFailure
    userId?: string
    username?: string
    sid: string | null
    clientId: string | null
  }
  /**
   * `clientId`: `null` for an unknown client, because a stranger can send any text. `method`: as in the server
   * metadata.
   */
  client_authentication_failed: {
    reason: ClientFailure
    clientId: string | null
    method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  }
  /** The first factor was right, and the user is asked for the second. Nobody is signed in yet. */
  second_factor_required: { userId: string; clientId: string | null }
  /**
   * The first factor was right, and the user must set up a second one first, because of `mfa.required` or a link of
   * `startEnrolment`. Nobody is signed in yet.
   */
  enrolment_required: { userId: string; clientId: string | null }
  /** `app.authority.startEnrolment` made a link. */
  enrolment_link_made: { userId: string }
  /** A person pressed the button on the page of an enrolment link. */
  enrolment_link_used: { userId: string }
  /** `replayed`: the code was used before. `disabled`: all authenticator apps of the user are disabled. */
  second_factor_failed: {
    userId: string
    kind: 'totp' | 'recovery_code' | 'passkey'
    reason: 'wrong' | 'replayed' | 'disabled'
    clientId: string | null
  }
  /**
   * `sid`: the session in which the user added the factor. `null`: no session had begun yet (`enrolment_required`), or
   * the host imported the factor.
   */
  factor_added: { userId: string; factorId: string; kind: 'totp' | 'passkey'; sid: string | null }
  /**
   * `mailbox`: the reader of the mailbox proved or disowned the address, or undid a change by the link in a message, or
   * a connection with `enforce` took the account over. `factorId` and `kind` are `null` if `resetFactors` removed all
   * factors.
   */
  factor_removed: {
    userId: string
    factorId: string | null
    kind: 'totp' | 'passkey' | null
    admin?: string
    by: 'user' | 'host' | 'mailbox'
  }
  /**
   * An authenticator app was disabled after a hundred wrong codes in a row from unknown browsers. It still works in a
   * browser in which the user gave a second factor since password or factors changed.
   */
  factor_disabled: { userId: string; kind: 'totp' }
  factor_replayed: { userId: string; factorId: string }
  /** The counter of a passkey did not grow, maybe due to a copy. `refused`: the sign-in was refused. */
  passkey_counter_regressed: { userId: string; factorId: string; refused: boolean }
  /** The user turned two-step sign-in on or off in the session `sid`. */
  two_step_changed: { userId: string; sid: string; on: boolean }
  recovery_code_used: { userId: string; left: number }
  /** `sid`: the session in which the user made new codes. */
  recovery_codes_replaced: { userId: string; sid: string }
  /** In the session `sid`, the user chose that the browser is not asked for the second factor for a time. */
  device_remembered: { userId: string; sid: string }
  /**
   * A signed-in user proved their identity again. `sid`: the session with these `methods`, a new session if another tab
   * renewed the former one.
   */
  step_up: { userId: string; sid: string; methods: string[] }
  /** A session, `sid`, began in a browser without a cookie of an earlier one of the user with the present password. */
  new_sign_in: { userId: string; sid: string; reasons: Array<'unknown_browser'> }
  /** Every browser of the user is asked for the second factor again. */
  devices_forgotten: { userId: string; by: 'user' | 'host' }
  /** `sid`: the session in which the user made the key. `null`: the host made it. */
  api_key_created: { userId: string; keyId: string; sid: string | null }
  api_key_revoked: { userId: string; keyId: string; by: 'user' | 'host' | 'account_removed' | 'mailbox' }
  registered: { userId: string; username: string }
  /** A sign-in through this connection failed. */
  connection_failed: { connection: string; reason: UpstreamFailure }
  /**
   * A sign-in through this connection has the email address of the user `userId`. To link the two, the person must sign
   * in as that user.
   */
  link_required: { connection: string; userId: string }
  /** `userId` and `sid` are `null` if a client got a token of its own (client credentials): no user, no session. */
  token_issued: { userId: string | null; sid: string | null; clientId: string | null; scope: string; grantType: string }
  token_refreshed: { userId: string; sid: string; clientId: string | null; rotated: boolean }
  refresh_token_reused: { userId: string; sid: string; clientId: string | null }
  password_reset_requested: { userId: string }
  /** `sid`: the session in which the user changed the password, which continues. `null` in all other cases. */
  password_changed: {
    userId: string
    sid: string | null
    by: 'change' | 'reset' | 'invitation' | 'disowned' | 'email_sign_in' | 'identity_linked'
  }
  email_verified: { userId: string }
  /** `sid`: the session in which the user asked. */
  email_change_requested: { userId: string; sid: string }
  email_changed: { userId: string }
  /** `sid`: the session in which the user changed the profile. */
  profile_changed: { userId: string; sid: string; fields: string[] }
  /** A sign-in through this connection now leads to the user. */
  identity_linked: { userId: string; connection: string; by: 'user' | 'host' }
  /**
   * All causes but `user` and `host` end links that were made before the last proof of the account's address, or while
   * nobody had proved it. `user`: also a takeover by `enforce`.
   */
  identity_unlinked: {
    userId: string
    connection: string
    by: 'user' | 'host' | 'password_reset' | 'disowned' | 'email_sign_in' | 'email_changed' | 'identity_linked'
  }
  /** `sid`: the session in which the user asked. `null`: the host removed the account. */
  account_removed: { userId: string; sid: string | null; admin?: string }
  user_created: { userId: string; actor: Actor; reason?: string }
  user_updated: { userId: string; actor: Actor; reason?: string; fields: string[] }
  user_disabled: { userId: string; actor: Actor; reason?: string }
  user_enabled: { userId: string; actor: Actor; reason?: string }
  user_invited: { userId: string; actor: Actor; reason?: string }
  /** `connection`: the connection through which the user accepted. `null`: the user chose a password. */
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
  /** `sid`: the browser session in which the user gave the consent. `scope`: the scopes of the consent. */
  consent_granted: { userId: string; sid: string; clientId: string; scope: string }
  /** `sid`: the browser session in which the user revoked the consent. `null` unless `by` is `user`. */
  consent_revoked: {
    userId: string
    sid: string | null
    clientId: string
    by: 'user' | 'host' | 'password_changed' | 'account_removed'
  }
  /** `sid`: the browser session in which the user allowed the device. */
  device_authorized: { userId: string; sid: string; clientId: string; scope: string }
  /** `attempts`: the number of tries. */
  message_sent: { kind: string; userId: string; attempts: number }
  /**
   * `attempts`: the number of tries. 0: there was no room in the queue. Of the messages dropped in one overload, only
   * the first has this event.
   */
  message_failed: { kind: string; userId: string; attempts: number }
  /** The key is published from now on. `signsFrom`: the time from which it signs, in RFC 3339. */
  key_created: { kid: string; alg: string; signsFrom: string }
  key_retired: { kid: string; alg: string }
  rate_limited: { rule: string; max: number; windowMs: number; retryAfter: number }
  hash_queue_full: { running: number; waiting: number; maxQueue: number }
  store_degraded: { store: string; error: string }
  /** `waiting`: the number of entries that cannot be written now. */
  audit_degraded: { waiting: number }
}

/** Every event with its payload. */
export type AuthorityEvents = {
  [Name in keyof EventFacts]: EventFacts[Name] &
    Origin & {
      /** The time of the event as RFC 3339 writes it, in UTC: `2026-01-01T00:00:00.000Z`. */
      time: string
    }
}

export type AuthorityEventName = keyof AuthorityEvents
export type AuthorityEventHandler<Name extends AuthorityEventName> = (
  payload: AuthorityEvents[Name]
) => void | Promise<void>

/** The actions in the audit log that are no event. */
export const AUDIT_ACTS = [
  'audit_gap',
  'audit_pruned',
  'audit_read',
  'keys_rotated',
  'sessions_ended',
  'started',
  'user_exported',
  'users_imported'
] as const

export type AuditAction = AuthorityEventName | (typeof AUDIT_ACTS)[number]

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
  /** Emits an event with the present time. `origin` is required, so that no caller forgets the id of the request. */
  emit<Name extends AuthorityEventName>(name: Name, facts: EventFacts[Name], origin: Origin): void
  on<Name extends AuthorityEventName>(name: Name, handler: AuthorityEventHandler<Name>): void
  off<Name extends AuthorityEventName>(name: Name, handler: AuthorityEventHandler<Name>): void
}
