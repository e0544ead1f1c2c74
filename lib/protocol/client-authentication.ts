import { hash } from 'node:crypto'
import { OAuthError } from '../errors.ts'
import { MAX_JTI_BYTES } from './bounds.ts'
import { isObject } from './json.ts'
import { isJwsAlg, isSignedBy, type JwsAlg, parseJws, publicKeyOf, type UnverifiedJws } from './jws.ts'

/** The methods of client authentication. @see OpenID Connect Core 1.0 §9 */
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
export type AuthMethod = (typeof AUTH_METHODS)[number]

/** The maximum number of keys per client. Further keys of a fetched key set are ignored. */
export const MAX_CLIENT_KEYS = 20

/** The client credentials of a request, unchecked. `none`: only `client_id`, for a public client. @see RFC 6749 §2.3 */
type ClientCredentials =
  | (BasicCredentials & { method: 'client_secret_basic' })
  | (IdAndSecret & { method: 'client_secret_post' })
  | { method: 'private_key_jwt'; clientId: string | undefined; assertion: string }
  | { method: 'none'; clientId: string }

/** The parameters of client authentication, each with its limit in bytes of UTF-8. */
export const CLIENT_PARAMS = {
  client_id: 1536,
  client_secret: 1024,
  client_assertion: 8192,
  client_assertion_type: 128
} as const
export type ClientParams = { [Name in keyof typeof CLIENT_PARAMS]?: string }

interface IdAndSecret {
  clientId: string
  clientSecret: string
}
/** The values with and without form decoding, because many clients do not encode and mean a `+` or `%` literally. */
interface BasicCredentials extends IdAndSecret {
  asSent: IdAndSecret
}

const MAX_BASIC_LENGTH = 4096
/** The only accepted value of `client_assertion_type`. */
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
/** How far ahead `exp` may be by the client's clock. */
const LONGEST_LIFE_SECONDS = 300
/** How far the client's clock may be ahead. */
const SKEW_SECONDS = 30
/** How long the use of an assertion is remembered after its `exp`, because the clock may be set back. */
const SET_BACK_MS = 10 * 60_000
/** The accepted values of `typ`, so that a JWT of another kind does not pass for an assertion. @see RFC 8725 §3.11 */
const TYPES = ['jwt', 'client-authentication+jwt']
/**
 * Matches the scheme `Basic`, also without credentials: a failed attempt must not pass for a request without client
 * authentication.
 */
const BASIC = /^basic(?![\w!#$%&'*+.^`|~-])/i

/**
 * Reads the client's credentials from the header and the parameters. A `client_id` alone has the method `none`.
 * `undefined`: the request names no client.
 * @throws OAuthError `invalid_request` if two methods are used at once, or if parameters are missing or contradict each
 * other. `invalid_client` if the header is malformed
 * @see RFC 6749 §2.3.1
 */
export function clientCredentials(
  authorization: string | undefined,
  params: ClientParams
): ClientCredentials | undefined {
  const { client_id: clientId, client_secret: clientSecret, client_assertion: assertion } = params
  const isAssertion = assertion !== undefined || params.client_assertion_type !== undefined
  const isBasic = authorization !== undefined && BASIC.test(authorization)
  if ([isBasic, clientSecret !== undefined, isAssertion].filter(Boolean).length > 1)
    throw new OAuthError('invalid_request', 'Use one way of client authentication, not two.')
  if (isAssertion) {
    if (assertion === undefined) throw new OAuthError('invalid_request', 'client_assertion is missing.')
    if (params.client_assertion_type !== ASSERTION_TYPE)
      throw new OAuthError('invalid_request', `client_assertion_type must be ${ASSERTION_TYPE}.`)
    return { method: 'private_key_jwt', clientId, assertion }
  }
  if (isBasic) {
    const basic = basicCredentials(authorization.slice(5).trim())
    if (clientId !== undefined && clientId !== basic.clientId && clientId !== basic.asSent.clientId)
      throw new OAuthError('invalid_request', 'client_id differs from the one in the Authorization header.')
    return { method: 'client_secret_basic', ...basic }
  }
  if (clientSecret !== undefined) {
    if (clientId === undefined) throw new OAuthError('invalid_request', 'client_secret needs a client_id.')
    return { method: 'client_secret_post', clientId, clientSecret }
  }
  return clientId === undefined ? undefined : { method: 'none', clientId }
}

/**
 * A 401, with a challenge if the client used `client_secret_basic`.
 * @param detail the reason, for the log only
 * @see RFC 6749 §5.2
 */
export function invalidClient(
  method: AuthMethod | undefined,
  { why = 'Client authentication failed.', detail }: { why?: string | undefined; detail?: string } = {}
): OAuthError {
  const headers = { 'www-authenticate': 'Basic realm="token", charset="UTF-8"' }
  return new OAuthError('invalid_client', why, {
    ...(detail === undefined ? {} : { detail }),
    ...(method === 'client_secret_basic' ? { headers } : {})
  })
}

function basicCredentials(encoded: string): BasicCredentials {
  if (encoded.length > MAX_BASIC_LENGTH || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded))
    throw invalidClient('client_secret_basic')
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) throw invalidClient('client_secret_basic')
  const asSent = { clientId: text.slice(0, colon), clientSecret: text.slice(colon + 1) }
  return { clientId: formDecode(asSent.clientId), clientSecret: formDecode(asSent.clientSecret), asSent }
}

