/**
 * `fastify-authority/connections`: the providers that people can sign in with, for the option `connections`.
 *
 * @example
 * import { google } from 'fastify-authority/connections'
 * await app.register(authPlugin, { issuer, users, secret, connections: [google({ clientId, clientSecret })] })
 */
export * from './oauth2.ts'
export * from './oidc.ts'
export * from './providers.ts'

export { UpstreamError } from '../errors.ts'
export type { UpstreamFailure } from '../errors.ts'
export type {
  Assertion,
  ConnectionOption,
  ConnectionOptions,
  OauthProvider,
  OpenidProvider,
  Provider,
  ProviderBase,
  ProviderEndpoints,
  ProviderGet,
  ProviderMistake
} from '../ports/provider.ts'
export type { ConnectionSignIn, Linking, UpstreamTokens, UpstreamWishes } from '../ports/upstream.ts'
export type { User } from '../ports/user-store.ts'
