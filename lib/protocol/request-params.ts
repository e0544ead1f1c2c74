import { isObject } from './json.ts'
import { OAuthError } from '../errors.ts'
import { CLIENT_PARAMS, type ClientParams } from './client-authentication.ts'
import { digest } from './digest.ts'
import { joinResources } from './resource.ts'

/**
 * Reads the parameters of a request from its query or body. Ignores empty and unknown parameters. Refuses a parameter
 * that is longer than its limit in bytes of UTF-8, sent twice, or not a string, unless `onTooLong` or `onRepeated`
 * handles it. A missing body has no parameters.
 * @throws OAuthError `invalid_request` naming the parameter, or for a body that is not an object
 * @see RFC 6749 §3.1
 */
export function readParams<Name extends string>(
  raw: unknown,
  limits: Readonly<Record<Name, number>>,
  {
    onTooLong,
    onRepeated
  }: {
    onTooLong?: (name: Name, value: string) => string
    onRepeated?: (name: Name, values: readonly string[]) => string | undefined
  } = {}
): { [Key in Name]?: string } {
  if (raw !== undefined && (typeof raw !== 'object' || Array.isArray(raw)))
    throw new OAuthError('invalid_request', 'The request must hold its parameters by name.')
  const params: { [Key in Name]?: string } = {}
  if (!isObject(raw)) return params
  for (const name of Object.keys(limits) as Name[]) {
    if (!Object.hasOwn(raw, name)) continue
    const sent = raw[name]
    const value = isRepeated(sent) ? (onRepeated?.(name, sent) ?? sent) : sent
    if (value === undefined || value === '') continue
    if (typeof value !== 'string') throw new OAuthError('invalid_request', `${name} must be a string, sent once.`)
    const fits = Buffer.byteLength(value) <= limits[name]
    if (!fits && onTooLong === undefined) throw new OAuthError('invalid_request', `${name} is too long.`)
    params[name] = fits || onTooLong === undefined ? value : onTooLong(name, value)
  }
  return params
}

/** True for the array that the parsers of queries and forms return for a repeated parameter. */
const isRepeated = (value: unknown): value is string[] =>
  Array.isArray(value) && value.length > 1 && value.every((one) => typeof one === 'string')

/**
 * The value of a required parameter.
 * @throws OAuthError `invalid_request`
 */
export function required<Name extends string>(params: { [Key in Name]?: string }, name: Name): string {
  const value = params[name]
  if (value === undefined) throw new OAuthError('invalid_request', `${name} is missing.`)
  return value
}

/** Encodes parameters for a query or a form body, so that `readParams` can read them again. */
export function serializeParams(params: Readonly<Record<string, string | undefined>>): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) if (value !== undefined) form.append(name, value)
  return form.toString()
}

/** Accepts a token of any length, because a token that is too long is only an unknown token. */
const KNOWN = { token: Infinity, ...CLIENT_PARAMS } as const

/**
 * Reads the parameters of a revocation or introspection request. Ignores `token_type_hint`, because the form of a token
 * shows its kind, and a wrong hint must not hide a token.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 7009 §2.1, RFC 7662 §2.1
 */
export function parseTokenQuery(body: unknown): { token: string } & ClientParams {
  const params = readParams(body, KNOWN)
  return { ...params, token: required(params, 'token') }
}

/** The parameters of a logout request as they were sent: each a non-empty string, sent once. */
export type LogoutParams = { [Name in Exclude<keyof typeof LIMITS, 'returnTo'>]?: string }

/** The limit of each parameter in bytes of UTF-8. */
const LIMITS = {
  id_token_hint: 8192,
  logout_hint: 512,
  client_id: CLIENT_PARAMS.client_id,
  post_logout_redirect_uri: 2048,
  returnTo: 2048,
  state: 2048,
  ui_locales: 512
} as const

/**
 * Reads a logout request from the query or the form. All parameters are optional. Ignores empty and unknown
 * parameters. `returnTo`, Auth0's name for `post_logout_redirect_uri`, is used if
 * `post_logout_redirect_uri` is missing.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see OpenID Connect RP-Initiated Logout 1.0 §2
 */
