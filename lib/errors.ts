/**
 * The errors of the outside: what goes on the wire is `error` and `error_description`; what goes in the log is `detail` and
 * `cause`. Nothing else defines a wire error.
 */

export type OAuthErrorCode =
  | 'invalid_request' | 'invalid_client' | 'invalid_grant' | 'unauthorized_client' | 'unsupported_grant_type' | 'invalid_scope'
  | 'invalid_token' | 'insufficient_scope'
  | 'access_denied' | 'unsupported_response_type' | 'login_required' | 'consent_required'
  | 'request_not_supported' | 'request_uri_not_supported' | 'registration_not_supported' | 'unmet_authentication_requirements'
  | 'invalid_password' | 'username_taken' | 'too_many_requests'
  | 'not_found' | 'server_error' | 'temporarily_unavailable'

/** The status each code has unless the error says another. @see RFC 6749 §4.1.2.1, §5.2, RFC 6750 §3.1, OpenID Connect Core 1.0 §3.1.2.6 */
const STATUS: Record<OAuthErrorCode, number> = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  access_denied: 403,
  unsupported_response_type: 400,
  login_required: 400,
  consent_required: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  registration_not_supported: 400,
  unmet_authentication_requirements: 400,
  invalid_password: 400,
  username_taken: 409,
  too_many_requests: 429,
  not_found: 404,
  server_error: 500,
  temporarily_unavailable: 503
}

/** Why a new password is refused. */
export type PasswordRefusalReason = 'too_long' | 'not_unicode' | 'too_short' | 'too_common' | 'context_word' | 'breached'

/** What a page needs to say in the reader's language. It is no part of the wire form. */
export type OAuthErrorReason = PasswordRefusalReason
  /** Of a field of a form. */
  | 'characters' | 'username_form' | 'email_form' | 'email_differs' | 'required'
  /** Of an authorization request that can't be answered by a redirect, or of a form that another site posted. */
  | 'unknown_client' | 'redirect_uri_mismatch' | 'cross_site'

export interface OAuthErrorOptions {
  statusCode?: number
  reason?: OAuthErrorReason
  /** The field of the request that it is about. */
  field?: string
  headers?: Record<string, string>
  /** For the log only. Never a secret. */
  detail?: string
  cause?: unknown
  /** For what strangers can cause at will: to write down where it happened costs more than all the rest of a refusal, and nobody reads it. */
  withoutStack?: boolean
}

/**
 * An error with a wire form. `message` is the `error_description`: printable ASCII without quote or backslash, whatever it
 * was made from. @see RFC 6749 §5.2
 */
export class OAuthError extends Error {
  readonly code = 'FST_AUTHORITY_OAUTH'
  readonly error: OAuthErrorCode
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly detail: string | undefined
  readonly reason: OAuthErrorReason | undefined
  readonly field: string | undefined

  constructor (error: OAuthErrorCode, description: string, options: OAuthErrorOptions = {}) {
    const message = description.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 500)
    // What has a cause is told by the stack of that.
    const spared = options.withoutStack === true || options.cause instanceof Error
    const { stackTraceLimit } = Error
    // Does nothing where a host has frozen the intrinsics, be it after us.
    if (spared) Reflect.set(Error, 'stackTraceLimit', 0)
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    if (spared) Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    this.name = 'OAuthError'
    this.error = error
    this.statusCode = options.statusCode ?? STATUS[error]
    this.headers = options.headers ?? {}
    this.detail = options.detail
    this.reason = options.reason
    this.field = options.field
  }
}

/** `UserStore.create` throws this where the username exists. */
export class UsernameTakenError extends Error {
  readonly code = 'FST_AUTHORITY_USERNAME_TAKEN'

  constructor (options?: ErrorOptions) {
    super('The username is taken.', options)
    this.name = 'UsernameTakenError'
  }
}

export type StartErrorCode = 'FST_AUTHORITY_INVALID_OPTIONS' | 'FST_AUTHORITY_NAME_TAKEN'

/** Stops the start. The message says what to set. */
export class StartError extends Error {
  readonly code: StartErrorCode

  constructor (code: StartErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StartError'
    this.code = code
  }
}
