import type { ConnectionOption, ConnectionOptions, ProviderEndpoints, ProviderMistake } from '../ports/provider.ts'
import { ID_TOKEN_ALG } from '../protocol/upstream-answer.ts'
import {
  authenticatedAt,
  connection,
  openidProvider,
  openidWishes,
  optionsOf,
  parameterMistake,
  profileClaims,
  text
} from './make.ts'

export interface OidcOptions extends ConnectionOptions {
  id: string
  /** The issuer byte for byte as the provider spells it, because its metadata and ID tokens must have the same text. */
  issuer: string
  /** The endpoints of a provider without discovery. Default: those of the provider's metadata. */
  endpoints?: (ProviderEndpoints & { keys: string }) | undefined
  /**
   * The accepted algorithms of ID tokens. Default: those of the provider's metadata, or `RS256` if the metadata name
   * none. `none` and HMAC algorithms are not accepted.
   */
  signingAlgs?: string[] | undefined
  /** The client authentication at the token endpoint. Default: as in the provider's metadata. */
  clientAuthentication?: 'client_secret_post' | 'client_secret_basic' | undefined
  /** A private key in PEM (PKCS #8), instead of a secret. @see OpenID Connect Core 1.0 §9 `private_key_jwt` */
  privateKey?: string | undefined
  /** The id of `privateKey` at the provider. */
  keyId?: string | undefined
  /**
   * True to let a verified address of this provider link to an existing account (`linking: 'verified-email'`). Sign-ups
   * with such an address then do not count under the rate limit `register`. Set this option only if the provider
   * controls those mailboxes, like your own organization's. Default: `false`.
   */
  trustEmail?: boolean | undefined
  /** True to call userinfo, if the provider has it. Default: `true`. */
  userinfo?: boolean | undefined
  /** Parameters for every authorization request, such as `{ organization: 'acme' }`. */
  parameters?: Record<string, string> | undefined
  /** How the provider sends authorization responses. Default: `query`. */
  responseMode?: 'query' | 'form_post' | undefined
}

/**
 * Sign-in with any OpenID provider: Okta, Auth0, Keycloak, Ping, a second instance of this plugin. The provider's
 * metadata are read at the first sign-in. Known metadata stay in use while the provider is down.
 *
 * @see docs/guides/connections/openid-provider.md
 * @example
 * connections: [oidc({ id: 'acme', name: 'Acme', issuer: 'https://sso.acme.com', clientId, clientSecret })]
 */
export function oidc(given: OidcOptions): ConnectionOption {
  const {
    issuer,
    endpoints,
    signingAlgs,
    clientAuthentication,
    trustEmail = false,
    userinfo = true,
    parameters = {},
    responseMode = 'query',
    ...options
  } = optionsOf('oidc', given, '{ id, issuer, clientId, clientSecret }')
  return connection(
    options,
    { id: options.id, name: options.id },
    openidProvider({
      issuer,
      endpoints: endpoints ?? null,
      signingAlgs: signingAlgs ?? null,
      userinfo,
      parameters,
      formPost: responseMode === 'form_post',
      provesFreshness: true,
      clientAuthentication: clientAuthentication ?? 'metadata',
      wishes: openidWishes,
      mistake: mistakeOf(signingAlgs, parameters),
      assertion: (claims) => ({
        subject: String(claims['sub']),
        email: text(claims['email']),
        emailVerified: claims['email_verified'] === true,
        emailAuthoritative: trustEmail,
        profile: profileClaims(claims),
        authenticatedAt: authenticatedAt(claims)
      })
    })
  )
}

function mistakeOf(algs: unknown, parameters: unknown): ProviderMistake | null {
  if (
    algs !== undefined &&
    !(Array.isArray(algs) && algs.length > 0 && algs.every((alg) => typeof alg === 'string' && ID_TOKEN_ALG.test(alg)))
  )
    return {
      option: 'signingAlgs',
      got: algs,
      takes:
        'an array of RS256, PS256, ES256 and their longer kin, EdDSA, or Ed25519: a signature by a shared ' +
        'secret, or none, says nothing'
    }
  return parameterMistake(parameters)
}
