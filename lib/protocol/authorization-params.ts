import { CLIENT_PARAMS } from './client-authentication.ts'
import { isObject } from './json.ts'
import { OAuthError } from '../errors.ts'
import { readParams, serializeParams } from './request-params.ts'
import { joinResources } from './resource.ts'
import { MAX_SCOPE_LENGTH } from './scope.ts'

export type ResponseMode = 'query' | 'fragment' | 'form_post'
export type Prompt = 'none' | 'login' | 'consent' | 'select_account' | 'create'

/**
 * The known parameters of an authorization request, each a non-empty string. A parameter may still be too long or
 * repeated until `checkParams` has refused that. Several values of `resource` are one string (`joinResources`).
 */
export type AuthorizationParams = { [Name in AuthorizationParamName]?: string } & {
  /** Set for a request that the client pushed. No parameter has this name. @see RFC 9126 */
  pushed?: Pushed
}

/**
 * A pushed request: its `request_uri`, its id, and the time at which it was pushed, in milliseconds since the epoch.
 */
export interface Pushed {
  uri: string
  id: string
  at: number
}

type AuthorizationParamName =
  | 'client_id'
  | 'redirect_uri'
  | 'response_type'
  | 'response_mode'
  | 'scope'
  | 'state'
  | 'nonce'
  | 'prompt'
  | 'max_age'
  | 'display'
  | 'login_hint'
  | 'id_token_hint'
  | 'ui_locales'
  | 'claims_locales'
  | 'acr_values'
  | 'claims'
  | 'code_challenge'
  | 'code_challenge_method'
  | 'dpop_jkt'
  | 'request'
  | 'request_uri'
  | 'registration'
  | 'screen_hint'
  | 'connection'
  | 'resource'
  | 'audience'

/** The limit of each parameter in bytes of UTF-8. No RFC sets such limits. Requests of real clients stay below them. */
const LIMITS: Readonly<Record<AuthorizationParamName, number>> = {
  client_id: CLIENT_PARAMS.client_id,
  redirect_uri: 2048,
  response_type: 128,
  response_mode: 64,
  scope: MAX_SCOPE_LENGTH,
  state: 2048,
  nonce: 512,
  prompt: 128,
  max_age: 32,
  display: 64,
  login_hint: 512,
  id_token_hint: 8192,
  ui_locales: 512,
  claims_locales: 512,
  acr_values: 1024,
  claims: 4096,
  code_challenge: 128,
  code_challenge_method: 64,
  dpop_jkt: 64,
  request: 8192,
  request_uri: 2048,
  registration: 4096,
  screen_hint: 64,
  connection: 64,
  resource: 2048,
  audience: 2048
}
/** The maximum length of a request in a URL, because Node.js limits request line and headers to 16 kB together. */
export const MAX_SERIALIZED = 8192
/** Replaces the value of a parameter that was sent more than once. `checkParams` refuses this value. */
const REPEATED = '\u0000repeated'
/** If one of these parameters is not valid, the user sees the error, because it can't be sent to the client. */
const DECIDE_WHO_IS_ANSWERED: readonly string[] = ['client_id', 'redirect_uri']
export const RESPONSE_MODES: readonly ResponseMode[] = ['query', 'fragment', 'form_post']

/**
 * Reads an authorization request from the query or the form. Ignores empty and unknown parameters. Reads `state` and
 * `response_mode` from the request object if the query or form lacks them.
 *
 * Refuses at once a `client_id` or `redirect_uri` that is too long or repeated, and a `state` that can't be returned:
 * repeated, or longer than `MAX_SERIALIZED`. `checkParams` refuses any other parameter that is too long or repeated,
 * after the client is known. Until then, a too long value is shortened, but stays above its limit. A repeated one is
 * replaced by `REPEATED`. Exceptions: `state` is never shortened, and several values of `resource` are joined.
 * @throws OAuthError `invalid_request` naming the parameter
 * @see RFC 6749 §3.1
 */
export function readAuthorizationParams(raw: unknown): AuthorizationParams {
  const params: AuthorizationParams = readParams(raw, LIMITS, {
    onTooLong(name, value) {
      // A `state` longer than `MAX_SERIALIZED` can't be returned in a URL.
      if (DECIDE_WHO_IS_ANSWERED.includes(name) || (name === 'state' && value.length > MAX_SERIALIZED))
        throw tooLong(name)
      return name === 'state' ? value : value.slice(0, LIMITS[name] + 1)
    },
    // `undefined` refuses the request at once. Of two `state` values, neither could be returned.
    onRepeated: (name, values) =>
      name === 'resource'
        ? joinResources(values)
        : name === 'state' || DECIDE_WHO_IS_ANSWERED.includes(name)
          ? undefined
          : REPEATED
  })
  if (params.request === undefined || (params.state !== undefined && params.response_mode !== undefined)) return params
  const { state, responseMode } = readRequestObject(params.request)
  if (params.state === undefined && state !== undefined && Buffer.byteLength(state) <= LIMITS.state)
    params.state = state
  if (params.response_mode === undefined && RESPONSE_MODES.some((known) => known === responseMode))
    params.response_mode = responseMode as ResponseMode
  return params
}

