import { isObject } from './json.ts'
import { OAuthError, type OAuthErrorCode } from '../errors.ts'
import { covers } from './authentication.ts'

/** The maximum length of a credential, checked before any parsing. */
export const MAX_TOKEN_LENGTH = 8192
/** The usual spelling of the scheme. Any case is valid. */
const BEARER = 'Bearer '
/** Matches the scheme and the spaces after it. Node.js strips the spaces of a header that has no token. */
const SCHEME = /^(bearer|dpop)(?: +|$)/i
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/

/** A token, and the scheme under which it came. */
export interface SentToken {
  token: string
  scheme: 'Bearer' | 'DPoP'
}

/**
 * The token of an `Authorization` header; `undefined` without such a header or with another scheme.
 * @throws OAuthError `invalid_token` for an empty or overlong token, or one with invalid characters
 * @see RFC 6750 §2.1, RFC 9449 §7.1
 */
export function sentToken(authorization: string | undefined): SentToken | undefined {
  const found = authorization === undefined ? null : SCHEME.exec(authorization)
  if (found === null) return undefined
  const token = wellFormed(found.input.slice(found[0].length))
  return { token, scheme: isDpop(authorization) ? 'DPoP' : 'Bearer' }
}

/** The token of a header with the scheme `Bearer`; `undefined` for any other. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return isDpop(authorization) ? undefined : sentToken(authorization)?.token
}

/** True if an `Authorization` header has the scheme of an access token. Does not check the token. */
export function hasToken(authorization: string | undefined): boolean {
  return authorization !== undefined && SCHEME.test(authorization)
}

/** True for the scheme `DPoP`, in any case. */
export function isDpop(authorization: string | undefined): boolean {
  return authorization !== undefined && /^dpop(?: |$)/i.test(authorization)
}

/** The `Authorization` header for a token, with the usual spelling of the scheme. */
export function bearerCredential(token: string): string {
  return BEARER + token
}

/**
 * The token of the `Authorization` header or of the form parameter `access_token`. An empty parameter counts as not
 * sent.
 * @throws OAuthError `invalid_request` if both are sent, even if they are equal, or if the parameter is repeated.
 * `invalid_token` for a malformed token
 * @see RFC 6750 §2, §2.2, §3.1
 */
export function headerOrFormToken(authorization: string | undefined, form: unknown): SentToken | undefined {
  const fromHeader = sentToken(authorization)
  const sent = isObject(form) && Object.hasOwn(form, 'access_token') ? form['access_token'] : undefined
  if (sent === undefined || sent === '') return fromHeader
  if (fromHeader !== undefined) throw challenge('invalid_request', 'Send the token in one way, not in two.')
  if (typeof sent !== 'string') throw new OAuthError('invalid_request', 'access_token must be a string, sent once.')
  return { token: wellFormed(sent), scheme: 'Bearer' }
}

function wellFormed(token: string): string {
  if (token.length > MAX_TOKEN_LENGTH || !B64TOKEN.test(token)) throw invalidToken('The token is malformed.')
  return token
}

/**
 * 401 for a request without a token: a challenge without an error. `why` is added to the description.
 * @see RFC 6750 §3.1
 */
export function missingToken(why = ''): OAuthError {
  return new OAuthError('invalid_token', `A Bearer token is required.${why}`, {
    withoutStack: true,
    headers: { 'www-authenticate': 'Bearer' }
  })
}

/**
 * A refusal with its challenge. `params` follow the error in the header.
 * @see RFC 6750 §3
 */
function challenge(
  error: OAuthErrorCode,
  description: string,
  params: readonly string[] = [`error_description="${description}"`],
  detail?: string
): OAuthError {
  return new OAuthError(error, description, {
    withoutStack: true,
    headers: { 'www-authenticate': `Bearer ${[`error="${error}"`, ...params].join(', ')}` },
    ...(detail === undefined ? {} : { detail })
  })
}

/**
 * 401 for an invalid token.
 * @see RFC 6750 §3.1
 */
export function invalidToken(description: string, detail?: string): OAuthError {
  return challenge('invalid_token', description, undefined, detail)
}

/** 403 for a token that grants too little. @see RFC 6750 §3.1 */
export function insufficientScope(required: readonly string[]): OAuthError {
  const scope = required.join(' ')
  return challenge('insufficient_scope', `The token must grant the scope ${scope}.`, [`scope="${scope}"`])
}

/**
 * 403 for a third-party client's token at a route for first-party clients. No scope would help, so the challenge names
 * none.
 * @see RFC 6750 §3.1
 */
export function firstPartyOnly(): OAuthError {
  return challenge('insufficient_scope', 'Tokens of this client are not taken here.')
}

/** 403 for a token that acts in the name of another person. @see RFC 8693 §4.1 */
export function withoutActor(): OAuthError {
  return challenge('insufficient_scope', 'A token that acts in the name of another person is not taken here.')
}

/**
 * 403 for a token whose user lacks a role. Does not name the role. No scope would help, so the challenge names none.
 */
export function withoutRole(): OAuthError {
  return challenge('insufficient_scope', 'The user lacks a role that is needed here.')
}

/** 401 for a sign-in that is too old or too weak. @see RFC 9470 §3 */
function staleSignInWith(description: string, acrValues: readonly string[], maxAge: number | null): OAuthError {
  return challenge('insufficient_user_authentication', description, [
    `error_description="${description}"`,
    ...(acrValues.length === 0 ? [] : [`acr_values="${acrValues.join(' ')}"`]),
    ...(maxAge === null ? [] : [`max_age="${maxAge}"`])
  ])
}

/** 401 for a sign-in that is older than `maxAge` seconds, or below the level `acr`. */
export function staleSignIn(maxAge: number, acr?: string): OAuthError {
  return acr === undefined
    ? staleSignInWith('A more recent sign-in is needed.', [], maxAge)
    : staleSignInWith('A more recent sign-in with a second factor is needed.', [acr], maxAge)
}

/** A route's requirements on the sign-in. If both are set, both must hold. @see RFC 9470 */
export interface StepUp {
  /** The maximum age of the sign-in in seconds. `null`: any age. */
  maxAge: number | null
  /** The lowest level of the sign-in. `null`: any level. */
  acr: string | null
}

/**
 * True if the sign-in meets the requirements at `now`. A required fact that is missing is not enough: `acr` that is not
 * a string, or `authenticatedAt` that is not a number.
 * @param now in milliseconds since the epoch, like `authenticatedAt`
 */
export function isEnough(
  { acr, authenticatedAt }: { acr: unknown; authenticatedAt: unknown },
  required: StepUp,
  now: number
): boolean {
  if (required.acr !== null && !(typeof acr === 'string' && covers(acr, required.acr))) return false
  return (
    required.maxAge === null || (typeof authenticatedAt === 'number' && now - authenticatedAt <= required.maxAge * 1000)
  )
}

/**
 * The refusal of a token whose sign-in is too old or too weak: a 401 that names every requirement, so that one new
 * sign-in meets them all.
 * @param acrValues the values that this configuration accepts, the weakest first
 */
export function insufficientAuthentication({ maxAge, acr }: StepUp, acrValues: readonly string[]): OAuthError {
  return acr === null
    ? staleSignInWith('A more recent sign-in is needed.', [], maxAge)
    : staleSignInWith(
        'Another sign-in is needed.',
        acrValues.filter((value) => covers(value, acr)),
        maxAge
      )
}
