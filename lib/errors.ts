/** Errors: `error` and `error_description` go on the wire, `detail` and `cause` into the log. */

/**
 * The status of each code unless the error sets another. @see RFC 6749 §4.1.2.1, §5.2, RFC 6750 §3.1, OpenID Connect
 * Core 1.0 §3.1.2.6
 */
const STATUS = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  /** RFC 8707 §2 */
  invalid_target: 400,
  invalid_dpop_proof: 400,
  /** RFC 9449 §8, §9 */
  use_dpop_nonce: 400,
  /** RFC 7591 §3.2.2 */
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  insufficient_user_authentication: 401,
  access_denied: 403,
  /** RFC 8628 §3.5 */
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  unsupported_response_type: 400,
  login_required: 400,
  consent_required: 400,
  interaction_required: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  /** RFC 9101 §6 */
  invalid_request_uri: 400,
  registration_not_supported: 400,
  unmet_authentication_requirements: 400,
  invalid_password: 400,
  mfa_required: 400,
  mfa_enrollment_required: 400,
  invalid_code: 400,
  invalid_credential: 400,
  duplicate_factor: 409,
  factor_limit: 409,
  api_key_limit: 409,
  last_factor: 409,
  username_taken: 409,
  last_sign_in_method: 409,
  connection_denied: 400,
  connection_failed: 502,
  too_many_requests: 429,
  conflict: 409,
  changed_meanwhile: 412,
  not_found: 404,
  server_error: 500,
  temporarily_unavailable: 503
}

export type OAuthErrorCode = keyof typeof STATUS

/** Why a new password is refused. */
export type PasswordRefusalReason =
  | 'too_long'
  | 'not_unicode'
  | 'too_short'
  | 'too_common'
  | 'context_word'
  | 'breached'

/** The reason that a page translates for the reader. Only `email_not_verified` is also part of the wire form. */
export type OAuthErrorReason =
  | PasswordRefusalReason
  /** About a field of a form. */
  | 'characters'
  | 'username_form'
  | 'email_form'
  | 'email_differs'
  | 'email_same'
  | 'required'
  /** About a rule of the host's schema: `limit` is its number, or an example. */
  | `value_${'short' | 'long' | 'min' | 'max' | 'above' | 'below' | 'multiple'}`
  | `value_${'number' | 'integer' | 'choice' | 'form'}`
  /** Scopes of several APIs were chosen for one API key. */
  | 'one_api'
  | 'wrong_password'
  /** The request of the app, or the answer of a provider, is longer than cookies can carry. */
  | 'sign_in_too_long'
  /** A user with this email domain must sign in through a connection. */
  | 'connection_only'
  /** About a sign-in through a connection. */
  | `connection_${'again' | 'denied' | 'refused' | 'email' | 'closed' | 'taken'}`
  | `connection_${'other_way' | 'broken' | 'down' | 'stale'}`
  /** The password was right. Sent to the client too, as `error_reason`, so that it can tell the user. */
  | 'email_not_verified'
  /** About a second factor. */
  | 'code_form'
  | 'wrong_code'
  | 'used_code'
  | 'factor_disabled'
  | 'wrong_recovery_code'
  | 'passkey_refused'
  | 'unknown_passkey'
  | 'passkey_copied'
  | 'passkey_limit'
  | 'last_way_in'
  /** About an emailed code. */
  | `email_code_${'form' | 'wrong' | 'spent' | 'again' | 'refused'}`
  /** About the user code of a device. */
  | `device_code_${'form' | 'wrong'}`
  /** About a request that can't be answered by a redirect, or a form of another site. */
  | 'unknown_client'
  | 'redirect_uri_mismatch'
  | 'cross_site'
  | 'sign_in_too_weak'