/** @throws OAuthError `invalid_request` for an overlong or repeated parameter, or if the whole request is too long */
export function checkParams(params: AuthorizationParams): void {
  for (const name of Object.keys(LIMITS) as AuthorizationParamName[]) {
    const value = params[name]
    if (value === REPEATED) throw new OAuthError('invalid_request', `${name} must be sent once.`)
    if (value !== undefined && Buffer.byteLength(value) > LIMITS[name]) throw tooLong(name)
  }
  if (!fitsAddress(params)) throw wholeTooLong()
}

/** True if the request fits into the address of one of our pages. */
export function fitsAddress(params: AuthorizationParams): boolean {
  return inAddress(params).length <= MAX_SERIALIZED
}

/**
 * Writes the request into the address of one of our pages.
 * @throws OAuthError `invalid_request` if it is too long
 */
export function carried(params: AuthorizationParams): string {
  if (!fitsAddress(params)) throw wholeTooLong()
  return inAddress(params)
}

/** The request in the address of one of our pages. The `request_uri` stands for a pushed request. @see RFC 9126 §4 */
export function inAddress({ pushed, ...params }: AuthorizationParams): string {
  return serializeParams(pushed === undefined ? params : { client_id: params.client_id, request_uri: pushed.uri })
}

function wholeTooLong(): OAuthError {
  return new OAuthError('invalid_request', 'The authorization request is too long.')
}

function tooLong(name: string): OAuthError {
  return new OAuthError('invalid_request', `${name} is too long.`)
}

/**
 * The response mode for this request and for its errors. If `response_mode` is missing or invalid, the response type
 * decides: the fragment for types with a token or ID token, because their clients look for errors there, else the
 * query.
 * @see OAuth 2.0 Multiple Response Type Encoding Practices §2.1, §5
 */
export function responseModeOf(params: AuthorizationParams): ResponseMode {
  const mode = RESPONSE_MODES.find((known) => known === params.response_mode)
  if (mode !== undefined) return mode
  return wordsOf(params.response_type).some((type) => type === 'token' || type === 'id_token') ? 'fragment' : 'query'
}

/**
 * Removes the parameters that a completed step has satisfied: `screen_hint`, the prompts of the step, and after `login`
 * also `max_age`. Otherwise the same prompt would repeat forever.
 */
export function satisfied(params: AuthorizationParams, step: 'login' | 'consent'): AuthorizationParams {
  const done = step === 'login' ? ['login', 'select_account', 'create'] : ['consent']
  const { prompt, max_age: maxAge, screen_hint: _shown, ...rest } = params
  const left = wordsOf(prompt)
    .filter((one) => !done.includes(one))
    .join(' ')
  return {
    ...rest,
    ...(left === '' ? {} : { prompt: left }),
    ...(step === 'login' || maxAge === undefined ? {} : { max_age: maxAge })
  }
}

/**
 * True if the client asks for the sign-up page: by `prompt=create`, or by Auth0's `screen_hint=signup`.
 * @see Initiating User Registration via OpenID Connect 1.0 §4
 */
export function wantsSignUp({ prompt, screen_hint: hint }: AuthorizationParams): boolean {
  return hint === 'signup' || wordsOf(prompt).includes('create')
}

/** The words of a space-separated list. */
export function wordsOf(list: string | undefined): string[] {
  return (list ?? '').split(' ').filter((word) => word !== '')
}

/** The fields of a request object that are needed to return an error to the client. */
interface RequestObject {
  state?: string
  responseMode?: string
}

/**
 * Reads only `state` and `response_mode` from an unsigned request object. Request objects are not supported. A client
 * that sent both only in the object needs them to receive that error. The two values are as trustworthy as the query
 * that contained the object. `{}` for a malformed or signed object.
 * @see OpenID Connect Core 1.0 §6.1, RFC 7519 §6
 */
export function readRequestObject(request: string): RequestObject {
  const [head = '', body = '', signature, ...more] = request.split('.')
  if (signature !== '' || more.length > 0 || parsePart(head)?.['alg'] !== 'none') return {}
  const { state, response_mode: responseMode } = parsePart(body) ?? {}
  return {
    ...(typeof state === 'string' && state !== '' ? { state } : {}),
    ...(typeof responseMode === 'string' ? { responseMode } : {})
  }
}

/** `null`: not a JSON object in base64url. */
function parsePart(part: string): Record<string, unknown> | null {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return null
  try {
    const parsed: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')))
    return isObject(parsed) ? parsed : null
  } catch {
    return null
  }
}
