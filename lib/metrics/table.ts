import type { UpstreamFailure } from '../errors.ts'
import type { AuthorityEvents, ClientFailure, LoginFailure } from '../events.ts'
import type { RuleName } from '../limits/rules.ts'
import { GRANT_TYPES } from '../ports/client-store.ts'
import type { MessageKind } from '../ports/message.ts'
import { STORE_OPERATIONS } from '../ports/tracing.ts'
import type { AuthenticationMethod } from '../protocol/authentication.ts'
import { JWS_ALGS } from '../protocol/jws.ts'

export type Labels = Record<string, string>
export interface Metric {
  description: string
  /** Every label with all its values. Any other value counts as `other`. */
  labels: Readonly<Record<string, readonly string[]>>
  /** The upper bounds of a histogram. Left out: a counter or a gauge. */
  buckets?: number[]
  /** Values are seconds. */
  unit?: 's'
  /** The value is read at each collection. */
  gauge?: true
}

/** The buckets that OpenTelemetry recommends for durations of requests. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const OUTCOMES = ['success', 'failure'] as const

/** Lists the members of a union type. The compiler rejects a list that lacks a member. */
const words = <Word extends string>(all: Record<Word, 1>): readonly string[] => Object.keys(all)

const FAILURES = words<LoginFailure>({
  unknown_user: 1,
  wrong_password: 1,
  disabled: 1,
  no_password: 1,
  email_not_verified: 1,
  unusable_hash: 1,
  changed_meanwhile: 1,
  connection_only: 1,
  unknown_passkey: 1,
  passkey_refused: 1,
  wrong_code: 1
})
const CLIENT_FAILURES = words<ClientFailure>({
  unknown_client: 1,
  no_secret: 1,
  wrong_secret: 1,
  wrong_method: 1,
  wrong_signature: 1,
  replayed: 1,
  malformed_credentials: 1
})
const KINDS = words<MessageKind>({
  password_reset: 1,
  verify_email: 1,
  already_registered: 1,
  email_change: 1,
  invitation: 1,
  password_changed: 1,
  new_sign_in: 1,
  email_change_requested: 1,
  email_changed: 1,
  email_change_refused: 1,
  impersonated: 1,
  account_removed: 1,
  identity_linked: 1,
  identity_unlinked: 1,
  second_factor_failed: 1,
  factor_added: 1,
  factor_disabled: 1,
  factor_removed: 1,
  recovery_code_used: 1,
  passkey_counter_regressed: 1,
  sign_in_code: 1
})
const CHANGED_BY = words<AuthorityEvents['password_changed']['by']>({
  change: 1,
  reset: 1,
  invitation: 1,
  disowned: 1,
  email_sign_in: 1,
  identity_linked: 1
})
const ENDED_BY = words<AuthorityEvents['logged_out']['by']>({
  user: 1,
  host: 1,
  password_changed: 1,
  disabled: 1,
  code_reused: 1,
  undone: 1,
  account_removed: 1,
  email_changed: 1,
  identity_linked: 1,
  factors_changed: 1,
  admin: 1
})
const REVOKED_BY = words<AuthorityEvents['consent_revoked']['by']>({
  user: 1,
  host: 1,
  password_changed: 1,
  account_removed: 1
})
const LINKED_BY = words<AuthorityEvents['identity_linked']['by']>({ user: 1, host: 1 })
const UNLINKED_BY = words<AuthorityEvents['identity_unlinked']['by']>({
  user: 1,
  host: 1,
  password_reset: 1,
  disowned: 1,
  email_sign_in: 1,
  email_changed: 1,
  identity_linked: 1
})
const RULES = words<RuleName>({
  login: 1,
  account: 1,
  register: 1,
  passwordReset: 1,
  secondFactor: 1,
  refresh: 1,
  connect: 1,
  emailCode: 1,
  device: 1,
  clientMetadata: 1,
  admin: 1
})
const STORES = Object.keys(STORE_OPERATIONS)
const UPSTREAM_FAILURES = words<UpstreamFailure>({
  denied: 1,
  mismatch: 1,
  expired: 1,
  exchange: 1,
  id_token: 1,
  userinfo: 1,
  email: 1,
  disabled: 1,
  closed: 1,
  taken: 1,
  other_way: 1,
  outage: 1
})
/**
 * The kind of second factor of each method, as in the event `second_factor_failed`. A passkey has one kind with and
 * without user verification. `other`: the method is not reported as a second factor.
 */
export const SECOND_FACTOR_KINDS: Readonly<
  Record<AuthenticationMethod, AuthorityEvents['second_factor_failed']['kind'] | 'other'>
> = {
  otp: 'totp',
  recovery_code: 'recovery_code',
  passkey: 'passkey',
  security_key: 'passkey',
  password: 'other',
  email: 'other',
  connection: 'other',
  host: 'other'
}
const OPERATIONS = [...new Set(Object.values(STORE_OPERATIONS).flat())]

/**
 * All metrics, by OpenTelemetry name. For Prometheus, dots become underscores, metrics in seconds get the suffix
 * `_seconds`, and counters get `_total`.
 */
