import { FormatRegistry, Type, type SchemaOptions, type TSchema } from '@sinclair/typebox'
import { DEFAULTS, PATH_NAMES } from './options.ts'

/** What a schema node says to people: `takes` goes into the error, `description` and `default` into the reference. */
export interface Said extends SchemaOptions {
  takes: string
  description?: string
  default?: unknown
  /** The value must never be shown. */
  confidential?: boolean
}

const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema)
const words = (said: Said) => Type.Array(Type.String({ minLength: 1, takes: 'a string that is not empty' }), said)
const secretText = () => Type.String({ minLength: 32, takes: 'a string of 32 bytes or more', confidential: true })
const fn = (said: Said) => Type.Function([], Type.Unknown(), said)
const flag = (said: Said) => Type.Boolean(said)
const integer = (minimum: number, maximum: number, unit: string, said: Omit<Said, 'takes'>) =>
  Type.Integer({ minimum, maximum, takes: `a whole number${unit} from ${minimum} to ${maximum}`, ...said })
const seconds = (minimum: number, maximum: number, said: Omit<Said, 'takes'>) => integer(minimum, maximum, ' of seconds', said)
const oneOf = (values: ReadonlyArray<string | false>, said: Omit<Said, 'takes'>) =>
  Type.Union(values.map((value) => Type.Literal(value)), { takes: values.map((value) => JSON.stringify(value)).join(', '), ...said })
const section = (properties: Record<string, TSchema>, description: string, said: Partial<Said> = {}) =>
  Type.Object(properties, { additionalProperties: false, takes: 'an object', description, ...said })

/** What a router takes literally: no parameter, no wildcard, no query, nothing that would have to be percent-decoded. */
const LITERAL = "[A-Za-z0-9._~!$&'+,;=@-]"
const PATH = `^(?:/${LITERAL}*)+$`
const path = () => optional(Type.String({ pattern: PATH, takes: 'an absolute path such as "/oauth/token"' }))
const ruleTakes = 'false or { windowMs, max, count }'
const rule = (description: string, shown: string) => optional(Type.Union([Type.Literal(false), Type.Object({
  windowMs: optional(integer(1, 86_400_000 * 31, ' of milliseconds', {})),
  max: optional(integer(1, 1_000_000, '', {})),
  count: optional(oneOf(['all', 'failed'], {}))
}, { additionalProperties: false })], { takes: ruleTakes, description, default: shown }))

const client = Type.Object({
  clientId: Type.String({ minLength: 1, maxLength: 256, takes: 'a string of 1 to 256 characters' }),
  clientSecret: optional(secretText()),
  redirectUris: optional(words({ takes: 'an array of URIs' })),
  postLogoutRedirectUris: optional(words({ takes: 'an array of URIs' })),
  origins: optional(words({ takes: 'an array of origins' })),
  grantTypes: optional(Type.Array(oneOf(['password', 'authorization_code', 'refresh_token', 'client_credentials'], {}), { takes: 'an array of grant types' })),
  scopes: optional(words({ takes: 'an array of scopes' })),
  requirePkce: optional(flag({ takes: 'true or false' })),
  firstParty: optional(flag({ takes: 'true or false' })),
  name: optional(Type.String({ takes: 'a string' })),
  idTokenSignedResponseAlg: optional(oneOf(['RS256', 'ES256', 'PS256', 'EdDSA'], {})),
  backchannelLogoutUri: optional(Type.String({ takes: 'a URI' }))
}, { additionalProperties: false, takes: 'a client' })

