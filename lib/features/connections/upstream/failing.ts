import * as oauth from 'oauth4webapi'
import { UpstreamError, type UpstreamFailure } from '../../../errors.ts'

/**
 * Converts every error of the engine or of a host's `identify` to an `UpstreamError`. Their messages may quote the
 * provider's response, so only our own and the engine's words are kept. `onForeign` receives any other error.
 */
export async function failing<Answer>(
  reason: UpstreamFailure,
  work: () => Promise<Answer>,
  onForeign?: (error: unknown) => void
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof UpstreamError) throw error
    onForeign?.(error)
    const code =
      error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError
        ? [error.code, claimOf(error)].filter((word) => word !== null).join(' ')
        : 'unexpected'
    const what =
      reason === 'id_token'
        ? 'ID token'
        : reason === 'userinfo'
          ? 'answer about the person'
          : 'answer of the token endpoint'
    throw new UpstreamError(reason, `The ${what} was refused (${code}).`, causeOf(error))
  }
}

/** The expected and the received issuer, only for the log: nothing else reveals a wrong option `issuer`. */
export function otherIssuer(expected: unknown, got: unknown): ErrorOptions {
  const show = (issuer: unknown): string =>
    typeof issuer === 'string'
      ? JSON.stringify(issuer.replaceAll(/\/\/[^/?#\s]*@/g, '//…@').slice(0, 200))
      : typeof issuer
  return { cause: new Error(`iss: expected ${show(expected)}, got ${show(got)}`) }
}

function causeOf(error: unknown): ErrorOptions | undefined {
  if (!(error instanceof Error) || claimOf(error) !== 'iss') return undefined
  const { expected, claims } = error.cause as { expected?: unknown; claims?: { iss?: unknown } }
  return otherIssuer(expected, claims?.iss)
}

/** The claim that the engine refused. */
function claimOf({ cause }: Error): string | null {
  const { claim } = (typeof cause === 'object' && cause !== null ? cause : {}) as { claim?: unknown }
  return typeof claim === 'string' && /^[a-z_]{1,20}$/.test(claim) ? claim : null
}

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