export interface OAuthErrorOptions {
  statusCode?: number
  /** Default `FST_AUTHORITY_OAUTH`. A mistake of the host's has a code of its own. */
  code?: OAuthError['code']
  reason?: OAuthErrorReason
  /** The page that resolves the refusal: a path of this origin. */
  redirectTo?: string
  /** The field of the request. */
  field?: string
  limit?: number | string
  headers?: Record<string, string>
  /** Further members of the answer. */
  members?: Readonly<Record<string, unknown>>
  /** For the log only. Never a secret. */
  detail?: string
  /** The address that was sent and refused, for the page to show as text. */
  sent?: string | undefined
  cause?: unknown
  /** Omits the stack, because strangers can cause this error at will, and a stack costs more than the rest. */
  withoutStack?: boolean
}

/**
 * An error with a wire form. `message` is the `error_description`: printable ASCII, with `?` for a quote, a backslash
 * and any other character. @see RFC 6749 §5.2
 */
export class OAuthError extends Error {
  readonly code: 'FST_AUTHORITY_OAUTH' | 'FST_AUTHORITY_NO_GUARD'
  readonly error: OAuthErrorCode
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly members: Readonly<Record<string, unknown>>
  readonly detail: string | undefined
  readonly sent: string | undefined
  readonly reason: OAuthErrorReason | undefined
  readonly field: string | undefined
  readonly limit: number | string | undefined
  readonly redirectTo: string | undefined

  constructor(error: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    const message = description.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 500)
    // An error with a cause needs no stack of its own, because the cause has one.
    const spared = options.withoutStack === true || options.cause instanceof Error
    const { stackTraceLimit } = Error
    // Has no effect if a host has frozen the intrinsics, before or after us.
    if (spared) Reflect.set(Error, 'stackTraceLimit', 0)
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    if (spared) Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    this.name = 'OAuthError'
    this.code = options.code ?? 'FST_AUTHORITY_OAUTH'
    this.error = error
    this.statusCode = options.statusCode ?? STATUS[error]
    this.headers = options.headers ?? {}
    this.members = options.members ?? {}
    this.detail = options.detail
    this.sent = options.sent
    this.reason = options.reason
    this.field = options.field
    this.limit = options.limit
    this.redirectTo = options.redirectTo
  }
}

/** A method of the user store rejects with this error if another user has the username. */
export class UsernameTakenError extends Error {
  readonly code = 'FST_AUTHORITY_USERNAME_TAKEN'

  constructor(options?: ErrorOptions) {
    super('The username is taken.', options)
    this.name = 'UsernameTakenError'
  }
}

/** Compares codes, because a host's store may have another copy of the class. */
const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

export const isUsernameTaken = (error: unknown): boolean => hasCode(error, 'FST_AUTHORITY_USERNAME_TAKEN')

/** `UserStore.createWithIdentity` throws this if the identity is linked to a user already. */
export class IdentityTakenError extends Error {
  readonly code = 'FST_AUTHORITY_IDENTITY_TAKEN'

  constructor(options?: ErrorOptions) {
    super('The identity is linked to a user already.', options)
    this.name = 'IdentityTakenError'
  }
}

export const isIdentityTaken = (error: unknown): boolean => hasCode(error, 'FST_AUTHORITY_IDENTITY_TAKEN')

export interface Misfit {
  /** The option and the method, or the hook: `users.findById`, `rateLimit.key`. */
  source: string
  /** The field of the answer. Left out: the whole answer is wrong. */
  field?: string
  /** A part of a sentence with the kind of value and what the port takes. Never the value. */
  problem: string
}

/** A host's store or hook gave an answer that its port does not allow. Nothing of it is used, and no value is shown. */
export class MisfitError extends Error {
  readonly code: 'FST_AUTHORITY_STORE_MISFIT' | 'FST_AUTHORITY_HOOK_MISFIT'
  readonly source: string
  readonly field: string | null