export const METRICS = {
  'authority.authentication': {
    description: 'Passwords and passkeys that were tried, and sign-ins through connections that succeeded.',
    labels: { outcome: ['success', 'failure'], 'error.type': FAILURES }
  },
  'authority.second_factor': {
    description: 'Second factors that were asked for, and given rightly or wrongly.',
    labels: { outcome: ['required', 'passed', 'failed'], kind: ['none', ...Object.values(SECOND_FACTOR_KINDS)] }
  },
  'authority.new_sign_in': { description: 'Sessions in browsers that were not known for their account.', labels: {} },
  'authority.connection.failed': {
    description: 'Sign-ins through connections that came to nothing.',
    labels: { 'error.type': UPSTREAM_FAILURES }
  },
  'authority.connection.link_required': {
    description: 'Sign-ins through connections by people whose address an account has already.',
    labels: {}
  },
  'authority.client_authentication.failed': {
    description: 'Clients that did not prove themselves.',
    labels: { 'error.type': CLIENT_FAILURES }
  },
  'authority.account.registered': { description: 'Accounts that were created.', labels: {} },
  'authority.account.removed': { description: 'Accounts that were removed.', labels: {} },
  'authority.identity.linked': {
    description: 'Accounts at other providers that were connected to users.',
    labels: { by: LINKED_BY }
  },
  'authority.identity.unlinked': {
    description: 'Accounts at other providers that were disconnected from users.',
    labels: { by: UNLINKED_BY }
  },
  'authority.profile.changed': { description: 'Profiles that were changed.', labels: {} },
  'authority.email.change_requested': { description: 'New email addresses asked for.', labels: {} },
  'authority.email.changed': { description: 'Email addresses that were changed.', labels: {} },
  'authority.email.verified': { description: 'Email addresses that were confirmed.', labels: {} },
  'authority.password_reset.requested': { description: 'Password resets asked for, for users who exist.', labels: {} },
  'authority.password.changed': { description: 'New passwords.', labels: { by: CHANGED_BY } },
  'authority.token.issued': {
    description: 'First tokens of a device, an app or a client.',
    labels: { grant_type: [...GRANT_TYPES, 'passkey', 'mfa', 'token_exchange', 'host'] }
  },
  'authority.token.refreshed': { description: 'Refreshes.', labels: { rotated: ['true', 'false'] } },
  'authority.refresh_token.reused': {
    description: 'Refresh tokens that came back after they were replaced.',
    labels: {}
  },
  'authority.session.ended': { description: 'Sessions that ended before their time.', labels: { by: ENDED_BY } },
  'authority.consent.granted': { description: 'Consents given.', labels: {} },
  'authority.consent.revoked': { description: 'Consents taken back.', labels: { by: REVOKED_BY } },
  'authority.message': {
    description: 'Messages handed to sendMessage.',
    labels: { kind: KINDS, outcome: ['sent', 'failed'] }
  },
  'authority.message.attempts': {
    description: 'How many attempts a message took.',
    labels: { kind: KINDS, outcome: ['sent', 'failed'] },
    buckets: [0, 1, 2, 3, 4]
  },
  'authority.key.created': { description: 'Signing keys that this instance made.', labels: { alg: JWS_ALGS } },
  'authority.key.retired': { description: 'Signing keys that were removed.', labels: { alg: JWS_ALGS } },
  'authority.rate_limit.refused': { description: 'Requests that a limit refused.', labels: { rule: RULES } },
  'authority.password_hash.overloaded': { description: 'Overloads of the hashing queue.', labels: {} },
  'authority.store.degraded': {
    description: 'Outages of a store, at their beginning.',
    labels: { store: ['state', 'rate limits'] }
  },
  'authority.password_hash.duration': {
    description: 'How long a password hash ran.',
    labels: { outcome: OUTCOMES },
    buckets: SECONDS,
    unit: 's'
  },
  'authority.password_hash.wait': {
    description: 'How long a password waited for its turn to be hashed.',
    labels: { outcome: OUTCOMES },
    buckets: SECONDS,
    unit: 's'
  },
  'authority.store.duration': {
    description: 'How long a call of a store took.',
    labels: { store: STORES, operation: OPERATIONS, outcome: OUTCOMES },
    buckets: SECONDS,
    unit: 's'
  },
  'authority.token.duration': {
    description: 'How long the token endpoint took, by grant.',
    labels: {
      grant_type: [...GRANT_TYPES, 'urn:fastify-authority:grant-type:mfa', 'urn:fastify-authority:grant-type:passkey'],
      outcome: OUTCOMES
    },
    buckets: SECONDS,
    unit: 's'
  },
  'authority.password_hash.queue': {
    description: 'Passwords that are hashed now, and that wait.',
    labels: { state: ['running', 'waiting'] },
    gauge: true
  },
  'authority.store.available': {
    description: '1 where the store answers, 0 where it does not.',
    labels: { store: ['state', 'rate limits'] },
    gauge: true
  },
  'authority.key.age': {
    description: 'The age of the current signing key, if this service makes its own keys.',
    labels: { alg: JWS_ALGS },
    unit: 's',
    gauge: true
  }
} as const satisfies Record<string, Metric>

export type MetricName = keyof typeof METRICS
