import { type TSchema, Type } from '@sinclair/typebox'
import type { RedisClient } from '../adapters/redis/connection.ts'
import type { FeatureOptions } from '../features/options.ts'
import type { ClaimsFunction } from '../oauth/deps.ts'
import type { ScopeTexts } from '../pages/own-texts.ts'
import type { Client, ClientStore } from '../ports/client-store.ts'
import type { Clock } from '../ports/clock.ts'
import type { JsonWebKeyObject } from '../ports/cryptography.ts'
import type { FactorStore } from '../ports/factor-store.ts'
import type { SendMessage } from '../ports/message.ts'
import type { State } from '../ports/state.ts'
import type { User, UserStore } from '../ports/user-store.ts'
import { MOVABLE, type MovablePath, type PathName } from './paths.ts'
import {
  flag,
  fn,
  type Given,
  type GivenWith,
  LITERAL,
  oneOf,
  type Option,
  option,
  required,
  SECRET_TAKES,
  secretText,
  section,
  shortText,
  text
} from './schema-words.ts'
import { CLIENT_FIELDS } from './sections/clients.ts'
import { DECORATORS_OPTION } from './sections/decorators.ts'
import { PAGES_OPTION } from './sections/pages.ts'
import { PASSWORD_OPTION } from './sections/password.ts'
import { RATE_LIMIT_OPTION } from './sections/rate-limit.ts'
import { REGISTRATION_OPTION } from './sections/registration.ts'
import { RESOURCE_OPTIONS } from './sections/resources.ts'
import { TOKEN_OPTIONS, type TokenOptions } from './sections/tokens.ts'

const PATH = `^(?:/${LITERAL}*)+$`
const SCOPE = '^(?!authority:)[\\x21\\x23-\\x5b\\x5d-\\x7e]+$'
const SCOPE_TAKES =
  'a scope token: printable ASCII without space, quote and backslash, and without "authority:" at its beginning'
const SCOPES_TAKE = 'an array of scope tokens, each once, or an object of them with descriptions by language'
const path = text({ pattern: PATH, takes: 'an absolute path such as "/oauth/token"' })
const aFunction = Type.Function([], Type.Unknown(), { takes: 'a function' })

const SHARED_SECRET = {
  /** A shared secret for HS256. There is no key set then. */
  secret: required(secretText())
}

