import type { OAuthError, OAuthErrorCode, OAuthErrorReason } from '../errors.ts'
import { type MessageKey, type Messages, durationOf, format, formatNumbers } from './texts.ts'
import type { PageError } from './common-model.ts'

const BY_CODE: Readonly<Record<OAuthErrorCode, MessageKey>> = {
  invalid_request: 'errorInvalidRequest',
  invalid_client: 'errorUnknownClient',
  invalid_grant: 'errorInvalidGrant',
  unauthorized_client: 'errorClientRequest',
  unsupported_grant_type: 'errorClientRequest',
  invalid_scope: 'errorClientRequest',
  invalid_target: 'errorClientRequest',
  invalid_dpop_proof: 'errorClientRequest',
  use_dpop_nonce: 'errorClientRequest',
  invalid_redirect_uri: 'errorClientRequest',
  invalid_client_metadata: 'errorClientRequest',
  invalid_token: 'errorInvalidToken',
  insufficient_scope: 'errorAccessDenied',
  insufficient_user_authentication: 'errorLoginRequired',
  access_denied: 'errorAccessDenied',
  authorization_pending: 'errorClientRequest',
  slow_down: 'errorClientRequest',
  expired_token: 'errorClientRequest',
  unsupported_response_type: 'errorClientRequest',
  login_required: 'errorLoginRequired',
  interaction_required: 'errorClientRequest',
  consent_required: 'errorClientRequest',
  request_not_supported: 'errorClientRequest',
  request_uri_not_supported: 'errorClientRequest',
  invalid_request_uri: 'errorRequestExpired',
  registration_not_supported: 'errorClientRequest',
  unmet_authentication_requirements: 'errorClientRequest',
  invalid_password: 'errorPassword',
  mfa_required: 'errorLoginRequired',
  mfa_enrollment_required: 'errorLoginRequired',
  invalid_code: 'errorWrongCode',
  invalid_credential: 'errorPasskeyRefused',
  duplicate_factor: 'errorPasskeyTwice',
  factor_limit: 'errorFactorLimit',
  api_key_limit: 'errorApiKeyLimit',
  last_factor: 'errorLastFactor',
  username_taken: 'errorUsernameTaken',
  last_sign_in_method: 'errorLastMethod',
  connection_denied: 'errorConnectionDenied',
  connection_failed: 'errorConnectionBroken',
  too_many_requests: 'errorTooManyRequestsLater',
  conflict: 'errorInvalidRequest',
  changed_meanwhile: 'errorTemporarilyUnavailable',
  not_found: 'errorNotFound',
  server_error: 'errorServerError',
  temporarily_unavailable: 'errorTemporarilyUnavailable'
}

const BY_REASON: Readonly<Record<OAuthErrorReason, MessageKey>> = {
  too_long: 'errorPasswordTooLong',
  not_unicode: 'errorPasswordCharacters',
  too_short: 'errorPasswordTooShortPlain',
  too_common: 'errorPasswordCommon',
  context_word: 'errorPasswordContext',
  breached: 'errorPasswordBreached',
  characters: 'errorCharacters',
  username_form: 'errorUsernameForm',
  email_form: 'errorEmailForm',
  email_differs: 'errorEmailDiffers',
  email_same: 'errorEmailSame',
  required: 'errorRequired',
  value_short: 'errorTooShort',
  value_long: 'errorTooLong',
  value_min: 'errorAtLeast',
  value_max: 'errorAtMost',
  value_above: 'errorAbove',
  value_below: 'errorBelow',
  value_multiple: 'errorMultiple',
  value_number: 'errorNumber',
  value_integer: 'errorInteger',
  value_choice: 'errorChoice',
  value_form: 'errorForm',
  one_api: 'apiKeyOneApi',
  wrong_password: 'errorCurrentPassword',
  email_not_verified: 'errorEmailNotVerified',
  code_form: 'errorCodeForm',
  wrong_code: 'errorWrongCode',
  used_code: 'errorUsedCode',
  factor_disabled: 'errorFactorDisabled',
  wrong_recovery_code: 'errorWrongRecoveryCode',
  passkey_refused: 'errorPasskeyRefused',
  unknown_passkey: 'errorPasskeyRefused',
  passkey_copied: 'errorPasskeyCopied',
  passkey_limit: 'errorPasskeyLimit',
  last_way_in: 'errorLastMethod',
  email_code_form: 'errorEmailCodeForm',
  email_code_wrong: 'errorEmailCodeWrong',
  email_code_spent: 'errorEmailCodeSpent',
  email_code_again: 'errorEmailCodeAgain',
  email_code_refused: 'errorEmailCodeRefused',
  device_code_form: 'errorDeviceCodeForm',
  device_code_wrong: 'errorDeviceCodeWrong',
  unknown_client: 'errorUnknownClient',
  redirect_uri_mismatch: 'errorRedirectUri',
  cross_site: 'errorCrossSite',
  sign_in_too_weak: 'errorSignInTooWeak',
  connection_only: 'errorConnectionOnly',
  sign_in_too_long: 'errorSignInTooLong',
  connection_again: 'errorConnectionAgain',
  connection_denied: 'errorConnectionDenied',
  connection_refused: 'errorConnectionRefused',
  connection_email: 'errorConnectionEmail',
  connection_closed: 'errorConnectionClosed',
  connection_taken: 'errorConnectionTaken',
  connection_other_way: 'errorConnectionOtherWay',
  connection_broken: 'errorConnectionBroken',
  connection_down: 'errorConnectionDown',
  connection_stale: 'errorConnectionStale'
}

/** Codes that always concern one field. */
const FIELDS: Partial<Readonly<Record<OAuthErrorCode, string>>> = {
  invalid_password: 'password',
  username_taken: 'username'
}

interface PageErrorValues {
  /** The required number of code points, for a short password. */
  minLength?: number
  /** Default: the error's own `Retry-After`. */
  retryAfterSeconds?: number
}

/** The text of an error in the language of `messages`. A page never shows the English `error_description`. */
export function pageErrorOf(
  error: OAuthError,
  messages: Messages,
  { minLength, retryAfterSeconds = retryAfterOf(error) }: PageErrorValues = {}
): PageError {
  const field = error.field ?? FIELDS[error.error] ?? null
  const said = (text: string): PageError => ({ error: error.error, text, field })
  if (error.error === 'too_many_requests' && retryAfterSeconds !== undefined) {
    const text = format(messages.errorTooManyRequests, { duration: durationOf(retryAfterSeconds, messages) })
    return { ...said(text), waitSeconds: retryAfterSeconds }
  }
  if (error.reason === 'too_short' && minLength !== undefined)
    return said(formatNumbers(messages.errorPasswordTooShort, { minLength }, messages))
  if (error.reason !== undefined) {
    const [text, { limit = '' }] = [messages[BY_REASON[error.reason]], error]
    return said(typeof limit === 'number' ? formatNumbers(text, { limit }, messages) : format(text, { limit }))
  }
  return said(
    messages[error.error === 'invalid_request' && field !== null ? 'errorInvalidField' : BY_CODE[error.error]]
  )
}

function retryAfterOf({ headers }: OAuthError): number | undefined {
  const value = headers['retry-after']
  return value !== undefined && /^\d{1,9}$/.test(value) ? Number(value) : undefined
}
