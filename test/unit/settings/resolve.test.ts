import { availableParallelism } from 'node:os'
/** An option that the host leaves out, or gives as `undefined`, has its documented default, at every depth. */
import { Kind, type TSchema, Type } from '@sinclair/typebox'
import t from '../../support/tap.ts'
import {
  type ApiKeyStore,
  type AuditLog,
  memoryApiKeyStore,
  memoryAudit,
  memoryFactorStore,
  memoryState,
  memoryUserStore
} from '../../../lib/index.ts'
import { oidc } from '../../../lib/connections/index.ts'
import { OPTIONS_SCHEMA, settingsOf } from '../../../lib/composition/compose.ts'
import { fastHasher, steppedClock } from '../../../lib/testing/index.ts'

const ISSUER = 'https://auth.example.com/tenant'
const SECRET = 'kJ8v2Qm4Xr7Zt1Wc9Ly6Bn3Hs5Dg0Pf!'
const users = memoryUserStore()
const fn = (): boolean => true

/**
 * All options, each with another value than its default, as a test below checks. `withOthers` adds the flags, numbers
 * and words that are missing here.
 */
const EVERYTHING = withOthers(OPTIONS_SCHEMA, {
  issuer: ISSUER,
  allowInsecureIssuer: true,
  users,
  prefix: '/oauth',
  paths: Object.fromEntries(
    Object.keys(OPTIONS_SCHEMA.properties['paths']?.['properties'] as object).map((name) => [name, `/moved/${name}`])
  ),
  state: memoryState(),
  redis: true,
  secret: [SECRET, `${SECRET}2`],
  keys: [
    { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', kid: 'one' },
    { kty: 'EC', crv: 'P-256', alg: 'ES256', kid: 'two' }
  ],
  clients: [
    {
      clientId: 'web',
      clientSecret: SECRET,
      applicationType: 'native',
      redirectUris: ['https://app.example/cb'],
      postLogoutRedirectUris: ['https://app.example/'],
      origins: ['https://other.example'],
      grantTypes: ['authorization_code'],
      scopes: ['read'],
      requirePkce: false,
      firstParty: false,
      name: 'App',
      logoUri: 'https://app.example/logo.svg',
      clientUri: 'https://app.example/about',
      pages: {
        title: 'App',
        logo: { url: '/app.svg', dark: '/app-dark.svg', height: 24, alt: 'The App' },
        accentColor: { light: '#00aa00', dark: '#00ff00' }
      },
      idTokenSignedResponseAlg: 'EdDSA',
      idTokenClaims: 'scopes',
      requirePushedAuthorizationRequests: true,
      acr: 'password',
      resources: ['https://api.example/orders'],
      introspects: ['https://api.example/orders'],
      dpopBoundAccessTokens: true,
      backchannelLogoutUri: 'https://app.example/logout'
    }
  ],
  passwordGrant: false,
  scopes: ['openid', 'read'],
  // The option `keys` determines the algorithm.
  accessToken: { expiresIn: 60, audience: 'https://api.example', typ: 'JWT', alg: undefined },
  resources: [
    {
      resource: 'https://api.example/orders',
      name: 'Orders',
      scopes: { 'orders:read': 'see your orders' },
      accessToken: { expiresIn: 62, alg: 'ES256' },
      allowedClients: ['web']
    }
  ],
  refreshToken: { expiresIn: 6000, idleTimeout: 600, rotate: 'never', reuseGraceSeconds: 1 },
  idToken: { expiresIn: 61, claims: 'scopes' },
  authorizationCode: { expiresIn: 30 },
  session: { expiresIn: 6001, idleTimeout: 601 },
  pages: {
    title: 'Acme',
    logo: { url: '/logo.svg', dark: '/logo-dark.svg', height: 32, alt: 'Acme Corp.' },
    faviconUrl: '/icon.svg',
    accentColor: { light: '#ff0000', dark: '#ffd400' },
    colorScheme: 'dark',
    layout: 'plain',
    order: 'providers-first',
    background: { light: '#fafafa', dark: '#101010' },
    radius: '4px',
    font: 'Inter, sans-serif',
    stylesheetUrl: '/brand.css',
    texts: { en: { loginTitle: 'Welcome back' } },
    links: { terms: '/terms', privacy: '/privacy', support: 'mailto:help@example.com' },
    home: '/home',
    render: fn,
    account: false,
    loginUrl: '/sign-in'
  },
  password: {
    memoryCost: 65_536,
    timeCost: 3,
    parallelism: 4,
    minLength: 12,
    maxBytes: 512,
    concurrency: 255,
    maxQueue: 1,
    contextWords: ['acme'],
    isBreached: fn,
    pepper: true,
    firebase: { signerKey: 'AAECAwQFBgcICQoLDA0ODw==', saltSeparator: 'Bw==' },
    importPepper: 'of Devise',
    hasher: fastHasher()
  },
  registration: { username: 'any', fields: Type.Object({ plan: Type.String() }), verifyEmail: true },
  connections: [
    oidc({
      id: 'acme',
      name: 'Acme',
      issuer: 'https://sso.acme.example',
      clientId: 'client',
      clientSecret: 'secret',
      scopes: ['openid'],
      registration: false,
      linking: 'never',
      domains: ['Acme.example'],
      enforce: true,
      audiences: ['com.example.app'],
      appNonce: false,
      profile: () => ({}),
      sync: 'always',
      assurance: () => ({}),
      onSignIn: () => {},
      button: { label: 'Acme', logoUrl: 'https://acme.example/logo.svg' },
      pkce: false,
      enabled: false
    })
  ],
  sendMessage: fn,
  factors: memoryFactorStore(),
  mfa: { methods: ['totp'], required: true, totpIssuer: 'Acme accounts', rememberDevice: { expiresIn: 86_400 } },
  passkeys: { rpId: 'example.com', rpName: 'Acme passkeys', relatedOrigins: ['https://example.net'] },
  deviceGrant: { path: '/connect' },
  emailSignIn: {},
  par: 'required',
  admin: {
    allow: () => [],
    isProtected: () => false,
    fields: ['role'],
    impersonation: {}
  },
  audit: { log: memoryAudit(), retainDays: 3, addressDays: 2 },
  apiKeys: { store: memoryApiKeyStore(), prefix: 'acme', scopes: ['read'], expiresIn: 61 },
  dpop: {},
  clientIdMetadata: { allow: ['*.example.com'], trusted: ['agent.example.com'], cacheSeconds: 301 },
  clientRegistration: { redirectSchemes: ['cursor'] },
  rateLimit: {
    login: { windowMs: 1, max: 1, count: 'failed' },
    key: fn,
    apiKey: { header: 'X-Partner', verify: fn },
    bypass: ['10.0.0.0/8'],
    prefix: 'limits:',
    onStoreError: 'deny',
    onLimit: fn
  },
  decorators: {
    authenticate: 'a',
    authenticateOptional: 'f',
    requireFirstParty: 'g',
    requireUser: 'i',
    requireScope: 'b',
    requireRole: 'k',
    requireNoActor: 'l',
    requireAuth: 'h',
    protectedResource: 'j',
    authority: 'c',
    auth: 'd',
    authSession: 'e'
  },
  claims: fn,
  clock: steppedClock()
})

/** Copies options, and adds another value than the default for each missing option with a default in the schema. */
function withOthers<Of>(schema: TSchema, given: Of): Of {
  const variants = variantsOf(schema)
  if (Array.isArray(given)) {
    const list = variants.find((variant) => variant[Kind] === 'Array')
    return given.map((entry: unknown) => withOthers(list?.['items'] as TSchema, entry)) as Of
  }
  const section = variants.find(isSection)
  if (section === undefined || Object.getPrototypeOf(given) !== Object.prototype) return given
  const values = { ...(given as Record<string, unknown>) }
  for (const [name, member] of Object.entries(section['properties'] as Record<string, TSchema>)) {
    const value = Object.hasOwn(values, name) ? values[name] : otherThanDefault(member)
    if (value !== undefined) values[name] = withOthers(member, value)
  }
  return values as Of
}

function otherThanDefault(schema: TSchema): unknown {
  const { default: usual } = schema
  const variants = variantsOf(schema)
  if (variants.some(isSection)) return {}
  if (usual === undefined) return undefined
  if (schema[Kind] === 'Boolean') return usual === false
  if (schema[Kind] === 'Integer')
    return Number(usual) < Number(schema['maximum']) ? Number(usual) + 1 : Number(usual) - 1
  return variants.every((one) => one[Kind] === 'Literal')
    ? variants.find((one) => one['const'] !== usual)?.['const']
    : undefined
}

function variantsOf(schema: TSchema): TSchema[] {
  return schema[Kind] === 'Union' ? (schema['anyOf'] as TSchema[]) : [schema]
}

function isSection(schema: TSchema): boolean {
  return schema[Kind] === 'Object' && schema['additionalProperties'] === false
}

type Given = Record<string, unknown>
type Path = Array<string | number>

/** The path of every option that the schema describes, with those of the first entry of each list of objects. */
function pathsOf(schema: TSchema, path: Path): Path[] {
  return variantsOf(schema).flatMap((variant) => {
    if (variant[Kind] === 'Array') return pathsOf(variant['items'] as TSchema, [...path, 0])
    if (variant[Kind] !== 'Object') return []
    return Object.entries(variant['properties'] as Record<string, TSchema>).flatMap(([name, member]) => [
      [...path, name],
      ...pathsOf(member, [...path, name])
    ])
  })
}

const isThere = (path: Path): boolean =>
  path.slice(0, -1).reduce<unknown>((at, step) => (at as Given | undefined)?.[step], EVERYTHING) !== undefined &&
  valueAt(path) !== undefined
const valueAt = (path: Path): unknown => path.reduce<unknown>((at, step) => (at as Given)[step], EVERYTHING)
const OPTIONAL = pathsOf(OPTIONS_SCHEMA, []).filter(isThere)

/** A copy of `EVERYTHING` with a change at the end of the path. Other parts stay the same objects. */
function withChange(path: Path, change: (holder: Given, name: string) => void): Given {
  const copy = (value: unknown, [step, ...rest]: Path): unknown => {
    const one: Given = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as Given) }) as Given
    if (rest.length === 0) change(one, String(step))
    else one[step as string] = copy(one[step as string], rest)
    return one
  }
  return copy(EVERYTHING, path) as Given
}

