/** The answer of another provider to an authorization request of ours. */
import { UpstreamError } from '../errors.ts'

/** Parameters that may be there once at most, and must not be empty where they are there. */
const SINGLE = ['code', 'state', 'iss', 'error']
/** Parameters that a request for a code alone is never answered with. */
const UNASKED = ['response', 'id_token', 'access_token', 'token']
/**
 * Errors that mean that the person said no, or that the provider would have had to show a page and was asked not to.
 * @see RFC 6749 §4.1.2.1, OpenID Connect Core 1.0 §3.1.2.6; the second is Apple's.
 */
const DENIED = [
  'access_denied',
  'user_cancelled_authorize',
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required'
]
const BUSY = ['server_error', 'temporarily_unavailable']

interface ExpectedAnswer {
  state: string
  /** True if the provider's metadata promise `iss`. @see RFC 9207 §3 */
  issuerPromised: boolean
  acceptsIssuer(iss: string): boolean
}

/**
 * Checks that the answer belongs to the request with this state and comes from the provider that was asked. Reads
 * `error` only after both, because anybody can send a browser here with one. Returns the `iss` of the answer.
 * @see RFC 6749 §4.1.2, §10.12; RFC 9207 §2.4
 * @throws UpstreamError `mismatch`, `denied`, `outage` or `exchange`
 */
export function checkUpstreamAnswer(
  answer: URLSearchParams,
  { state, issuerPromised, acceptsIssuer }: ExpectedAnswer
): { iss: string | null } {
  for (const name of SINGLE) {
    const values = answer.getAll(name)
    if (values.length > 1 || values[0] === '') throw mismatch(`has ${name} twice, or empty`)
  }
  if (UNASKED.some((name) => answer.has(name))) throw mismatch('has what was not asked for')
  if (answer.get('state') !== state) throw mismatch('has another state')
  const iss = answer.get('iss')
  if (iss === null && issuerPromised) throw mismatch("lacks iss, which the provider's metadata promise")
  if (iss !== null && !acceptsIssuer(iss)) throw mismatch('has the iss of another provider')
  const error = answer.get('error')
  if (error !== null) throw failureOf(error)
  if (!answer.has('code')) throw mismatch('has no code')
  return { iss }
}

function mismatch(what: string): UpstreamError {
  return new UpstreamError('mismatch', `The answer ${what}.`)
}

function failureOf(error: string): UpstreamError {
  if (DENIED.includes(error))
    return new UpstreamError('denied', 'The provider answered that the person did not sign in.')
  if (BUSY.includes(error))
    return new UpstreamError('outage', "The provider answered that it can't sign anybody in at the moment.")
  return new UpstreamError(
    'exchange',
    'The provider refused the authorization request: the client, its redirect URI or its ' +
      'scopes are not registered there so.'
  )
}