/** The option schema: what is checked at start, and what the reference page is made of. */
export const OPTIONS_SCHEMA = section({
  issuer: Type.String({ minLength: 1, takes: 'an absolute URL such as "https://auth.example.com"', description: 'The issuer identifier: an absolute URL without query or fragment; `https:` unless the host is a loopback one. Links and metadata are built from it, never from a Host header.' }),
  users: Type.Any({ takes: 'a UserStore: an object with findById and findByUsername', description: 'A `UserStore`. What it lacks turns off the routes that need it.' }),
  prefix: optional(Type.String({ pattern: `^(?:/${LITERAL}+)*$`, default: DEFAULTS.prefix, takes: 'a path such as "/auth", without a slash at its end', description: 'Where the routes are mounted. The well-known documents are at the root.' })),
  paths: optional(section(Object.fromEntries(PATH_NAMES.map((name) => [name, path()])), 'Changes single paths, e.g. `{ token: \'/oauth/token\' }`. Absolute: they ignore `prefix`.')),
  state: optional(Type.Any({ default: 'memoryState()', takes: 'a State, such as memoryState(), sqliteState(db), redisState(client) or postgresState(db)', description: 'Codes, refresh token families, browser sessions, consents, one-time tokens and signing keys. docs/guides/state.md says which to choose.' })),
  redis: optional(Type.Any({ takes: 'true, or an ioredis client or cluster', description: '`true`: `app.redis` of @fastify/redis, registered before; or an ioredis instance or cluster. The rate limit counters live there, and the state too where `state` names no other.' })),
  secret: optional(Type.Union([secretText(), Type.Array(secretText(), { minItems: 1 })], { takes: 'a string of 32 bytes or more, or an array of them', confidential: true, description: 'Seals managed signing keys at rest; peppers password hashes where `password.pepper` is true. An array rotates it: the first seals, all open.' })),
  keys: optional(Type.Union([Type.Array(Type.Record(Type.String(), Type.Unknown(), { takes: 'a private JWK' }), { minItems: 1 }), Type.Object({ secret: secretText() }, { additionalProperties: false })], { default: 'managed', confidential: true, takes: 'an array of private JWKs (ES256, EdDSA, RS256, PS256) or { secret } of 32 bytes or more', description: 'Signing keys. All JWKs verify and are published; the first signs access tokens, and the first of a client\'s algorithm its ID tokens. `{ secret }` is for HS256, and turns redirect sign-in off. Managed: an ES256 key, and for ID tokens an RS256 key, are made in the background, published a day before they sign, replaced every 90 days, and kept for as long as a token they signed can live; shared through `state` and sealed with `secret` (kept in memory where there is no secret).' })),
  clients: optional(Type.Union([Type.Array(client), Type.Object({ findById: fn({ takes: 'a function' }) })], { default: [], takes: 'an array of clients, or { findById(clientId) }', description: 'Registered OAuth clients. Redirect sign-in exists where one of them can use codes.' })),
  passwordGrant: optional(oneOf(['first-party', 'clients', false], { default: DEFAULTS.passwordGrant, description: '`"first-party"`: callers without a client may use the password grant; `"clients"`: only registered clients that list it; `false`: nobody.' })),
  scopes: optional(Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$', takes: 'a scope token: printable ASCII without space, quote and backslash' }), { minItems: 1, uniqueItems: true, default: DEFAULTS.scopes, takes: 'an array of scope tokens, each once', description: 'What can be granted. Without `scope` in a password request: all of these; in an authorization request: `openid`.' })),
  accessToken: optional(section({
    expiresIn: optional(seconds(1, 86_400, { default: DEFAULTS.accessToken.expiresIn, description: 'Lifetime of an access token.' })),
    audience: optional(Type.Union([Type.String({ minLength: 1 }), words({ minItems: 1, takes: 'an array of strings' })], { default: 'the issuer', takes: 'a string or an array of strings', description: 'Who the token is for.' }))
  }, 'RFC 9068 JWT.')),
  refreshToken: optional(section({
    expiresIn: optional(seconds(1, 31_536_000, { default: DEFAULTS.refreshToken.expiresIn, description: 'Absolute lifetime of a sign-in; no refresh extends it.' })),
    idleTimeout: optional(seconds(1, 31_536_000, { default: DEFAULTS.refreshToken.idleTimeout, description: 'How long it lives without a refresh.' })),
    rotate: optional(oneOf(['oauth', 'always', 'never'], { default: DEFAULTS.refreshToken.rotate, description: '`"oauth"`: the token endpoint rotates and `POST /auth/refresh` does not; `"always"`: both do; `"never"`: none does.' })),
    reuseGraceSeconds: optional(seconds(0, 300, { default: DEFAULTS.refreshToken.reuseGraceSeconds, description: 'How long the replaced token still brings the same successor. 0: not at all.' }))
  }, 'Opaque; only a digest is kept.')),
  idToken: optional(section({
    expiresIn: optional(seconds(1, 86_400, { default: DEFAULTS.idToken.expiresIn, description: 'Lifetime of an ID token.' }))
  }, 'OpenID Connect ID tokens.')),
  authorizationCode: optional(section({
    expiresIn: optional(seconds(1, 600, { default: DEFAULTS.authorizationCode.expiresIn, description: 'How long a code can be redeemed.' }))
  }, 'Single use; only a digest is kept.')),
  session: optional(section({
    expiresIn: optional(seconds(1, 31_536_000, { default: DEFAULTS.session.expiresIn, description: 'Absolute lifetime of a browser session; a new sign-in begins it anew.' })),
    idleTimeout: optional(seconds(1, 31_536_000, { default: DEFAULTS.session.idleTimeout, description: 'How long it lives without a use.' }))
  }, 'The browser session of the hosted pages.')),
  pages: optional(Type.Union([Type.Literal(false), section({
    title: optional(Type.String({ minLength: 1, maxLength: 100, default: 'the issuer\'s host name', takes: 'a string of 1 to 100 characters', description: 'Name of the service, at the top of every page.' })),
    logoUrl: optional(Type.String({ minLength: 1, takes: 'an https: URL or a path', description: 'Logo at the top of every page.' })),
    accentColor: optional(Type.String({ pattern: '^#[0-9a-fA-F]{6}$', default: DEFAULTS.pages.accentColor, takes: 'a colour such as "#1f5fbf"', description: 'Colour of buttons and links. Text on it is black or white, whichever reads better.' })),
    home: optional(Type.String({ minLength: 1, default: 'the issuer\'s root', takes: 'an https: URL or a path', description: 'Where a sign-in leads that came from nowhere.' })),
    render: optional(fn({ takes: 'a function', description: '`(page, model) => html`: the host\'s own HTML for any page; `undefined` takes the built-in one.' })),
    loginUrl: optional(Type.String({ minLength: 1, takes: 'an https: URL or a path', description: 'The host\'s own sign-in page, in place of the built-in sign-in and sign-up. It finishes through `app.authority.signIn`.' }))
  }, 'The hosted pages.')], { default: 'built in', takes: 'false or { title, logoUrl, accentColor, home, render, loginUrl }', description: 'The hosted pages. `false`: none, and then no redirect sign-in either.' })),
  password: optional(section({
    memoryCost: optional(integer(7168, 262_144, ' of KiB', { default: DEFAULTS.password.memoryCost, description: 'argon2id memory.' })),
    timeCost: optional(integer(1, 16, '', { default: DEFAULTS.password.timeCost, description: 'argon2id passes. `memoryCost × timeCost` must be at least 35,840.' })),
    parallelism: optional(integer(1, 16, '', { default: DEFAULTS.password.parallelism, description: 'argon2id lanes.' })),
    minLength: optional(integer(8, 64, '', { default: DEFAULTS.password.minLength, description: 'Least number of characters (code points) of a new password.' })),
    maxBytes: optional(integer(256, 4096, ' of bytes', { default: DEFAULTS.password.maxBytes, description: 'Most bytes of any password; a longer one is refused, never cut.' })),
    concurrency: optional(integer(1, 256, '', { default: 'number of CPUs', description: 'Hashes that run at once.' })),
    maxQueue: optional(integer(0, 100_000, '', { default: DEFAULTS.password.maxQueue, description: 'Hashes that wait; past that a request gets 503 `temporarily_unavailable`.' })),
    contextWords: optional(words({ default: [], takes: 'an array of words', description: 'Words that make a new password too easy to guess, beside the username and the issuer\'s name.' })),
    isBreached: optional(fn({ takes: 'a function', description: '`(password) => boolean`: whether a password is known from a breach.' })),
    pepper: optional(flag({ default: false, takes: 'true or false', description: 'Peppers password hashes with `secret`.' })),
    hasher: optional(Type.Object({ hash: fn({ takes: 'a function' }), verify: fn({ takes: 'a function' }) }, { default: 'argon2Hasher()', takes: 'a PasswordHasher, such as argon2Hasher() or nodeRsHasher()', description: 'The argon2 engine.' }))
  }, 'Password hashing (argon2id through a bounded queue) and the policy for new passwords.')),
  registration: optional(Type.Union([Type.Literal(false), Type.Object({ fields: optional(Type.Any()), verifyEmail: optional(flag({ takes: 'true or false' })) }, { additionalProperties: false })], { default: 'on when `users.create` exists', takes: 'false or { fields, verifyEmail }', description: '`fields`: TypeBox object schema of extra profile fields; `verifyEmail`: whether an account must confirm its e-mail before it can sign in.' })),
  sendMessage: optional(fn({ takes: 'a function', description: '`async ({ kind, user, url, token, expiresAt }) => void`, kinds `password_reset`, `verify_email`, `password_changed`, `already_registered`, `new_sign_in`. Never awaited by a reply; a failure is logged and retried. Password reset and e-mail verification exist only with it.' })),
  rateLimit: optional(Type.Union([Type.Literal(false), Type.Object({
    login: rule('Every password attempt, per address.', '5 in 15 minutes'),
    register: rule('Registrations, per address.', '3 in an hour'),
    passwordReset: rule('Password reset requests, per address.', '3 in an hour'),
    account: rule('Failed attempts on one username, from whatever address.', '10 in 15 minutes'),
    refresh: rule('Failed refreshes and one-time tokens, per address.', '100 in 15 minutes'),
    key: optional(fn({ takes: 'a function', description: '`(request) => string` replaces the address as what is counted.' })),
    apiKey: optional(Type.Object({ header: optional(Type.String({ pattern: '^[!#$%&\'*+.^_`|~0-9A-Za-z-]+$', takes: 'a header name' })), verify: fn({ takes: 'a function' }) }, { additionalProperties: false, takes: '{ header, verify }', description: 'Counts by verified API key; an absent or unverified key falls back to the address.' })),
    bypass: optional(words({ default: [], takes: 'an array of addresses and CIDR ranges', description: 'Addresses that the per-address rules don\'t limit.' })),
    prefix: optional(Type.String({ minLength: 1, default: 'rl:', takes: 'a string that is not empty', description: 'Key prefix of the counters in a shared store.' })),
    onStoreError: optional(oneOf(['local', 'deny', 'allow'], { default: 'local', description: 'What a counter store that fails or hangs for 250 ms leads to.' })),
    onLimit: optional(fn({ takes: 'a function', description: '`(request, reply, { rule, max, windowMs, retryAfter }) => body`: the custom 429 handler.' }))
  }, { additionalProperties: false })], { takes: 'false or an object of rules', description: '`false` turns all limits off. Each rule is `false` or `{ windowMs, max, count }`.' })),
  decorators: optional(section(Object.fromEntries((['authenticate', 'requireScope', 'authority', 'auth', 'authSession'] as const).map((name) => [name, optional(Type.String({ pattern: '^[A-Za-z_$][\\w$]*$', default: DEFAULTS.decorators[name], takes: 'a name' }))])), 'Other names for what the plugin adds, for a host that has these already or registers the plugin twice.')),
  claims: optional(fn({ takes: 'a function', description: '`(user, { scopes, client, use }) => claims`: the host\'s own claims of access tokens, ID tokens and userinfo; `use` says which.' })),
  clock: optional(Type.Object({ now: fn({ takes: 'a function' }), monotonic: fn({ takes: 'a function' }), after: fn({ takes: 'a function' }) }, { default: 'the machine\'s clock', takes: 'a Clock', description: 'For tests: `steppedClock()` of `fastify-authority/testing`.' }))
}, 'The options of the plugin.')

/** Formats that `registration.fields` may use. A host that has registered its own keeps it. */
export function registerFormats (): void {
  const formats: Record<string, RegExp> = {
    email: /^[^\s@"(),:;<>[\\\]]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,63}$/,
    uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
    date: /^\d{4}-\d{2}-\d{2}$/,
    'date-time': /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/,
    uri: /^[a-z][a-z0-9+.-]*:[^\s]+$/i
  }
  for (const [name, pattern] of Object.entries(formats)) {
    if (!FormatRegistry.Has(name)) FormatRegistry.Set(name, (value) => value.length <= 2048 && pattern.test(value))
  }
}
