/** The error of every rejection of the client. `error` is a code to act on. */
export class AuthClientError extends Error {
  /**
   * A code of the authorization server, or one of `missing_transaction`, `state_mismatch`, `issuer_mismatch`,
   * `invalid_token`, `invalid_options`, `insecure_context`, `login_required`, `missing_refresh_token`, `timeout`,
   * `request_error`, of the popup `popup_blocked`, `popup_closed`, and of DPoP `token_not_bound`.
   */
  declare readonly error: string
  /** A text for developers, such as the server's `error_description` or the text of a network error. */
  declare readonly error_description: string
  /**
   * True if another attempt may succeed in a moment. For `handleRedirectCallback`, another attempt is a new sign-in,
   * because each response is used only once.
   */
  declare readonly retryable: boolean
  /** The `appState` of a sign-in that failed in `handleRedirectCallback`. */
  declare readonly appState?: unknown

  constructor(error: string, description = error, retryable = false, cause?: unknown) {
    super(description, { cause })
    Object.assign(this, { name: 'AuthClientError', error, error_description: description, retryable })
  }
}

/**
 * Returns an `AuthClientError` unchanged. Converts any other error to a `retryable` one, because it is most likely a
 * failure of the network.
 */
export const asError = (cause: unknown): AuthClientError =>
  cause instanceof AuthClientError
    ? cause
    : new AuthClientError(
        (cause as Error | null)?.name === 'TimeoutError' ? 'timeout' : 'request_error',
        (cause as Error | null)?.message,
        true,
        cause
      )

export const loginRequired = (cause?: unknown): AuthClientError =>
  new AuthClientError('login_required', undefined, false, cause)
