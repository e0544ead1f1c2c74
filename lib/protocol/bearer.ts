import { OAuthError } from '../errors.ts'

/** Longest credential that is looked at, before anything parses it. */
export const MAX_TOKEN_LENGTH = 8192
/** The scheme as it is usually spelled. Any case is right. */
const BEARER = 'Bearer '
/** With one space or more. */
const SCHEME = /^bearer +/i
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/

/**
 * The token of an `Authorization: Bearer` header; `undefined` where there is no such header or it has another scheme.
 * @throws OAuthError `invalid_token` where it is no token: too long, or of other characters
 * @see RFC 6750 §2.1
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const scheme = authorization === undefined ? null : SCHEME.exec(authorization)
  return scheme === null ? undefined : wellFormed(scheme.input.slice(scheme[0].length))
}

/** True if an `Authorization` header contains a bearer token, good or bad. */
export function isBearer(authorization: string | undefined): boolean {
  return authorization !== undefined && SCHEME.test(authorization)
}

/** The `Authorization` header that a token comes in, with the scheme spelled as usual. */
export function bearerCredential(token: string): string {
  return BEARER + token
}

/**
 * The token of a request that may also bring it as `access_token` in a form; an empty one counts as not sent.
 * @throws OAuthError `invalid_request` where it comes both ways, even if they are the same; `invalid_token`
 * @see RFC 6750 §2, §2.2, §3.1
 */
export function headerOrFormToken(authorization: string | undefined, form: unknown): string | undefined {
  const fromHeader = bearerToken(authorization)
  const sent: unknown =
    typeof form === 'object' && form !== null && Object.hasOwn(form, 'access_token')
      ? (form as Record<string, unknown>)['access_token']
      : undefined
  if (sent === undefined || sent === '') return fromHeader
  if (fromHeader !== undefined) {
    const description = 'Send the token in one way, not in two.'
    throw new OAuthError('invalid_request', description, {
      headers: { 'www-authenticate': `Bearer error="invalid_request", error_description="${description}"` }
    })
  }
  if (typeof sent !== 'string') throw new OAuthError('invalid_request', 'access_token must be a string, sent once.')
  return wellFormed(sent)
}

function wellFormed(token: string): string {
  if (token.length > MAX_TOKEN_LENGTH || !B64TOKEN.test(token)) throw invalidToken('The token is malformed.')
  return token
}

/**
 * 401 for a request that brought no token: a challenge with no error. `why`: what else would do.
 * @see RFC 6750 §3.1
 */
export function missingToken(why = ''): OAuthError {
  return new OAuthError('invalid_token', `A Bearer token is required.${why}`, {
    withoutStack: true,
    headers: { 'www-authenticate': 'Bearer' }
  })
}

/** 401 for a token that is no good. @see RFC 6750 §3.1 */
export function invalidToken(description: string, detail?: string): OAuthError {
  return new OAuthError('invalid_token', description, {
    withoutStack: true,
    headers: { 'www-authenticate': `Bearer error="invalid_token", error_description="${description}"` },
    ...(detail === undefined ? {} : { detail })
  })
}

/** 403 for a token that grants too little. @see RFC 6750 §3.1 */
export function insufficientScope(required: readonly string[]): OAuthError {
  const scope = required.join(' ')
  return new OAuthError('insufficient_scope', `The token must grant the scope ${scope}.`, {
    withoutStack: true,
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` }
  })
}

/** 401 for a sign-in that is too long ago, in seconds, for what is asked, or not worth `acr`. @see RFC 9470 §3 */
export function staleSignIn(maxAge: number, acr?: string): OAuthError {
  const description =
    acr === undefined ? 'A more recent sign-in is needed.' : 'A more recent sign-in with a second factor is needed.'
  return new OAuthError('insufficient_user_authentication', description, {
    withoutStack: true,
    headers: {
      'www-authenticate':
        `Bearer error="insufficient_user_authentication", error_description="${description}", ` +
        `${acr === undefined ? '' : `acr_values="${acr}", `}max_age="${maxAge}"`
    }
  })
}

/** 403 for the token of a third-party client at a route for the host's own. No scope would help. @see RFC 6750 §3.1 */
export function firstPartyOnly(): OAuthError {
  const description = 'Tokens of this client are not taken here.'
  return new OAuthError('insufficient_scope', description, {
    withoutStack: true,
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", error_description="${description}"` }
  })
}