/**
 * Decodes an id or secret, because both are form-encoded inside the Basic credentials. A value that can't be decoded
 * was not encoded and stays as it is.
 * @see RFC 6749 §2.3.1, appendix B
 */
function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

/** An assertion whose signature has not been checked. */
interface ClientAssertion {
  clientId: string
  alg: JwsAlg
  kid: string | undefined
  jws: UnverifiedJws
  /** A digest of the client id and the assertion's `jti`. The same digest must not be accepted twice. */
  replayKey: string
  /** The time until which the use must be remembered, in milliseconds since the epoch. */
  rememberedUntil: number
}

/**
 * Reads an assertion for this issuer, without checking its signature.
 * @param now milliseconds since the epoch
 * @returns the assertion, or the description of the refusal
 */
export function readClientAssertion(text: string, issuer: string, now: number): ClientAssertion | string {
  const jws = parseJws(text)
  if (jws === null) return 'client_assertion is no JWT.'
  const { typ, alg, kid } = jws.header
  if (typ !== undefined && !(typeof typ === 'string' && TYPES.includes(typ.toLowerCase())))
    return 'client_assertion has the typ of another JWT.'
  if (!isJwsAlg(alg) || 'crit' in jws.header) return 'client_assertion has an algorithm that is not supported.'
  if (kid !== undefined && typeof kid !== 'string') return 'client_assertion has a malformed kid.'
  const { iss, sub, aud, exp, nbf, iat, jti } = jws.payload
  if (typeof iss !== 'string' || iss === '' || iss !== sub)
    return 'client_assertion needs the client id in iss and sub.'
  if (aud !== issuer) return `client_assertion needs the audience ${issuer}, as a string.`
  const seconds = now / 1000
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'client_assertion needs a time exp.'
  if (seconds >= exp) return 'client_assertion has expired.'
  if (exp > seconds + LONGEST_LIFE_SECONDS + SKEW_SECONDS)
    return `client_assertion may be good for at most ${LONGEST_LIFE_SECONDS} seconds.`
  for (const [name, time] of [
    ['nbf', nbf],
    ['iat', iat]
  ] as const)
    if (time !== undefined && !(typeof time === 'number' && time <= seconds + SKEW_SECONDS))
      return `client_assertion is not valid yet: ${name}.`
  if (typeof jti !== 'string' || jti === '' || Buffer.byteLength(jti) > MAX_JTI_BYTES)
    return `client_assertion needs a jti of at most ${MAX_JTI_BYTES} bytes.`
  return {
    clientId: iss,
    alg,
    kid,
    jws,
    replayKey: hash('sha256', `client_assertion\0${JSON.stringify([iss, jti])}`, 'base64url'),
    rememberedUntil: exp * 1000 + SET_BACK_MS
  }
}

/**
 * Looks for the key that signed the assertion. Tries registered keys only, never a key from the header.
 * @param keys JWKs; skips unusable ones
 * @returns `null` if a key signed it, otherwise the reason for the refusal, for the log
 */
export function signatureProblem({ alg, kid, jws }: ClientAssertion, keys: readonly unknown[]): string | null {
  const named = keys.filter((jwk) => isObject(jwk) && (kid === undefined || jwk['kid'] === kid))
  if (kid !== undefined && named.length === 0) return 'no key of the client has the kid of the assertion'
  const usable = named.map((jwk) => publicKeyOf(jwk, alg))
  if (usable.every((key) => key === null)) return 'no such key of the client is for the algorithm of the assertion'
  return usable.some((key) => key !== null && isSignedBy(jws, key, alg)) ? null : 'another key signed the assertion'
}
