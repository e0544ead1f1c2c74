import { UpstreamError } from '../../errors.ts'

/** Errors for an invented or reused code, from RFC 6749 §5.2 and GitHub. */
const USED_UP = ['invalid_grant', 'bad_verification_code']
const WRONG_CLIENT = 'Look at clientId and clientSecret of the connection.'
/**
 * The reasons in RFC 6749 §5.2 and of GitHub, with advice for the host. No other word of the provider's is repeated.
 */
const KNOWN_ERRORS: Readonly<Record<string, string>> = {
  invalid_request: '',
  invalid_client: WRONG_CLIENT,
  invalid_grant: '',
  unauthorized_client: 'Allow this client the authorization code at the provider.',
  unsupported_grant_type: '',
  invalid_scope: 'Look at scopes of the connection.',
  bad_verification_code: '',
  incorrect_client_credentials: WRONG_CLIENT,
  redirect_uri_mismatch: 'Register the callback URL, which the log has at the start, with the provider.'
}

/** The error for a token endpoint that returned no tokens. */
export function refusal(status: number, said: unknown): UpstreamError {
  const known = typeof said === 'string' && Object.hasOwn(KNOWN_ERRORS, said) ? said : null
  return new UpstreamError(
    USED_UP.includes(said as string) ? 'mismatch' : 'exchange',
    `The token endpoint refused the code: it answered ${status} and ${known ?? 'no error of RFC 6749'}. ${
      known === null ? '' : KNOWN_ERRORS[known]
    }`.trim()
  )
}
