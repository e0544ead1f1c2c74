import { Type } from '@sinclair/typebox'
import { DEFAULTS } from './defaults.ts'
import { PATH_NAMES } from './paths.ts'
import { flag, fn, oneOf, optional, SECRET_TAKES, secretText, section, words } from './schema-words.ts'
import { CONNECTIONS_SCHEMA } from './sections/connections.ts'
import { DECORATORS_SCHEMA } from './sections/decorators.ts'
import { EMAIL_SIGN_IN_SCHEMA } from './sections/email-sign-in.ts'
import { FACTOR_SCHEMAS } from './sections/factors.ts'
import { PAGES_SCHEMA } from './sections/pages.ts'
import { PASSWORD_SCHEMA } from './sections/password.ts'
import { RATE_LIMIT_SCHEMA } from './sections/rate-limit.ts'
import { REGISTRATION_SCHEMA } from './sections/registration.ts'
import { TOKEN_SCHEMAS } from './sections/tokens.ts'

/**
 * What a router takes literally: no parameter, no wildcard, no query, nothing that would have to be percent-decoded.
 */
const LITERAL = "[A-Za-z0-9._~!$&'+,;=@-]"
const PATH = `^(?:/${LITERAL}*)+$`
const SCOPE = '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$'
const SCOPE_TAKES = 'a scope token: printable ASCII without space, quote and backslash'
const SCOPES_TAKE = 'an array of scope tokens, each once, or an object of them with descriptions by language'
const path = () => optional(Type.String({ pattern: PATH, takes: 'an absolute path such as "/oauth/token"' }))
/** One registered client, listed or as a client store answers. */
export const CLIENT_SCHEMA = Type.Object(
  {
    clientId: Type.String({
      minLength: 1,
      maxLength: 256,
      takes: 'a string of 1 to 256 characters',
      description: 'What the client is called in requests and tokens.'
    }),
    clientSecret: optional(
      secretText({
        description:
          'Without it the client is public. Make it in base64url, which is the same with and without ' +
          'form-encoding: `node -p "crypto.randomBytes(32).toString(\'base64url\')"`.'
      })
    ),
    applicationType: optional(
      oneOf(['web', 'native'], {
        description:
          "Default: `web`. `native`: an app on the person's device, whose redirect URIs may have a " +
          'private-use scheme with a dot, and any port of a loopback address.'
      })
    ),
    redirectUris: optional(
      words({
        takes: 'an array of URIs',
        description:
          'Where codes may be sent: `https:`, `http:` on this machine, or for `native` a private-use ' +
          'scheme with a dot. Compared character by character; the port of a loopback address may be ' +
          'another for `native`.'
      })
    ),
    postLogoutRedirectUris: optional(
      words({ takes: 'an array of URIs', description: 'Where a sign-out may lead. Compared character by character.' })
    ),
    origins: optional(
      words({
        takes: 'an array of origins',
        description: 'Which pages may call by CORS. Default: the origins of `redirectUris`.'
      })
    ),
    grantTypes: optional(
      Type.Array(
        oneOf(
          [
            'password',
            'authorization_code',
            'refresh_token',
            'client_credentials',
            'urn:ietf:params:oauth:grant-type:token-exchange'
          ],
          {}
        ),
        {
          takes: 'an array of grant types',
          description: 'What the client may use. Default: `authorization_code` and `refresh_token`.'
        }
      )
    ),
    scopes: optional(
      words({ takes: 'an array of scopes', description: 'What the client may be granted. Default: all of `scopes`.' })
    ),
    requirePkce: optional(
      flag({ takes: 'true or false', description: 'Default: `true`. `false` only with a `clientSecret`.' })
    ),
    firstParty: optional(
      flag({
        takes: 'true or false',
        description:
          "Default: `true`. `false`: somebody else's program. It asks people for consent and never " +
          'has the password grant.'
      })
    ),
    name: optional(Type.String({ takes: 'a string', description: 'What the pages call it. Default: its `clientId`.' })),
    logoUri: optional(Type.String({ takes: 'a URI', description: 'Its logo, on the consent page: an `https:` URL.' })),
    clientUri: optional(
      Type.String({ takes: 'a URI', description: 'A page about it, linked on the consent page: an `https:` URL.' })
    ),
    idTokenSignedResponseAlg: optional(
      oneOf(['RS256', 'ES256', 'PS256', 'EdDSA'], { description: 'Default: `RS256`.' })
    ),
    idTokenClaims: optional(
      oneOf(['requested', 'scopes'], { description: 'Which claims its ID tokens have. Default: `idToken.claims`.' })
    ),
    backchannelLogoutUri: optional(
      Type.String({
        takes: 'a URI',
        description:
          'Is told when a browser session ends that the client took part in (OpenID Connect Back-Channel Logout 1.0).'
      })
    ),
    acr: optional(
      Type.String({
        takes: 'a string',
        description:
          'What a sign-in must be worth at the least for this client to get tokens of the user, ' +
          'whatever `acr_values` the request has: one of `acr_values_supported`. Default: anything. ' +
          '[Step-up](../guides/step-up.md)'
      })
    )
  },
  { additionalProperties: false, takes: 'a client' }
)

/** The option schema: what is checked at start, and what the reference page is made of. */
export const OPTIONS_SCHEMA = section(
  {
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
          '`email_change_requested`, `email_changed`, `account_removed`, `identity_linked`, ' +
          '`identity_unlinked`, `second_factor_failed`, `factor_added`, `factor_removed`, ' +
          '`recovery_code_used`, `passkey_counter_regressed`, `sign_in_code`. Never awaited by a ' +
          'reply; a failure is logged and retried. Password reset and e-mail verification exist only ' +
          'with it.'
      })
    ),
    ...FACTOR_SCHEMAS,
    emailSignIn: EMAIL_SIGN_IN_SCHEMA,
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
  },
  'The options of the plugin.'
)
