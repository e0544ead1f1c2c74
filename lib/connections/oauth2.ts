import type { ConnectionOption, ConnectionOptions, OauthProvider } from '../ports/provider.ts'
import { connection, oauthProvider, optionsOf, parameterMistake } from './make.ts'

export interface Oauth2Options extends ConnectionOptions {
  id: string
  /**
   * Identifies the provider in each stored link, for example by its URL. Never change this value, because existing
   * links would no longer be found. An `iss` in an authorization response must be equal to this value.
   */
  issuer: string
  authorizationEndpoint: string
  tokenEndpoint: string
  scopes: string[]
  /** Identifies the user through the provider's API. An error ends the sign-in. */
  identify: OauthProvider['identify']
  /** The client authentication at the token endpoint. Default: `client_secret_post`. */
  clientAuthentication?: 'client_secret_post' | 'client_secret_basic' | undefined
  /** Parameters for every authorization request. */
  parameters?: Record<string, string> | undefined
}

/**
 * Sign-in with an OAuth 2.0 provider that has no ID tokens, but an API of its own that identifies the user.
 *
 * @see docs/guides/connections/another-provider.md
 * @example
 * oauth2({
 *   id: 'gitea', name: 'Gitea', issuer: 'https://gitea.example', clientId, clientSecret,
 *   authorizationEndpoint: 'https://gitea.example/login/oauth/authorize',
 *   tokenEndpoint: 'https://gitea.example/login/oauth/access_token',
 *   scopes: ['read:user'],
 *   identify: async (get) => {
 *     const user = await get('https://gitea.example/api/v1/user') as { id: number, full_name: string }
 *     return { subject: String(user.id), profile: { name: user.full_name } }
 *   }
 * })
 */
export function oauth2(given: Oauth2Options): ConnectionOption {
  const {
    issuer,
    authorizationEndpoint,
    tokenEndpoint,
    identify,
    clientAuthentication,
    parameters = {},
    ...options
  } = optionsOf(
    'oauth2',
    given,
    '{ id, issuer, clientId, clientSecret, authorizationEndpoint, tokenEndpoint, scopes, identify }'
  )
  return connection(
    options,
    { id: options.id, name: options.id },
    oauthProvider({
      issuer,
      endpoints: { authorization: authorizationEndpoint, token: tokenEndpoint },
      clientAuthentication: clientAuthentication ?? 'client_secret_post',
      scopes: options.scopes,
      parameters,
      mistake:
        typeof identify === 'function'
          ? parameterMistake(parameters)
          : { option: 'identify', got: identify, takes: "a function that asks the provider's API who the person is" },
      identify
    })
  )
}