/** The comments are the texts of the options in editors and in the reference. */
const PLAIN_OPTIONS = {
  issuer: required(text({ minLength: 1, takes: 'an absolute URL such as "https://auth.example.com"' })),
  /**
   * For development: an `http:` issuer on any host, for a phone or a container. Passwords and tokens then cross the
   * network in clear text, and cookies are not `Secure`. The log says so at every start. Refused if `NODE_ENV` is
   * `production`.
   */
  allowInsecureIssuer: flag({ default: false }),
  users: required(option<UserStore>(Type.Any({ takes: 'a UserStore: an object with findById and findByUsername' }))),
  prefix: text({
    pattern: `^(?:/${LITERAL}+)*$`,
    default: '/auth',
    takes: 'a path such as "/auth", without a slash at its end'
  }),
  /**
   * Moves endpoints, for a host that replaces another provider: `{ token: '/oauth/token' }`. These paths ignore
   * `prefix`.
   */
  paths: section<{ [Name in MovablePath]?: string | undefined }>(
    Object.fromEntries(MOVABLE.map((name) => [name, path]))
  ),
  /**
   * The store for codes, refresh token families, browser sessions, consents, one-time tokens and signing keys.
   * docs/guides/state.md compares the stores.
   */
  state: option<State>(
    Type.Any({
      otherwise: 'memoryState()',
      takes: 'a State, such as memoryState(), sqliteState(db), redisState(client) or postgresState(db)'
    })
  ),
  /**
   * An ioredis instance or cluster. `true`: `app.redis` of `@fastify/redis`, registered before. Redis holds the rate
   * limit counters, and the state unless the option `state` is set.
   */
  redis: option<true | RedisClient>(Type.Any({ takes: 'true, or an ioredis client or cluster' })),
  /**
   * Seals managed signing keys, second factors and cookies, and peppers password hashes if `password.pepper` is true.
   * An array rotates the secret: the first one seals, and all of them open. Default: random for each process.
   */
  secret: option<string | string[]>(
    Type.Union([secretText(), Type.Array(secretText(), { minItems: 1 })], {
      takes: `${SECRET_TAKES}, or an array of them`,
      confidential: true
    })
  ),
  /**
   * Signing keys. All JWKs verify and are published. The first signs access tokens. The first with a client's algorithm
   * signs its ID tokens. `{ secret }` turns redirect sign-in off. Managed: the service makes an ES256 key, and an RS256
   * key for ID tokens or `accessToken.alg`. Every 90 days it replaces a key, and publishes the new key a day before. An
   * old key stays published while a token that it signed can live. `state` shares the keys, sealed with `secret`.
   * Without a `secret`, the keys stay in memory.
   */
  keys: option<JsonWebKeyObject[] | GivenWith<typeof SHARED_SECRET, 'secret'>>(
    Type.Union(
      [
        Type.Array(Type.Record(Type.String(), Type.Unknown(), { takes: 'a private JWK' }), { minItems: 1 }),
        section(SHARED_SECRET)
      ],
      {
        otherwise: 'managed',
        confidential: true,
        takes: 'an array of private JWKs (ES256, EdDSA, RS256, PS256) or { secret } of 32 bytes or more'
      }
    )
  ),
  /** Registered OAuth clients. Redirect sign-in exists if one of them can use codes. */
  clients: option<Client[] | ClientStore>(
    Type.Union([Type.Array(section(CLIENT_FIELDS, { takes: 'a client' })), Type.Object({ findById: aFunction })], {
      takes: 'an array of clients, or { findById(clientId) }'
    }),
    []
  ),
  /**
   * `"first-party"`: callers without a client may use the password grant. `"clients"`: only registered clients that
   * list the grant. `false`: nobody.
   */
  passwordGrant: oneOf(['first-party', 'clients', false], { default: 'first-party' }),
  /**
   * The scopes that can be granted. Without `scope` in a password request: all of these; in an authorization request:
   * `openid`. As an object, it has the descriptions of each scope on the consent page and the account page: `{ openid:
   * {}, 'orders:read': { en: 'see your orders', de: '…' } }`. A missing language is shown in English.
   */
  scopes: option<string[] | ScopeTexts>(
    Type.Union(
      [
        Type.Array(Type.String({ pattern: SCOPE, takes: SCOPE_TAKES }), {
          minItems: 1,
          uniqueItems: true,
          takes: SCOPES_TAKE
        }),
        Type.Record(
          Type.String({ pattern: SCOPE }),
          Type.Record(Type.String(), shortText(300, { takes: 'a text of 1 to 300 characters' }), {
            takes: 'a description for people by language, such as { en: "see your orders" }; {} for none'
          }),
          { minProperties: 1, additionalProperties: false, takes: SCOPES_TAKE }
        )
      ],
      { takes: SCOPES_TAKE }
    ),
    ['openid', 'profile', 'email', 'offline_access']
  ),
  /** The hosted pages. `false`: none, and then no redirect sign-in either. */
  pages: PAGES_OPTION,
  /** Password hashing (argon2id through a bounded queue) and the policy for new passwords. */
  password: PASSWORD_OPTION,
  /** The registration of new users. `false`: nobody can register. */
  registration: REGISTRATION_OPTION,
  /**
   * `async ({ kind, user, locale, url, token, expiresAt }) => void`, kinds `password_reset`, `verify_email`,
   * `password_changed`, `already_registered`, `invitation`, `new_sign_in`, `email_change`, `email_change_requested`,
   * `email_changed`, `email_change_refused`, `account_removed`, `impersonated`, `identity_linked`, `identity_unlinked`,
   * `second_factor_failed`, `factor_added`, `factor_disabled`, `factor_removed`, `recovery_code_used`,
   * `passkey_counter_regressed`, `sign_in_code`. No response waits for a message. A failure is logged and retried.
   * Password reset, email verification, invitations and sign-in codes need it.
   */
  sendMessage: fn<SendMessage>(),
  /** `false` turns all limits off. Each rule is `false` or an object such as `{ windowMs, max }`. */
  rateLimit: RATE_LIMIT_OPTION,
  /**
   * Other names for the plugin's decorators, for a host that has these names already or registers the plugin twice. A
   * second service without `decorators.prefix` shares the names that it does not set with the first service, except
   * `authenticate`, `requireScope`, `authority` and `auth`. Shared hooks accept only tokens of the first service.
   */
  decorators: DECORATORS_OPTION,
  claims: fn<ClaimsFunction>(),
  /** For tests: `steppedClock()` of `fastify-authority/testing`. */
  clock: option<Clock>(
    Type.Object(
      { now: aFunction, monotonic: aFunction, after: aFunction },
      { otherwise: "the machine's clock", takes: 'a Clock' }
    )
  )
}