/** The result of the options: settings, or the start error. */
function outcome(options: unknown): unknown {
  try {
    return settingsOf(options)
  } catch (error) {
    return (error as Error).message
  }
}

// covers A6
t.test('sets every option of the schema in the example of these tests', async (t) => {
  const names = (schema: TSchema, path: string): string[] =>
    pathsOf(schema, []).map((steps) => [path, ...steps.filter((step) => step !== 0)].filter(Boolean).join('.'))
  const all = new Set(names(OPTIONS_SCHEMA, ''))
  const had = new Set(OPTIONAL.map((steps) => steps.filter((step) => step !== 0).join('.')))
  // Managed signing algorithms, a store of clients, keys of a client, a shared secret, and the parts of a port are
  // other ways to give these options.
  const others = [
    'accessToken.alg',
    'clients.findById',
    'clients.tokenEndpointAuthMethod',
    'clients.jwks',
    'clients.jwks.keys',
    'clients.jwksUri',
    'apiKeys.find',
    'audit.append',
    'keys.secret',
    'connections.privateKey',
    'connections.keyId',
    'connections.teamId',
    'decorators.prefix',
    'password.hasher.hash',
    'password.hasher.verify',
    'clock.now',
    'clock.monotonic',
    'clock.after'
  ]
  t.strictSame(
    [...all].filter((name) => !had.has(name) && !others.includes(name)),
    []
  )
  t.type(outcome(EVERYTHING), 'object')
  t.ok(OPTIONAL.length > 100)
})

