import type { RedisClient } from '../adapters/redis/connection.ts'
import type { ClaimsFunction } from '../oauth/deps.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { ScopeTexts } from '../pages/own-texts.ts'
import type { Clock } from '../ports/clock.ts'
import type { JsonWebKeyObject } from '../ports/jwt.ts'
import type { SendMessage } from '../ports/message.ts'
import type { ConnectionOption } from '../ports/provider.ts'
import type { FactorStore } from '../ports/factor-store.ts'
import type { State } from '../ports/state.ts'
import type { User, UserStore } from '../ports/user-store.ts'
import type { FeatureOptions } from '../features/options.ts'
import type { PathName } from './paths.ts'
import type { DecoratorOptions } from './sections/decorators.ts'
import type { MfaOptions } from './sections/factors.ts'
import type { PasskeyOptions } from './sections/passkeys.ts'
import type { PagesOptions } from './sections/pages.ts'
import type { PasswordOptions } from './sections/password.ts'
import type { RateLimitOptions } from './sections/rate-limit.ts'
import type { RegistrationOptions } from './sections/registration.ts'
import type { TokenOptions } from './sections/tokens.ts'

/**
 * The options of `register(authPlugin, …)`. `docs/reference/options.md` has the table, made from the schemas. `Account`
 * is the row type of the user store.
 */
export interface AuthorityOptions<Account extends User = User> extends TokenOptions, FeatureOptions {
  issuer: string
  /** An `http:` issuer on any host, for development. Refused in production. */
  allowInsecureIssuer?: boolean | undefined
  users: UserStore<Account>
  /**
   * The type has no `| undefined` because Fastify's own option `prefix` has none. At run time `undefined` means the
   * default, as for every option.
   */
  prefix?: string
  paths?: Partial<Record<PathName, string | undefined>> | undefined
  state?: State | undefined
  /**
   * `true` for `app.redis` of @fastify/redis, or an ioredis client. It holds the counters, and the state unless the
   * option `state` names another.
   */
  redis?: true | RedisClient | undefined
  secret?: string | string[] | undefined
  keys?: JsonWebKeyObject[] | { secret: string } | undefined
  clients?: Client[] | ClientStore | undefined
  passwordGrant?: 'first-party' | 'clients' | false | undefined
  /**
   * A list, or an object with the consent page's description of each scope by language: `{ openid: {}, 'orders:read': {
   * en: 'see your orders' } }`.
   */
  scopes?: string[] | ScopeTexts | undefined
  pages?: false | PagesOptions | undefined
  password?: PasswordOptions | undefined
  registration?: false | RegistrationOptions | undefined
  /** Providers for sign-in, each made by a function of `fastify-authority/connections`. */
  connections?: ConnectionOption[] | undefined
  sendMessage?: SendMessage | undefined
  /** The store of second factors. Without it there are none. */
  factors?: FactorStore | undefined
  mfa?: MfaOptions | undefined
  /** Passkeys and security keys. On with `factors`. */
  passkeys?: false | PasskeyOptions | undefined
  rateLimit?: false | RateLimitOptions | undefined
  decorators?: DecoratorOptions | undefined
  claims?: ClaimsFunction<Account> | undefined
  /** For tests: `steppedClock()` of `fastify-authority/testing`. Default: the machine's clock. */
  clock?: Clock | undefined
}
