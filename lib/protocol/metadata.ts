/** What this configuration really offers. Endpoints that are off are left out. */
export interface OfferedEndpoints {
  issuer: string
  endpoints: { token: string, revoke: string, introspect: string | null, jwks: string | null }
  grantTypes: readonly string[]
  scopes: readonly string[]
}

export interface AuthorizationServerMetadata {
  issuer: string
  token_endpoint: string
  revocation_endpoint: string
  introspection_endpoint?: string
  jwks_uri?: string
  grant_types_supported: string[]
  response_types_supported: string[]
  scopes_supported: string[]
  token_endpoint_auth_methods_supported: string[]
  revocation_endpoint_auth_methods_supported: string[]
  introspection_endpoint_auth_methods_supported?: string[]
}

const WITH_SECRET = ['client_secret_basic', 'client_secret_post']
const AUTH_METHODS = ['none', ...WITH_SECRET]

/**
 * The authorization server's metadata.
 *
 * `response_types_supported` is `[]` while there is no authorization endpoint: §2 requires the member, §3.2 says that a claim
 * without elements is left out. Consumers check for what is required, and an empty list says what is true.
 * @see RFC 8414 §2, §3.2
 */
export function authorizationServerMetadata ({ issuer, endpoints, grantTypes, scopes }: OfferedEndpoints): AuthorizationServerMetadata {
  return {
    issuer,
    token_endpoint: endpoints.token,
    revocation_endpoint: endpoints.revoke,
    ...(endpoints.introspect === null ? {} : { introspection_endpoint: endpoints.introspect }),
    ...(endpoints.jwks === null ? {} : { jwks_uri: endpoints.jwks }),
    grant_types_supported: [...grantTypes],
    response_types_supported: [],
    scopes_supported: [...scopes],
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    ...(endpoints.introspect === null ? {} : { introspection_endpoint_auth_methods_supported: WITH_SECRET })
  }
}

/** Where the document stands: the well-known part comes between the issuer's host and its path. @see RFC 8414 §3.1 */
export function metadataPath (issuer: string): string {
  const { pathname } = new URL(issuer)
  return `/.well-known/oauth-authorization-server${pathname === '/' ? '' : pathname}`
}
