/**
 * `fastify-authority/connections`: the providers that people can sign in with, for the option `connections`.
 *
 * @example
 * import { google } from 'fastify-authority/connections'
 * await app.register(authPlugin, { issuer, users, secret, connections: [google({ clientId, clientSecret })] })
 */
export { apple } from './apple.ts'
export type { AppleOptions } from './apple.ts'
export { discord } from './discord.ts'
export type { DiscordOptions } from './discord.ts'
export { facebook } from './facebook.ts'
export type { FacebookOptions } from './facebook.ts'
export { github } from './github.ts'
export type { GithubOptions } from './github.ts'
export { google } from './google.ts'
export type { GoogleOptions } from './google.ts'
export { microsoft } from './microsoft.ts'
export type { MicrosoftOptions } from './microsoft.ts'
export { oauth2 } from './oauth2.ts'
export type { Oauth2Options } from './oauth2.ts'
export { oidc } from './oidc.ts'
export type { OidcOptions } from './oidc.ts'

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
