import { RESPONSE_MODES } from './authorization-params.ts'
import { PROMPTS } from './authorization-request.ts'
import { AUTH_METHODS } from './client-authentication.ts'
import { JWS_ALGS } from './jws.ts'
import { ID_TOKEN_CLAIMS } from './id-token.ts'
import { CLAIM_SCOPES, CLAIMS_OF_SCOPE } from './user-claims.ts'

/** The endpoints and features that this configuration offers. Disabled features are left out. */
export interface OfferedEndpoints {
  issuer: string
  endpoints: { token: string; revoke: string; introspect: string; jwks: string | null }
  grantTypes: readonly string[]
  scopes: readonly string[]
  /**
   * The levels that sign-ins can reach and that APIs can require.
   * @see RFC 9470 §7
   */
  acrValues: readonly string[]
  /** `null`: no redirect sign-in, and so no ID tokens. */
  openid: OfferedOpenid | null
  /** The algorithms of DPoP proofs. Empty: the option is off. */
  dpopAlgs: readonly string[]
}

interface OfferedOpenid {
  endpoints: { authorize: string; userinfo: string; logout: string; par: string | null }
  /** True if every client must push its requests. @see RFC 9126 §5 */
  mustPush: boolean
  idTokenAlgs: readonly string[]
  /** BCP 47. */
  uiLocales: readonly string[]
  /** True if a person can create an account. */
  canSignUp: boolean
}

interface AuthorizationServerMembers {
  issuer: string
  token_endpoint: string
  revocation_endpoint: string
  introspection_endpoint: string
  jwks_uri?: string
  grant_types_supported: string[]
  response_types_supported: string[]
  scopes_supported: string[]
  acr_values_supported: string[]
  token_endpoint_auth_methods_supported: string[]
  token_endpoint_auth_signing_alg_values_supported: string[]
  revocation_endpoint_auth_methods_supported: string[]
  revocation_endpoint_auth_signing_alg_values_supported: string[]
  introspection_endpoint_auth_methods_supported: string[]
  introspection_endpoint_auth_signing_alg_values_supported: string[]
  dpop_signing_alg_values_supported?: string[]
}

interface OpenidMembers {
  authorization_endpoint: string
  userinfo_endpoint: string
  end_session_endpoint: string
  pushed_authorization_request_endpoint?: string
  require_pushed_authorization_requests?: boolean
  response_modes_supported: string[]
  code_challenge_methods_supported: string[]
  authorization_response_iss_parameter_supported: boolean
  subject_types_supported: string[]
  id_token_signing_alg_values_supported: string[]
  claims_supported: string[]
  claims_parameter_supported: boolean
  request_parameter_supported: boolean
  request_uri_parameter_supported: boolean
  prompt_values_supported: string[]
  ui_locales_supported: string[]
  backchannel_logout_supported: boolean
  backchannel_logout_session_supported: boolean
}

type ServerMetadata = AuthorizationServerMembers & Partial<OpenidMembers>

const CONFIDENTIAL = AUTH_METHODS.filter((method) => method !== 'none')

/**
 * The metadata of the authorization server and OpenID provider. Both well-known URLs serve this one document, so that
 * they never differ.
 *
 * `response_types_supported` is `[]` without an authorization endpoint: RFC 8414 §2 requires the member, although §3.2
 * says that a member without elements is left out. Consumers check that required members are present.
 * @see RFC 8414 §2, §3.2, OpenID Connect Discovery 1.0 §3
 */
export function serverMetadata({
  issuer,
  endpoints,
  grantTypes,
  scopes,
  acrValues,
  openid,
  dpopAlgs
}: OfferedEndpoints): ServerMetadata {
  return {
    issuer,
    token_endpoint: endpoints.token,
    revocation_endpoint: endpoints.revoke,
    introspection_endpoint: endpoints.introspect,
    ...(endpoints.jwks === null ? {} : { jwks_uri: endpoints.jwks }),
    grant_types_supported: [...grantTypes],
    response_types_supported: openid === null ? [] : ['code'],
    scopes_supported: [...scopes],
    acr_values_supported: [...acrValues],
    token_endpoint_auth_methods_supported: [...AUTH_METHODS],
    token_endpoint_auth_signing_alg_values_supported: [...JWS_ALGS],
    revocation_endpoint_auth_methods_supported: [...AUTH_METHODS],
    revocation_endpoint_auth_signing_alg_values_supported: [...JWS_ALGS],
    introspection_endpoint_auth_methods_supported: CONFIDENTIAL,
    introspection_endpoint_auth_signing_alg_values_supported: [...JWS_ALGS],
    // RFC 9449 §5.1
    ...(dpopAlgs.length === 0 ? {} : { dpop_signing_alg_values_supported: [...dpopAlgs] }),
    ...(openid === null ? {} : openidMembers(openid))
  }
}

function openidMembers({ endpoints, mustPush, idTokenAlgs, uiLocales, canSignUp }: OfferedOpenid): OpenidMembers {
  return {
    authorization_endpoint: endpoints.authorize,
    userinfo_endpoint: endpoints.userinfo,
    // OpenID Connect RP-Initiated Logout 1.0 §2.1
    end_session_endpoint: endpoints.logout,
    ...(endpoints.par === null
      ? {}
      : { pushed_authorization_request_endpoint: endpoints.par, require_pushed_authorization_requests: mustPush }),
    // OAuth 2.0 Form Post Response Mode
    response_modes_supported: [...RESPONSE_MODES],
    // RFC 7636
    code_challenge_methods_supported: ['S256'],
    // RFC 9207 §3
    authorization_response_iss_parameter_supported: true,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...idTokenAlgs],
    claims_supported: [...ID_TOKEN_CLAIMS, ...CLAIM_SCOPES.flatMap((scope) => CLAIMS_OF_SCOPE[scope])],
    claims_parameter_supported: true,
    request_parameter_supported: false,
    // A missing member would mean true.
    request_uri_parameter_supported: false,
    // Initiating User Registration via OpenID Connect 1.0 §4.1
    prompt_values_supported: PROMPTS.filter((prompt) => prompt !== 'create' || canSignUp),
    ui_locales_supported: [...uiLocales],
    // OpenID Connect Back-Channel Logout 1.0 §2.1
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true
  }
}

/**
 * The path of the OAuth metadata: the well-known part comes between the issuer's host and its path. @see RFC 8414 §3.1
 */
export function metadataPath(issuer: string): string {
  return `/.well-known/oauth-authorization-server${pathOf(issuer)}`
}

/**
 * The path of the OpenID metadata: the well-known part comes after the issuer's path. `mountedAt` is the prefix under
 * which the host has registered the plugin. It is removed from the path, because Fastify adds it to the route.
 * @see OpenID Connect Discovery 1.0 §4
 */
export function openidConfigurationPath(issuer: string, mountedAt = ''): string {
  const path = pathOf(issuer)
  const below = path === mountedAt || path.startsWith(`${mountedAt}/`) ? path.slice(mountedAt.length) : path
  return `${below}/.well-known/openid-configuration`
}

function pathOf(issuer: string): string {
  return new URL(issuer).pathname.replace(/\/$/, '')
}
