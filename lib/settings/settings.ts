import type { TSchema } from '@sinclair/typebox'
import type { RedisClient } from '../adapters/redis/connection.ts'
import type { ClaimsFunction } from '../oauth/deps.ts'
import type { ScopeTexts } from '../pages/own-texts.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { JsonWebKeyObject } from '../ports/jwt.ts'
import type { State } from '../ports/state.ts'
import type { UserStore } from '../ports/user-store.ts'
import type { AuthorityOptions } from './options.ts'
import type { PathName } from './paths.ts'
import type { ConnectionSettings } from './sections/connections.ts'
import type { DecoratorName } from './sections/decorators.ts'
import type { FactorSettings } from './sections/factors.ts'
import type { PagesSettings } from './sections/pages.ts'
import type { PasswordSettings } from './sections/password.ts'
import type { RateLimits } from './sections/rate-limit.ts'
import type { RegistrationSettings } from './sections/registration.ts'
import type { TokenSettings } from './sections/tokens.ts'

/** A feature, as far as the settings know it. */
export interface FeatureSection {
  name: string
  /** Its top-level options: type, default and prose. */
  options: Readonly<Record<string, TSchema>>
  /** `null`: the feature is off. Throws a start error if another option forbids it. */
  resolve(given: AuthorityOptions): unknown
  /** The values of `acr` that sign-ins can have with the feature. */
  acr?: readonly string[]
}

/**
 * The checked options with every default filled in, and times with their unit in the name. Nothing is `undefined`;
 * `null` is an absent part, or a choice left to the plugin.
 */
export interface Settings extends TokenSettings {
  /** As the host spelled it, with a trailing slash if it has one. */
  issuer: string
  allowInsecureIssuer: boolean
  users: UserStore
  prefix: string
  /** The paths that the host has moved. */
  paths: Readonly<{ [Name in PathName]?: string }>
  /** `null`: in Redis if there is one, otherwise in memory. */
  state: State | null
  redis: true | RedisClient | null
  /** The first seals, all open. Empty without a secret. */
  secrets: readonly string[]
  /** `null`: managed keys. */
  keys: JsonWebKeyObject[] | { secret: string } | null
  clients: Client[] | ClientStore
  passwordGrant: 'first-party' | 'clients' | false
  scopes: readonly string[]
  /** The host's descriptions for people. */
  scopeTexts: ScopeTexts
  /** The values of `acr` that sign-ins can have, from weak to strong. */
  acrValues: readonly string[]
  pages: PagesSettings | false
  password: PasswordSettings
  registration: RegistrationSettings | false
  connections: readonly ConnectionSettings[]
  sendMessage: NonNullable<AuthorityOptions['sendMessage']> | null
  /** `null`: no second factors. */
  factors: FactorSettings | null
  /** The settings of each feature that is on, by its name. */
  features: Readonly<Record<string, unknown>>
  rateLimit: RateLimits | false
  decorators: Readonly<Record<DecoratorName, string>>
  claims: ClaimsFunction | null
  /** `null`: the machine's clock. */
  clock: Clock | null
}