// covers A6
t.test('treats undefined at any path like an absent option', async (t) => {
  for (const path of OPTIONAL) {
    const name = path.join('.')
    const left = outcome(
      withChange(path, (holder, step) => {
        Reflect.deleteProperty(holder, step)
      })
    )
    const given = outcome(
      withChange(path, (holder, step) => {
        holder[step] = undefined
      })
    )
    t.strictSame(given, left, name)
    t.notSame(left, outcome(EVERYTHING), `${name}: the example differs from the default`)
  }
})

// covers A6
t.test('treats undefined as absent for an option that is alone in its section', async (t) => {
  const bare = settingsOf({ issuer: ISSUER, users })
  for (const path of OPTIONAL.filter(
    ([first]) => first !== 'issuer' && first !== 'users' && first !== 'clients' && first !== 'keys'
  )) {
    // An option with a required part can't be given without it, nor an option about factors without factors.
    if (
      path.length > 1 &&
      [
        'apiKey',
        'logo',
        'firebase',
        'hasher',
        'clock',
        'connections',
        'rememberDevice',
        'emailSignIn',
        'admin',
        'audit',
        'apiKeys',
        'dpop',
        'deviceGrant',
        'clientIdMetadata',
        'clientRegistration',
        'passkeys',
        'resources'
      ].some((whole) => path.slice(0, -1).includes(whole))
    )
      continue
    const options = path.reduceRight<unknown>((value, step) => ({ [step]: value }), undefined) as Given
    t.strictSame(settingsOf({ issuer: ISSUER, users, ...options }), bare, path.join('.'))
  }
})

