import { OAuthError } from '../errors.ts'
import {
  type AuthorizationParams,
  checkParams,
  type Prompt,
  RESPONSE_MODES,
  type ResponseMode,
  responseModeOf,
  wordsOf
} from './authorization-params.ts'
import { type ClaimsRequest, parseClaimsRequest } from './user-claims.ts'
import { parseScope } from './scope.ts'
import { digest, equalSecrets, isDigest } from './digest.ts'
import { checkRegistrableRedirectUri } from './redirect-uri.ts'
import { serializeParams } from './request-params.ts'

/** A well-formed authorization request. @see RFC 6749 §4.1.1, OpenID Connect Core 1.0 §3.1.2.1 */
export interface AuthorizationRequest {
  /** The parameters of the request, for the URLs of further pages. */
  params: AuthorizationParams
  responseMode: ResponseMode
  state: string | undefined
  /** The requested scope. `undefined` if the request had none. */
  scopes: string[] | undefined
  nonce: string | undefined
  prompt: Prompt[]
  /** Seconds. */
  maxAge: number | undefined
  loginHint: string | undefined
  idTokenHint: string | undefined
  /** BCP 47, in order of preference. */
  uiLocales: string[]
  acrValues: string[]
  claims: ClaimsRequest
  codeChallenge: string | undefined
  /** The thumbprint of the key that the code is bound to. @see RFC 9449 §10 */
  dpopJkt: string | undefined
}

export const PROMPTS: readonly Prompt[] = ['none', 'login', 'consent', 'select_account', 'create']
const LANGUAGE_TAG = /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,7}$/

/**
 * Parses the parameters, without checking client and redirect URI.
 * @throws OAuthError of the first failed check, which can be sent to the redirect URI
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
    // Ignores words that are not language tags. @see OpenID Connect Core 1.0 §3.1.2.1
    uiLocales: wordsOf(params.ui_locales).filter((tag) => LANGUAGE_TAG.test(tag)),
    acrValues: wordsOf(params.acr_values),
    claims: {},
    codeChallenge: undefined,
    dpopJkt: undefined
  }
  checkParams(params)
  for (const check of CHECKS) Object.assign(request, check(params))
  return request
}

/** A check either refuses the request or returns its parsed parameters. */
type Check = (params: AuthorizationParams) => Partial<AuthorizationRequest>

/**
 * The checks in their order. Request objects are refused first, because an object could contain a parameter that a
 * later check would report as missing.
 */
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
  checkDpopJkt,
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
 * Refuses an unknown value, as the standard permits, because ignoring it would skip what the client asked for. A
 * separate check refuses `create` if nobody can sign up.
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
 * The client's registration decides whether a challenge is required. A missing method means `plain`, which is refused.
 * @see RFC 7636 §4.3, §4.4.1, RFC 9700 §2.1.1
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
  if (!isDigest(codeChallenge))
    throw new OAuthError('invalid_request', 'code_challenge must be 43 characters of base64url.')
  return { codeChallenge }
}

/** @see RFC 9449 §10 */
function checkDpopJkt({ dpop_jkt: dpopJkt }: AuthorizationParams): Partial<AuthorizationRequest> {
  if (dpopJkt !== undefined && !isDigest(dpopJkt))
    throw new OAuthError('invalid_request', 'dpop_jkt must be 43 characters of base64url.')
  return { dpopJkt }
}

/** @see OpenID Connect Core 1.0 §5.5 */
function checkClaims({ claims }: AuthorizationParams): Partial<AuthorizationRequest> {
  return claims === undefined ? {} : { claims: parseClaimsRequest(claims) }
}

const CODE_VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/

/**
 * True if the verifier proves that the token request comes from the sender of the authorization request. Both absent is
 * `true`: the authorization endpoint has checked whether PKCE is required. A verifier without a challenge is `false`:
 * an attacker removed the challenge from the authorization request, or swapped the code. Takes the same time for near
 * and far guesses.
 * @see RFC 7636 §4.1, §4.6, RFC 9700 §4.8.2
 */
export function verifyCodeChallenge(verifier: string | undefined, challenge: string | undefined): boolean {
  if (verifier === undefined || challenge === undefined) return verifier === challenge
  return CODE_VERIFIER.test(verifier) && equalSecrets(digest(verifier), challenge)
}

/**
 * Facts of an authorization or token request that the token endpoint, ID tokens and userinfo need later. The
 * authorization code and its refresh token family keep them as JSON in `RefreshTokenFamily.authorization`.
 */
export interface AuthorizationDetails {
  /** Absent for a grant without a redirect. */
  redirectUri?: string
  /**
   * Absent for a grant without a redirect, and for a confidential client with `requirePkce: false` that sent none.
   * @see RFC 7636 §4.4
   */
  codeChallenge?: string
  nonce?: string
  /** The key that the code is bound to. @see RFC 9449 §10 */
  dpopJkt?: string
  /** The key that the refresh tokens are bound to. @see RFC 9449 §5 */
  jkt?: string
  /** @see OpenID Connect Core 1.0 §5.5 */
  claims?: ClaimsRequest
  /** The `aud` of each API that the request named. @see RFC 8707 §2.1 */
  resources?: readonly string[]
  /** `false`: the grant gives no ID tokens. */
  idToken?: false
}

export function formatAuthorizationDetails(details: AuthorizationDetails): string {
  return JSON.stringify(details)
}

/** Reads a string that `formatAuthorizationDetails` made. */
export function readAuthorizationDetails(json: string | null): AuthorizationDetails {
  return json === null ? {} : (JSON.parse(json) as AuthorizationDetails)
}

/** An authorization response through the browser. */
export type AuthorizationResponse =
  | { kind: 'redirect'; location: string }
  | { kind: 'form'; action: string; params: Record<string, string> }

/**
 * Builds a response to this registered redirect URI. The query of the URI stays unchanged, byte for byte. The client
 * decodes each parameter to the same text. `location` is ASCII without line breaks. An `undefined` parameter is left
 * out.
 * @throws OAuthError `server_error` for a URI that could not be registered
 * @see RFC 6749 §3.1.2, §4.1.2, OAuth 2.0 Multiple Response Type Encoding Practices §2.1, OAuth 2.0 Form Post Response
 * Mode §2
 */
export function authorizationResponse(
  redirectUri: string,
  mode: ResponseMode,
  params: Readonly<Record<string, string | undefined>>,
  schemes: readonly string[] = []
): AuthorizationResponse {
  const reason = checkRegistrableRedirectUri(redirectUri, schemes)
  if (reason !== null)
    throw new OAuthError('server_error', 'The answer can not be sent.', {
      detail: `the redirect URI should have been ${reason}`
    })
  if (mode === 'form_post') {
    const sent = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined)
    return { kind: 'form', action: redirectUri, params: Object.fromEntries(sent) }
  }
  // Every decoder reads %20 as a space, but only form decoders read + as a space.
  const encoded = serializeParams(params).replaceAll('+', '%20')
  if (encoded === '') return { kind: 'redirect', location: redirectUri }
  return {
    kind: 'redirect',
    location: `${redirectUri}${mode === 'fragment' ? '#' : querySeparator(redirectUri)}${encoded}`
  }
}

/**
 * Returns the separator between the URI and added parameters. A `?` at the end of a query value is part of the value.
 */
function querySeparator(uri: string): string {
  const query = uri.indexOf('?')
  if (query < 0) return '?'
  return query === uri.length - 1 || uri.endsWith('&') ? '' : '&'
}