  constructor(of: 'store' | 'hook', { source, field, problem }: Misfit) {
    super(`${source}: ${field ?? 'the answer'} is ${problem}.`)
    this.name = 'MisfitError'
    this.code = of === 'store' ? 'FST_AUTHORITY_STORE_MISFIT' : 'FST_AUTHORITY_HOOK_MISFIT'
    this.source = source
    this.field = field ?? null
  }
}

/**
 * Makes a `MisfitError`, which never shows the value. `instead`: the wrong name under which the answer has the field.
 */
export function misfit(
  of: 'store' | 'hook',
  {
    got,
    instead = null,
    takes,
    ...where
  }: Pick<Misfit, 'source' | 'field'> & { got: unknown; instead?: string | null; takes: string }
): MisfitError {
  const addition = instead === null ? '' : `, and there is ${instead}`
  return new MisfitError(of, { ...where, problem: `${kindOf(got)}${addition}; it takes ${takes}` })
}

/** The kind of a value in words, without the value. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (value === '') return 'an empty string'
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Date) return 'a Date'
  if (value instanceof Promise) return 'a Promise: await it first'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/**
 * The reason for a failed sign-in at another provider, for the log and handlers. `denied`: the person or the provider
 * said no. `mismatch`: the answer belongs to another sign-in or user, or comes late or twice. `expired`: the sign-in at
 * the provider is older than the request allows. `exchange`, `id_token`, `userinfo`: that answer was an error, or does
 * not fit. `email`: no address, or an organization that this connection does not accept. `disabled`: the connection or
 * account is disabled. `closed`: the connection registers nobody. `taken`: the identity belongs to another account.
 * `other_way`: an account here has the address, and the connection may not link it. `outage`: the provider can't be
 * reached, or took too long.
 */
export type UpstreamFailure =
  | 'denied'
  | 'mismatch'
  | 'expired'
  | 'exchange'
  | 'id_token'
  | 'userinfo'
  | 'email'
  | 'disabled'
  | 'closed'
  | 'taken'
  | 'other_way'
  | 'outage'

/**
 * A sign-in at another provider failed. The message contains no text of the provider or browser. The cause, for the
 * log, contains no such text but the issuer of an ID token.
 */
export class UpstreamError extends Error {
  readonly reason: UpstreamFailure

  constructor(reason: UpstreamFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UpstreamError'
    this.reason = reason
  }
}

/** A package that only some hosts need is not installed. */
export class MissingPackageError extends Error {
  readonly code = 'FST_AUTHORITY_PACKAGE_MISSING'

  constructor(packageName: string, why: string, cause: unknown) {
    super(`The package ${packageName} could not be loaded, and ${why}. Install it: npm install ${packageName}`, {
      cause
    })
    this.name = 'MissingPackageError'
  }
}

/** True for a `MisfitError` or its wire form: a mistake in the host's code, which rate limits count. */
export function isMisfit(error: unknown): boolean {
  return error instanceof MisfitError || (error instanceof OAuthError && error.cause instanceof MisfitError)
}

/** True for a mistake in our code or the host's, which no retry can fix. */
export function isBug(error: unknown): boolean {
  return (
    error instanceof TypeError ||
    error instanceof RangeError ||
    error instanceof ReferenceError ||
    error instanceof SyntaxError
  )
}

export type StartErrorCode =
  | 'FST_AUTHORITY_INVALID_OPTIONS'
  | 'FST_AUTHORITY_NAME_TAKEN'
  | 'FST_AUTHORITY_ROUTE_TAKEN'
  | 'FST_AUTHORITY_FOREIGN_STATE'

/** Stops the start. The message says what to set. */
export class StartError extends Error {
  readonly code: StartErrorCode

  constructor(code: StartErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartError'
    this.code = code
  }
}

/** A mistake in the options, which only a person can fix. */
export const invalidOptions = (message: string, cause?: unknown): StartError =>
  new StartError('FST_AUTHORITY_INVALID_OPTIONS', message, cause === undefined ? undefined : { cause })