// covers A6
t.test('accepts accessToken.alg as undefined, and refuses it together with keys', async (t) => {
  t.strictSame(
    settingsOf({ issuer: ISSUER, users, accessToken: { alg: undefined } }),
    settingsOf({ issuer: ISSUER, users })
  )
  t.equal(settingsOf({ issuer: ISSUER, users, accessToken: { alg: 'RS256' } }).accessToken.alg, 'RS256')
  t.type(outcome({ ...EVERYTHING, accessToken: { alg: undefined } }), 'object')
  t.match(
    outcome({ ...EVERYTHING, accessToken: { alg: 'ES256' } }),
    /^Invalid option "accessToken\.alg": got "ES256"; it takes nothing where the option keys is set/
  )
})

// covers A6
t.test('leaves nothing undefined in the settings', async (t) => {
  const undefinedPaths = (value: unknown, path: string): string[] => {
    if (value === undefined) return [path]
    if (
      typeof value !== 'object' ||
      value === null ||
      ['users', 'state', 'clock', 'password.hasher', 'registration.fields'].includes(path)
    )
      return []
    return Object.entries(value).flatMap(([name, member]) =>
      undefinedPaths(member, path === '' ? name : `${path}.${name}`)
    )
  }
  for (const options of [
    { issuer: ISSUER, users },
    EVERYTHING,
    {
      issuer: ISSUER,
      users,
      rateLimit: { apiKey: { verify: fn, header: undefined }, login: { max: undefined } },
      clients: [{ clientId: 'a', name: undefined }],
      paths: { token: undefined },
      keys: [{ kty: 'OKP', alg: 'EdDSA', kid: undefined }]
    }
  ]) {
    t.strictSame(undefinedPaths(settingsOf(options), ''), [])
  }
})

// covers A6
t.test('reads options from a class instance, and keeps the objects of the host as they are', async (t) => {
  class Options {
    issuer = ISSUER
    users = users
    secret = undefined
    get prefix(): string {
      return '/getter'
    }
  }
  t.match(settingsOf(new Options()), { issuer: ISSUER, prefix: '/getter', secrets: [] })
  const { users: same, state, clock } = settingsOf(EVERYTHING)
  t.equal(same, users)
  t.equal(state, EVERYTHING.state, "a store is the host's own object")
  t.equal(clock, EVERYTHING.clock)
  t.equal(settingsOf(EVERYTHING).password.hasher, EVERYTHING.password.hasher)
  t.match(
    outcome({ issuer: ISSUER, users, isuer: undefined }),
    /^Invalid option "isuer": there is no such option/,
    'a wrong name is a mistake whatever its value'
  )
  t.match(
    outcome({ issuer: ISSUER, users, secret: [SECRET, undefined] }),
    /^Invalid option "secret\[1\]": got nothing/,
    'a hole in a list is one'
  )
})

