import { OAuthError } from '../errors.ts'
import {
  checkParams,
  RESPONSE_MODES,
  responseModeOf,
  wordsOf,
  type AuthorizationParams,
  type Prompt,
  type ResponseMode
} from './authorization-params.ts'
import { parseClaimsRequest, type ClaimsRequest } from './claims-request.ts'
import { isCodeChallenge } from './pkce.ts'
import { parseScope } from './scope.ts'

export {
  carried,
  fitsAddress,
  readAuthorizationParams,
  responseModeOf,
  satisfied,
  wantsSignUp
} from './authorization-params.ts'
export { serializeParams } from './request-params.ts'
export type { AuthorizationParams, ResponseMode } from './authorization-params.ts'

/** A well-formed authorization request. @see RFC 6749 §4.1.1, OpenID Connect Core 1.0 §3.1.2.1 */
export interface AuthorizationRequest {
  /** The parameters of the request, to be carried on in a URL. */
  params: AuthorizationParams
  responseMode: ResponseMode
  state: string | undefined
  /** Requested scope; `undefined` where none was. */
  scopes: string[] | undefined
  nonce: string | undefined
  prompt: Prompt[]
  /** Seconds. */
  maxAge: number | undefined
  loginHint: string | undefined
  idTokenHint: string | undefined
  /** BCP 47, most wanted first. */
  uiLocales: string[]
  acrValues: string[]
  claims: ClaimsRequest
  codeChallenge: string | undefined
}

const PROMPTS: readonly Prompt[] = ['none', 'login', 'consent', 'select_account', 'create']
const LANGUAGE_TAG = /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,7}$/

/**
 * The request that these parameters make, judged apart from its client and redirect URI.
 * @throws OAuthError the first check's that fails, to be sent to the redirect URI
 * @see RFC 6749 §4.1.1, §4.1.2.1, OpenID Connect Core 1.0 §3.1.2.1, §3.1.2.6
 */
export function parseAuthorizationRequest(params: AuthorizationParams): AuthorizationRequest {
  const request: AuthorizationRequest = {
    params,
    responseMode: responseModeOf(params),
    state: params.state,
    scopes: undefined,
    nonce: params.nonce,
    prompt: [],
    maxAge: undefined,
    loginHint: params.login_hint,
    idTokenHint: params.id_token_hint,
    // A word that is no language tag is ignored. @see OpenID Connect Core 1.0 §3.1.2.1
    uiLocales: wordsOf(params.ui_locales).filter((tag) => LANGUAGE_TAG.test(tag)),
    acrValues: wordsOf(params.acr_values),
    claims: {},
    codeChallenge: undefined
  }
  checkParams(params)
  for (const check of CHECKS) Object.assign(request, check(params))
  return request
}

/** A check either refuses the request or says what the parameters that it read mean. */
type Check = (params: AuthorizationParams) => Partial<AuthorizationRequest>

/** In this order: a request object would bring the other parameters, so it is refused before one of them is missed. */
const CHECKS: readonly Check[] = [
  noRequestObject,
  noRequestUri,
  noRegistration,
  checkResponseType,
  checkResponseMode,
  checkScope,
  checkPrompt,
  checkMaxAge,
  checkCodeChallenge,
  checkClaims
]

/** @see OpenID Connect Core 1.0 §6.1 */
function noRequestObject({ request }: AuthorizationParams): Partial<AuthorizationRequest> {
  if (request !== undefined) throw new OAuthError('request_not_supported', 'Request objects are not supported.')
  return {}
}

/** @see OpenID Connect Core 1.0 §6.2 */
function noRequestUri({ request_uri: requestUri }: AuthorizationParams): Partial<AuthorizationRequest> {
  if (requestUri !== undefined) throw new OAuthError('request_uri_not_supported', 'request_uri is not supported.')
  return {}
}

/** @see OpenID Connect Core 1.0 §7.2.1 */
function noRegistration({ registration }: AuthorizationParams): Partial<AuthorizationRequest> {
  if (registration !== undefined) throw new OAuthError('registration_not_supported', 'registration is not supported.')
  return {}
}

/** @see RFC 6749 §3.1.1, §4.1.2.1, RFC 9700 §2.1.2 */
function checkResponseType({ response_type: responseType }: AuthorizationParams): Partial<AuthorizationRequest> {
  if (responseType === undefined) throw new OAuthError('invalid_request', 'response_type is missing.')
  if (responseType !== 'code') throw new OAuthError('unsupported_response_type', 'response_type must be code.')
  return {}
}

/** @see OAuth 2.0 Multiple Response Type Encoding Practices §2.1, OAuth 2.0 Form Post Response Mode §1 */
function checkResponseMode({ response_mode: responseMode }: AuthorizationParams): Partial<AuthorizationRequest> {
  if (responseMode !== undefined && !RESPONSE_MODES.some((known) => known === responseMode))
    throw new OAuthError('invalid_request', `response_mode must be one of ${RESPONSE_MODES.join(', ')}.`)
  return {}
}

/** @see RFC 6749 §3.3 */
function checkScope({ scope }: AuthorizationParams): Partial<AuthorizationRequest> {
  return { scopes: parseScope(scope) }
}

/**
 * An unknown value may be ignored or refused. It asks for something that would not happen, so it is refused; `create`
 * is, by a check of its own, where nobody can sign up.
 * @see OpenID Connect Core 1.0 §3.1.2.1, Initiating User Registration via OpenID Connect 1.0 §4
 */
function checkPrompt(params: AuthorizationParams): Partial<AuthorizationRequest> {
  const asked = new Set(wordsOf(params.prompt))
  const prompt = PROMPTS.filter((known) => asked.has(known))
  if (prompt.length < asked.size)
    throw new OAuthError('invalid_request', `prompt must be made of ${PROMPTS.join(', ')}.`)
  if (prompt.includes('none') && prompt.length > 1)
    throw new OAuthError('invalid_request', 'prompt must not hold none together with another value.')
  return { prompt }
}

/** @see OpenID Connect Core 1.0 §3.1.2.1 */
function checkMaxAge({ max_age: maxAge }: AuthorizationParams): Partial<AuthorizationRequest> {
  if (maxAge === undefined) return {}
  if (!/^\d{1,12}$/.test(maxAge)) throw new OAuthError('invalid_request', 'max_age must be a whole number of seconds.')
  return { maxAge: Number(maxAge) }
}

/**
 * The client's registration decides whether there must be one. No method means `plain`. @see RFC 7636 §4.3, §4.4.1, RFC
 * 9700 §2.1.1
 */
function checkCodeChallenge({
  code_challenge: codeChallenge,
  code_challenge_method: method
}: AuthorizationParams): Partial<AuthorizationRequest> {
  if (codeChallenge === undefined) {
    if (method !== undefined) throw new OAuthError('invalid_request', 'code_challenge is missing.')
    return {}
  }
  if (method !== 'S256') throw new OAuthError('invalid_request', 'code_challenge_method must be S256.')
  if (!isCodeChallenge(codeChallenge))
    throw new OAuthError('invalid_request', 'code_challenge must be 43 characters of base64url.')
  return { codeChallenge }
}

/** @see OpenID Connect Core 1.0 §5.5 */
function checkClaims({ claims }: AuthorizationParams): Partial<AuthorizationRequest> {
  return claims === undefined ? {} : { claims: parseClaimsRequest(claims) }
}