/** The options that no feature adds. Spread only here, because the published types of a spread lose the comments. */
export const KERNEL_OPTIONS = { ...PLAIN_OPTIONS, ...TOKEN_OPTIONS, ...RESOURCE_OPTIONS }

/**
 * The options of `register(authPlugin, …)`. `docs/reference/options.md` has the table. `Account` is the row type of the
 * user store.
 */
export interface AuthorityOptions<Account extends User = User>
  extends
    Given<Omit<typeof PLAIN_OPTIONS, 'issuer' | 'users' | 'prefix' | 'claims'>>,
    TokenOptions,
    Given<typeof RESOURCE_OPTIONS>,
    FeatureOptions {
  /**
   * The issuer identifier: an absolute URL without query or fragment; `https:` unless the host is a loopback one. A
   * trailing slash is kept in `iss` and metadata, and left out of well-known paths. Links and metadata are built from
   * it, never from a Host header.
   */
  issuer: string
  /** A `UserStore`. A missing method turns off the routes that need it. */
  users: UserStore<Account>
  // The type has no `| undefined` because Fastify's own option `prefix` has none.
  /** The path under which the routes are mounted. The well-known documents are at the root. */
  prefix?: string
  /**
   * `(user, { scopes, client, use }) => claims`: the host's own claims of access tokens, ID tokens and userinfo; `use`
   * says which. A claim of the OpenID standard reaches a client only as far as its scopes and, with `firstParty:
   * false`, the user's consent allow. Any other claim is in every token for which the function returns it, so check
   * `client` if third-party programs must not know it.
   */
  claims?: ClaimsFunction<Account> | undefined
}

/** The part of a feature that the settings use. */
export interface FeatureSection {
  name: string
  /** The top-level options of the feature. */
  options: Readonly<Record<string, Option<unknown, unknown>>>
  /** Refuses values that the schema would refuse with a worse error. */
  before?(given: Readonly<Record<string, unknown>>): void
  /** `null`: the feature is off. Throws a start error if another option forbids the feature. */
  resolve(given: AuthorityOptions): unknown
  /** True if an identity provider may answer by `POST`. The cookies leave room for such an answer. */
  answersByPost?(on: unknown): boolean
  /** The values of `acr` that sign-ins can have with the feature. */
  acr?: readonly string[]
  shares?(on: unknown): SharedSettings
  /** Notices at the start, also of a feature that is off. */
  notices?(given: AuthorityOptions): string[]
}

/** The settings of features that other code reads too. */
export interface SharedSettings {
  /**
   * The store of second factors. `seals`: its records are sealed. `rememberDeviceMs`: how long a browser stays
   * remembered; `null`: none does.
   */
  factors?: { store: FactorStore; seals: boolean; rememberDeviceMs: number | null }
  /** True if the service publishes the list of related origins. */
  listsOrigins?: boolean
  /** Paths that options of features set. Absolute, like those of the option `paths`. */
  paths?: { readonly [Name in PathName]?: string }
  /** True if clients may be unregistered. */
  unknownClients?: boolean
}

/** The schema of all options, for the check at start and for the reference. */
export const optionsSchema = (features: ReadonlyArray<Pick<FeatureSection, 'options'>>) =>
  Type.Object<Record<string, TSchema>>(
    { ...KERNEL_OPTIONS, ...Object.fromEntries(features.flatMap(({ options }) => Object.entries(options))) },
    { additionalProperties: false, takes: 'an object' }
  )