t.test('fills in the documented defaults', async (t) => {
  t.match(settingsOf({ issuer: ISSUER, users }), {
    prefix: '/auth',
    paths: {},
    state: null,
    redis: null,
    secrets: [],
    keys: null,
    clients: [],
    acrValues: ['password'],
    passwordGrant: 'first-party',
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    allowInsecureIssuer: false,
    accessToken: { expiresInSeconds: 900, audience: ISSUER, typ: 'at+jwt', alg: 'ES256' },
    refreshToken: { expiresInMs: 2_592_000_000, idleTimeoutMs: 1_209_600_000, rotate: 'oauth', reuseGraceMs: 10_000 },
    idToken: { expiresInSeconds: 900, claims: 'requested' },
    authorizationCode: { expiresInMs: 60_000 },
    session: { expiresInMs: 43_200_000, idleTimeoutMs: 7_200_000 },
    pages: {
      title: 'auth.example.com',
      logo: null,
      accentColor: '#1f5fbf',
      homeUrl: '/tenant',
      render: null,
      loginUrl: null
    },
    password: {
      memoryCost: 19_456,
      timeCost: 2,
      parallelism: 1,
      minLength: 8,
      maxBytes: 1024,
      concurrency: availableParallelism(),
      maxQueue: 64,
      contextWords: [],
      isBreached: null,
      pepper: false,
      firebase: null,
      importPepper: '',
      hasher: null
    },
    registration: { username: 'email', fields: null, verifyEmail: false },
    sendMessage: null,
    decorators: {
      authenticate: 'authenticate',
      authenticateOptional: 'authenticateOptional',
      requireFirstParty: 'requireFirstParty',
      requireUser: 'requireUser',
      requireScope: 'requireScope',
      requireRole: 'requireRole',
      requireNoActor: 'requireNoActor',
      requireAuth: 'requireAuth',
      protectedResource: 'protectedResource',
      authority: 'authority',
      auth: 'auth',
      authSession: 'authSession'
    },
    claims: null,
    clock: null
  })
  t.match(
    settingsOf({ issuer: ISSUER, users, session: { expiresIn: 60 } }).session,
    { expiresInMs: 60_000, idleTimeoutMs: 60_000 },
    'a session that is shorter than the default idle time has none of its own'
  )
})

t.test('keeps the given values, with times in the units of the settings', async (t) => {
  t.match(settingsOf(EVERYTHING), {
    prefix: '/oauth',
    secrets: [SECRET, `${SECRET}2`],
    accessToken: { expiresInSeconds: 60, audience: 'https://api.example' },
    refreshToken: { expiresInMs: 6_000_000, idleTimeoutMs: 600_000, rotate: 'never', reuseGraceMs: 1000 },
    idToken: { expiresInSeconds: 61 },
    authorizationCode: { expiresInMs: 30_000 },
    session: { expiresInMs: 6_001_000, idleTimeoutMs: 601_000 },
    pages: {
      title: 'Acme',
      logo: { url: '/logo.svg', dark: '/logo-dark.svg', height: 32, alt: 'Acme Corp.' },
      accentColor: { light: '#ff0000', dark: '#ffd400' },
      homeUrl: '/home',
      loginUrl: '/sign-in'
    },
    password: {
      memoryCost: 65_536,
      timeCost: 3,
      parallelism: 4,
      minLength: 12,
      maxBytes: 512,
      concurrency: 255,
      maxQueue: 1,
      contextWords: ['acme'],
      pepper: true,
      firebase: { signerKey: Buffer.from('AAECAwQFBgcICQoLDA0ODw==', 'base64'), saltSeparator: Buffer.from([7]) },
      importPepper: 'of Devise'
    },
    registration: { username: 'any', verifyEmail: true },
    rateLimit: {
      rules: { login: { windowMs: 1, max: 1, count: 'failed' } },
      apiKey: { header: 'x-partner' },
      bypass: ['10.0.0.0/8'],
      prefix: 'limits:',
      onStoreError: 'deny'
    },
    decorators: {
      authenticate: 'a',
      authenticateOptional: 'f',
      requireFirstParty: 'g',
      requireUser: 'i',
      requireScope: 'b',
      requireRole: 'k',
      requireNoActor: 'l',
      requireAuth: 'h',
      protectedResource: 'j',
      authority: 'c',
      auth: 'd',
      authSession: 'e'
    }
  })
})

t.test('accepts a store whose methods are inherited, and keeps the same object', (t) => {
  class Log implements AuditLog {
    readonly kind = 'own'
    readonly durable = true
    readonly #inner = memoryAudit()
    async append(...given: Parameters<AuditLog['append']>) {
      await this.#inner.append(...given)
    }
    async list(...given: Parameters<AuditLog['list']>) {
      return await this.#inner.list(...given)
    }
    async head(...given: Parameters<AuditLog['head']>) {
      return await this.#inner.head(...given)
    }
    async prune(...given: Parameters<AuditLog['prune']>) {
      return await this.#inner.prune(...given)
    }
  }
  const log = new Log()
  const keys = Object.create(memoryApiKeyStore()) as ApiKeyStore
  for (const options of [
    { audit: log, apiKeys: keys },
    { audit: { log }, apiKeys: { store: keys } }
  ]) {
    const { features } = settingsOf({ issuer: ISSUER, users, ...options })
    t.equal((features['audit'] as { log: unknown }).log, log)
    t.equal((features['apiKeys'] as { store: unknown }).store, keys)
  }
  t.end()
})