export function readLogoutParams(raw: unknown): LogoutParams {
  const { returnTo, ...params } = readParams(raw, LIMITS)
  return returnTo === undefined || params.post_logout_redirect_uri !== undefined
    ? params
    : { ...params, post_logout_redirect_uri: returnTo }
}

/** Parameters of every token request, each with its limit in bytes of UTF-8. `parseScope` limits `scope`. */
const COMMON = { grant_type: 256, scope: Infinity, resource: 2048, audience: 2048, ...CLIENT_PARAMS } as const
type Common = Exclude<keyof typeof COMMON, 'grant_type'>

/** Only `resource` may be repeated. @see RFC 8707 §2 */
const severalResources = (name: string, values: readonly string[]): string | undefined =>
  name === 'resource' ? joinResources(values) : undefined

/** The sent parameters of a token request: each a non-empty string. `Name`: the names of the grant's own parameters. */
export type TokenRequestParams<Name extends string = never> = { grant_type: string } & {
  [Key in Common]?: string
} & { [Key in Name]?: string }

/**
 * Makes a reader of token requests. `limits` are the parameters of all grants, each with its limit in bytes of UTF-8.
 * Unknown parameters are ignored. Merges the limits only once, because V8 would make a new hidden class for each merged
 * object, and keep it until the next major garbage collection.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 6749 §3.2, §4.3.2
 */
export function tokenRequestReader<Name extends string>(
  limits: Readonly<Record<Name, number>>
): (body: unknown) => TokenRequestParams<Name> {
  const all = { ...limits, ...COMMON }
  return (body) => {
    const params = readParams<string>(body, all, { onRepeated: severalResources })
    required(params, 'grant_type')
    return params as TokenRequestParams<Name>
  }
}

const { grant_type: _grant, ...OF_CLIENTS } = COMMON

/**
 * Reads a request for a device code.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 8628 §3.1
 */
export const parseDeviceRequest = (body: unknown): { [Key in Common]?: string } =>
  readParams(body, OF_CLIENTS, { onRepeated: severalResources })

export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ID_TOKEN = 'urn:ietf:params:oauth:token-type:id_token'
export const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/** The parameters to exchange an ID token of another provider. @see RFC 8693 §2.1 */
interface TokenExchange {
  /** The ID token, unchecked. */
  subjectToken: string
  /** The `id` of the connection whose provider issued the ID token. */
  connection: string
  nonce: string | null
}

export type TokenExchangeParams = TokenRequestParams<
  | 'subject_token'
  | 'subject_token_type'
  | 'requested_token_type'
  | 'actor_token'
  | 'actor_token_type'
  | 'connection'
  | 'nonce'
>

/**
 * Reads the parameters of a token exchange. Refuses access tokens, because they don't prove the sender: every app that
 * ever received an access token could send it here.
 * @throws OAuthError `invalid_request`
 */
export function readTokenExchange(params: TokenExchangeParams): TokenExchange {
  const subjectToken = required(params, 'subject_token')
  const connection = required(params, 'connection')
  if (required(params, 'subject_token_type') !== ID_TOKEN)
    throw new OAuthError(
      'invalid_request',
      `subject_token_type must be ${ID_TOKEN}: no other token says who signed in to this client.`
    )
  if (params.actor_token !== undefined || params.actor_token_type !== undefined)
    throw new OAuthError('invalid_request', 'actor_token is not supported.')
  if (params.requested_token_type !== undefined && params.requested_token_type !== ACCESS_TOKEN)
    throw new OAuthError('invalid_request', `requested_token_type must be ${ACCESS_TOKEN}, or be left out.`)
  return { subjectToken, connection, nonce: params.nonce ?? null }
}

/**
 * The digest by which a used token is remembered. Leaves out the signature, because anybody can compute a second valid
 * ECDSA signature for the same token.
 */
export function assertionDigest(token: string): string {
  return digest(`assertion ${token.slice(0, token.lastIndexOf('.'))}`)
}
