import { UpstreamError } from '../errors.ts'
import { hash } from 'node:crypto'

/** The ID token algorithms with a private key, so that only the provider can sign. */
export const ID_TOKEN_ALG = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/

/** Parameters that may occur at most once and must not be empty. */
const SINGLE = ['code', 'state', 'iss', 'error']
/** Parameters that must not be in the response to a request for a code. */
const UNASKED = ['response', 'id_token', 'access_token', 'token']
/**
 * Errors for a refusal by the person, or for a page that the provider would need with `prompt=none`.
 * @see RFC 6749 §4.1.2.1, OpenID Connect Core 1.0 §3.1.2.6; `user_cancelled_authorize` is Apple's.
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
  /**
   * True if the provider's metadata promises `iss`.
   * @see RFC 9207 §3
   */
  issuerPromised: boolean
  acceptsIssuer(iss: string): boolean
}

/**
 * Checks that the answer belongs to the request with this state and comes from the provider that was asked. Reads
 * `error` only after both checks, because anybody can send a browser here with an `error`. Returns the `iss` of the
 * answer, `null` if the answer has none.
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

/** The maximum age of a token in seconds. An app exchanges its token immediately. */
const MAX_AGE = 300
/** The time in seconds by which the provider's clock may be ahead. */
const LEEWAY = 60

export interface AppTokenRules {
  /** The provider's client ids of the apps whose tokens are accepted. */
  audiences: readonly string[]
  /** The nonce that the app gave to the provider. `null`: none. */
  nonce: string | null
  /** True if a token without a nonce is refused. */
  nonceRequired: boolean
  /** Milliseconds since the epoch. */
  now: number
}

type Claims = Readonly<Record<string, unknown>>

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const CHECKS: ReadonlyArray<{ name: string; see: string; holds(claims: Claims, rules: AppTokenRules): boolean }> = [
  {
    name: 'aud',
    see: 'OpenID Connect Core 1.0 §3.1.3.7 (3)',
    holds: ({ aud }, { audiences }) =>
      Array.isArray(aud)
        ? aud.length > 0 && aud.every((one) => audiences.includes(one as string))
        : audiences.includes(aud as string)
  },
  // With a single audience `azp` is not compared, because Google puts the app into `azp` and the app's server into
  // `aud`.
  {
    name: 'azp',
    see: 'OpenID Connect Core 1.0 §3.1.3.7 (4), (5)',
    holds: ({ aud, azp }, { audiences }) => !Array.isArray(aud) || aud.length === 1 || audiences.includes(azp as string)
  },
  {
    name: 'iat',
    see: 'OpenID Connect Core 1.0 §3.1.3.7 (10)',
    holds: ({ iat }, { now }) =>
      typeof iat === 'number' && Number.isFinite(iat) && now / 1000 - iat <= MAX_AGE && iat - now / 1000 <= LEEWAY
  },
  { name: 'nonce', see: 'OpenID Connect Core 1.0 §3.1.3.7 (11)', holds: holdsNonce }
]

/**
 * True if the nonces are equal, or the token has the hashed nonce, as Apple's and Firebase's libraries do. If either
 * side has a nonce, they must match, even if the connection does not require one.
 */
function holdsNonce({ nonce: claimed }: Claims, { nonce, nonceRequired }: AppTokenRules): boolean {
  if (claimed === undefined && nonce === null) return !nonceRequired
  return isText(claimed) && isText(nonce) && (claimed === nonce || claimed === hash('sha256', nonce, 'hex'))
}

/**
 * Checks an ID token from an app. Its signature, issuer and expiry are checked elsewhere.
 * @throws UpstreamError `id_token` that names the claim, without its value
 */
export function checkAppIdToken(claims: Claims, rules: AppTokenRules): void {
  const failed = CHECKS.find(({ holds }) => !holds(claims, rules))
  if (failed !== undefined) throw new UpstreamError('id_token', `The ID token was refused (${failed.name}).`)
}

/**
 * The time until which the use of a token must be remembered, in milliseconds since the epoch. That is `LEEWAY` later
 * than the last moment at which the token is accepted. `issuedAt` is in seconds.
 */
export function appIdTokenEnd(issuedAt: number): number {
  return Math.ceil((issuedAt + MAX_AGE + LEEWAY) * 1000)
}
