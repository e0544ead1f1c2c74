import { Type } from '@sinclair/typebox'
import { DEFAULTS } from './defaults.ts'
import { PATH_NAMES } from './paths.ts'
import { flag, fn, oneOf, optional, SECRET_TAKES, secretText, section } from './schema-words.ts'
import { CLIENT_SCHEMA } from './sections/clients.ts'
import { CONNECTIONS_SCHEMA } from './sections/connections.ts'
import { DECORATORS_SCHEMA } from './sections/decorators.ts'
import { FACTOR_SCHEMAS } from './sections/factors.ts'
import { PAGES_SCHEMA } from './sections/pages.ts'
import { PASSWORD_SCHEMA } from './sections/password.ts'
import { RATE_LIMIT_SCHEMA } from './sections/rate-limit.ts'
import { REGISTRATION_SCHEMA } from './sections/registration.ts'
import { TOKEN_SCHEMAS } from './sections/tokens.ts'
import type { FeatureSection } from './settings.ts'

/**
 * Characters that a router takes literally: no parameter, no wildcard, no query, nothing that needs percent-decoding.
 */
const LITERAL = "[A-Za-z0-9._~!$&'+,;=@-]"
const PATH = `^(?:/${LITERAL}*)+$`
const SCOPE = '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$'
const SCOPE_TAKES = 'a scope token: printable ASCII without space, quote and backslash'
const SCOPES_TAKE = 'an array of scope tokens, each once, or an object of them with descriptions by language'
const path = () => optional(Type.String({ pattern: PATH, takes: 'an absolute path such as "/oauth/token"' }))
const KERNEL_OPTIONS = {
  issuer: Type.String({
    minLength: 1,
    takes: 'an absolute URL such as "https://auth.example.com"',
    description:
      'The issuer identifier: an absolute URL without query or fragment; `https:` unless the ' +
      'host is a loopback one. A trailing slash is kept in `iss` and metadata, and left out of ' +
      'well-known paths. Links and metadata are built from it, never from a Host header.'
  }),
  allowInsecureIssuer: optional(
    flag({
      default: DEFAULTS.allowInsecureIssuer,
      takes: 'true or false',
      description:
        'For development: an `http:` issuer on any host, for a phone or a container. Passwords and ' +
        'tokens then cross the network in clear text, and cookies are not `Secure`. Said in the ' +
        'log at every start; refused where `NODE_ENV` is `production`.'
    })
  ),
  users: Type.Any({
    takes: 'a UserStore: an object with findById and findByUsername',
    description: 'A `UserStore`. What it lacks turns off the routes that need it.'
  }),
  prefix: optional(
    Type.String({
      pattern: `^(?:/${LITERAL}+)*$`,
      default: DEFAULTS.prefix,
      takes: 'a path such as "/auth", without a slash at its end',
      description: 'Where the routes are mounted. The well-known documents are at the root.'
    })
  ),
  paths: optional(
    section(
      Object.fromEntries(PATH_NAMES.map((name) => [name, path()])),
      "Changes single paths, e.g. `{ token: '/oauth/token' }`. Absolute: they ignore `prefix`."
    )
  ),
  state: optional(
    Type.Any({
      default: 'memoryState()',
      takes: 'a State, such as memoryState(), sqliteState(db), redisState(client) or postgresState(db)',
      description:
        'Codes, refresh token families, browser sessions, consents, one-time tokens and signing ' +
        'keys. docs/guides/state.md says which to choose.'
    })
  ),
  redis: optional(
    Type.Any({
      takes: 'true, or an ioredis client or cluster',
      description:
        '`true`: `app.redis` of @fastify/redis, registered before; or an ioredis instance or ' +
        'cluster. The rate limit counters live there, and the state too where `state` names no ' +
        'other.'
    })
  ),
  secret: optional(
    Type.Union([secretText(), Type.Array(secretText(), { minItems: 1 })], {
      takes: `${SECRET_TAKES}, or an array of them`,
      confidential: true,
      description:
        'Seals managed signing keys at rest; peppers password hashes where `password.pepper` is ' +
        'true. An array rotates it: the first seals, all open.'
    })
  ),
  keys: optional(
    Type.Union(
      [
        Type.Array(Type.Record(Type.String(), Type.Unknown(), { takes: 'a private JWK' }), { minItems: 1 }),
        Type.Object(
          { secret: secretText({ description: 'A shared secret for HS256. There is no key set then.' }) },
          { additionalProperties: false }
        )
      ],
      {
        default: 'managed',
        confidential: true,
        takes: 'an array of private JWKs (ES256, EdDSA, RS256, PS256) or { secret } of 32 bytes or more',
        description:
          'Signing keys. All JWKs verify and are published; the first signs access tokens, and the ' +
          "first of a client's algorithm its ID tokens. `{ secret }` is for HS256, and turns " +
          'redirect sign-in off. Managed: an ES256 key, and for ID tokens (or by `accessToken.alg`) ' +
          'an RS256 key, are made in the background, published a day before they sign, replaced ' +
          'every 90 days, and kept for as long as a token they signed can live; shared through ' +
          '`state` and sealed with `secret` (kept in memory where there is no secret).'
      }
    )
  ),
  clients: optional(
    Type.Union([Type.Array(CLIENT_SCHEMA), Type.Object({ findById: fn({ takes: 'a function' }) })], {
      default: [],
      takes: 'an array of clients, or { findById(clientId) }',
      description: 'Registered OAuth clients. Redirect sign-in exists where one of them can use codes.'
    })
  ),
  passwordGrant: optional(
    oneOf(['first-party', 'clients', false], {
      default: DEFAULTS.passwordGrant,
      description:
        '`"first-party"`: callers without a client may use the password grant; `"clients"`: only ' +
        'registered clients that list it; `false`: nobody.'
    })
  ),
  scopes: optional(
    Type.Union(
      [
        Type.Array(Type.String({ pattern: SCOPE, takes: SCOPE_TAKES }), {
          minItems: 1,
          uniqueItems: true,
          takes: SCOPES_TAKE
        }),
        Type.Record(
          Type.String({ pattern: SCOPE }),
          Type.Record(
            Type.String(),
            Type.String({ minLength: 1, maxLength: 300, takes: 'a text of 1 to 300 characters' }),
            { takes: 'what people read of it, by language, such as { en: "see your orders" }; {} for nothing' }
          ),
          { minProperties: 1, additionalProperties: false, takes: SCOPES_TAKE }
        )
      ],
      {
        default: DEFAULTS.scopes,
        takes: SCOPES_TAKE,
        description:
          'What can be granted. Without `scope` in a password request: all of these; in an ' +
          'authorization request: `openid`. As an object, what the consent page and the account page ' +
          "say of each: `{ openid: {}, 'orders:read': { en: 'see your orders', de: '…' } }`. A " +
          'language that is missing is served in English.'
      }
    )
  ),
  ...TOKEN_SCHEMAS,
  pages: PAGES_SCHEMA,
  password: PASSWORD_SCHEMA,
  registration: REGISTRATION_SCHEMA,
  connections: CONNECTIONS_SCHEMA,
  sendMessage: optional(
    fn({
      takes: 'a function',
      description:
        '`async ({ kind, user, locale, url, token, expiresAt }) => void`, kinds `password_reset`, ' +
        '`verify_email`, `password_changed`, `already_registered`, `new_sign_in`, `email_change`, ' +
        '`email_change_requested`, `email_changed`, `email_change_refused`, `account_removed`, `identity_linked`, ' +
        '`identity_unlinked`, `second_factor_failed`, `factor_added`, `factor_removed`, ' +
        '`recovery_code_used`, `passkey_counter_regressed`, `sign_in_code`. Never awaited by a ' +
        'reply; a failure is logged and retried. Password reset and e-mail verification exist only ' +
        'with it.'
    })
  ),
  ...FACTOR_SCHEMAS,
  rateLimit: RATE_LIMIT_SCHEMA,
  decorators: DECORATORS_SCHEMA,
  claims: optional(
    fn({
      takes: 'a function',
      description:
        "`(user, { scopes, client, use }) => claims`: the host's own claims of access tokens, ID " +
        'tokens and userinfo; `use` says which. A claim of the OpenID standard reaches a client ' +
        "only as far as its scopes and, with `firstParty: false`, the person's consent go; any " +
        'other goes wherever the function returns it, so it looks at `client` where somebody ' +
        "else's programs must not know it."
    })
  ),
  clock: optional(
    Type.Object(
      {
        now: fn({ takes: 'a function' }),
        monotonic: fn({ takes: 'a function' }),
        after: fn({ takes: 'a function' })
      },
      {
        default: "the machine's clock",
        takes: 'a Clock',
        description: 'For tests: `steppedClock()` of `fastify-authority/testing`.'
      }
    )
  )
}

/** The option schema: the check at start and the reference page are made from it. */
export const optionsSchema = (features: ReadonlyArray<Pick<FeatureSection, 'options'>>) =>
  section(
    { ...KERNEL_OPTIONS, ...Object.fromEntries(features.flatMap(({ options }) => Object.entries(options))) },
    'The options of the plugin.'
  )
