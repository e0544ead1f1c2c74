/** The error of every rejection of the client. `error` is a code to act on. */
export class AuthClientError extends Error {
  /**
   * A code of the authorization server, or one of `missing_transaction`, `state_mismatch`, `issuer_mismatch`,
   * `invalid_token`, `invalid_options`, `insecure_context`, `login_required`, `missing_refresh_token`, `timeout`,
   * `request_error`, of the popup `popup_blocked`, `popup_closed`, and of DPoP `token_not_bound`.
   */
  declare readonly error: string
  /** A sentence for developers: from the server or the network error, or else the code. */
  declare readonly error_description: string
  /** True if the same call may succeed in a moment. Nothing was lost. */
  declare readonly retryable: boolean
  /** The `appState` of the failed sign-in, if it was a sign-in. */
  declare readonly appState?: unknown

  constructor(error: string, description = error, retryable = false, cause?: unknown) {
    super(description, { cause })
    Object.assign(this, { name: 'AuthClientError', error, error_description: description, retryable })
  }
}

/**
 * Converts any error to an `AuthClientError`. An error of another class counts as a failure of the network, and is
 * `retryable`.
 */
export function asError(cause: unknown): AuthClientError {
  if (cause instanceof AuthClientError) return cause
  const error = cause as Error | undefined
  return new AuthClientError(error?.name === 'TimeoutError' ? 'timeout' : 'request_error', error?.message, true, cause)
}

export const loginRequired = (cause?: unknown): AuthClientError =>
  new AuthClientError('login_required', undefined, false, cause)
