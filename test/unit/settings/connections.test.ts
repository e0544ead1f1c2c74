/** Checks of the option `connections`: the path in the error of a mistake, and the defaults. */
import { generateKeyPairSync } from 'node:crypto'
import t from '../../support/tap.ts'
import { apple, discord, facebook, github, google, microsoft, oauth2, oidc } from '../../../lib/connections/index.ts'
import * as providers from '../../../lib/connections/providers.ts'
import { memoryUserStore, type StartError } from '../../../lib/index.ts'
import { settingsOf } from '../../../lib/composition/compose.ts'
import { connectionSettings } from '../../support/upstream/connection-settings.ts'
import { APPLE_KEY } from '../../support/upstream/providers.ts'

const client = { clientId: 'client', clientSecret: 'secret' }
const acme = { id: 'acme', issuer: 'https://sso.acme.example', ...client }
const appleOptions = { clientId: 'com.example.web', teamId: 'TEAMID', keyId: 'KEYID', privateKey: APPLE_KEY }
const wild = {
  id: 'wild',
  issuer: 'https://wild.example',
  ...client,
  scopes: [],
  authorizationEndpoint: 'https://wild.example/a',
  tokenEndpoint: 'https://wild.example/t',
  identify: () => ({ subject: '1' })
}
const base = {
  issuer: 'https://auth.example',
  users: memoryUserStore(),
  secret: 'a secret of more than 32 bytes, for tests only'
}

function refusal(connections: unknown, options: object = {}): string {
  try {
    settingsOf({ ...base, connections, ...options })
    return 'taken'
  } catch (error) {
    t.equal((error as StartError).code, 'FST_AUTHORITY_INVALID_OPTIONS')
    return (error as StartError).message
  }
}

t.test('names a provider function that was called with something else than options, and how to call it', async (t) => {
  for (const make of [...Object.values(providers), oauth2, oidc])
    for (const [given, got] of [
      [undefined, 'nothing'],
      [null, 'null'],
      ['a-secret-canary', 'a string'],
      [[client], 'an array']
    ] as const) {
      const { name } = make
      const error = t.throws(() => make(given as never), { code: 'FST_AUTHORITY_INVALID_OPTIONS' }, name) as Error
      t.match(error.message, `Invalid option "connections": ${name}(…) got ${got}; it takes {`)
      t.match(error.message, `Call it as ${name}({ `)
      t.notMatch(error.message, 'canary')
    }
})

// covers FED-27
t.test('rejects a mistake in the option connections with its path', async (t) => {
  const pem = (type: 'ec' | 'rsa', options: object): string =>
    generateKeyPairSync(type as 'rsa', options as { modulusLength: number })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString()
  const mistakes: Array<[path: string, connections: unknown, options?: object]> = [
    ['pages', [google(client)], { pages: false }],
    ['connections', 'google'],
    ['connections', google(client)],
    ['connections[0]', [undefined]],
    ['connections[0]', ['google']],
    ['connections[0]', [google]],
    ['connections[0].provider', [{ ...client, id: 'x', name: 'X', provider: {} }]],
    ['connections[0].provider', [{ ...client, id: 'x', name: 'X', provider: null }]],
    ['connections[0].provider', [{ ...client, id: 'x', name: 'X' }]],
    ['connections[0].clientID', [google({ ...client, clientID: 'x' } as never)]],
    ['connections[0].clientId', [google({ clientSecret: 's' } as never)]],
    ['connections[0].clientId', [google({ ...client, clientId: '' })]],
    ['connections[0].clientSecret', [google({ clientId: 'x' } as never)]],
    ['connections[0].clientSecret', [github({ clientId: 'x', clientSecret: undefined } as never)]],
    ['connections[0].clientSecret', [facebook({ ...client, clientSecret: '' })]],
    ['connections[0].clientSecret', [discord({ ...client, clientSecret: null } as never)]],
    ['connections[0].id', [google({ ...client, id: 'Google' })]],
    ['connections[0].id', [google({ ...client, id: 'a/b' })]],
    ['connections[0].id', [google({ ...client, id: 'x'.repeat(33) })]],
    ['connections[0].id', [google({ ...client, id: 'confirm' })]],
    ['connections[0].id', [oidc({ issuer: 'https://x.example', ...client } as never)]],
    ['connections[1].id', [google(client), google(client)]],
    ['connections[0].issuer', [oidc({ ...acme, issuer: 'http://sso.acme.example' })]],
    ['connections[0].issuer', [oidc({ ...acme, issuer: 'sso.acme.example' })]],
    ['connections[0].issuer', [oidc({ ...acme, issuer: undefined } as never)]],
    ['connections[0].issuer', [oauth2({ ...wild, issuer: 'wild' })]],
    ['connections[0].tokenEndpoint', [oauth2({ ...wild, tokenEndpoint: 'http://wild.example/t' })]],
    ['connections[0].authorizationEndpoint', [oauth2({ ...wild, authorizationEndpoint: undefined } as never)]],
    ['connections[0].identify', [oauth2({ ...wild, identify: undefined } as never)]],
    ['connections[0].parameters', [oauth2({ ...wild, parameters: { a: 1 } } as never)]],
    ['connections[0].parameters', [oidc({ ...acme, parameters: null } as never)]],
    [
      'connections[0].endpoints.keys',
      [
        oidc({
          ...acme,
          endpoints: { authorization: 'https://a.example', token: 'https://a.example', keys: 'http://a.example' }
        })
      ]
    ],
    ['connections[0].endpoints.token', [oidc({ ...acme, endpoints: { authorization: 'https://a.example' } as never })]],
    ['connections[0].signingAlgs', [oidc({ ...acme, signingAlgs: ['none'] })]],
    ['connections[0].signingAlgs', [oidc({ ...acme, signingAlgs: ['HS256'] })]],
    ['connections[0].signingAlgs', [oidc({ ...acme, signingAlgs: [] })]],
    ['connections[0].scopes', [oidc({ ...acme, scopes: ['email'] })]],
    ['connections[0].tenant', [microsoft({ ...client, tenant: 'contoso.onmicrosoft.com' })]],
    ['connections[0].allowedTenants', [microsoft({ ...client, allowedTenants: ['contoso'] })]],
    ['connections[0].hd', [google({ ...client, hd: 'Acme.com' })]],
    ['connections[0].hd', [google({ ...client, hd: [] })]],
    ['connections[0].version', [facebook({ ...client, version: '24' })]],
    ['connections[0].privateKey', [apple({ ...appleOptions, privateKey: 'CANARY' })]],
    ['connections[0].privateKey', [apple({ ...appleOptions, privateKey: pem('rsa', { modulusLength: 2048 }) })]],
    ['connections[0].privateKey', [apple({ ...appleOptions, privateKey: pem('ec', { namedCurve: 'P-384' }) })]],
    ['connections[0].privateKey', [apple({ ...appleOptions, privateKey: undefined } as never)]],
    ['connections[0].keyId', [apple({ ...appleOptions, keyId: undefined } as never)]],
    ['connections[0].teamId', [apple({ ...appleOptions, teamId: '' })]],
    ['connections[0].privateKey', [oidc({ ...acme, privateKey: APPLE_KEY })]],
    [
      'connections[0].privateKey',
      [oidc({ ...acme, clientSecret: undefined, privateKey: pem('rsa', { modulusLength: 1024 }) })]
    ],
    ['connections[0].linking', [google({ ...client, linking: 'always' } as never)]],
    ['connections[0].sync', [google({ ...client, sync: 'never' } as never)]],
    ['connections[0].enabled', [google({ ...client, enabled: 'yes' } as never)]],
    ['connections[0].registration', [google({ ...client, registration: 'yes' } as never)]],
    [
      'connections[0].registration',
      [google({ ...client, registration: true })],
      { users: { ...base.users, createWithIdentity: undefined } }
    ],
    ['connections[0].domains', [google({ ...client, domains: ['a.com', 'a.com'] })]],
    ['connections[0].domains[0]', [google({ ...client, domains: ['acme'] })]],
    ['connections[0].domains[0]', [google({ ...client, domains: ['@acme.com'] })]],
    ['connections[0].domains[0]', [google({ ...client, domains: ['bücher.example'] })]],
    ['connections[0].enforce', [google({ ...client, enforce: true })]],
    ['connections[0].appNonce', [google({ ...client, appNonce: false })]],
    ['connections[0].provider', [client as never]],
    ['connections[0].provider', [{ ...client, id: 'google', issuer: 'https://accounts.google.com' } as never]],
    ['connections[0].provider', [{ google: client } as never]],
    ['connections[0]', [google as never]],
    ['connections[0].button.logoUrl', [google({ ...client, button: { logoUrl: 'javascript:alert(1)' } })]],
    ['connections[0].button.color', [google({ ...client, button: { color: 'red' } } as never)]],
    [
      'connections[1].domains[0]',
      [google({ ...client, domains: ['acme.com'] }), oidc({ ...acme, domains: ['ACME.com'] })]
    ],
    ['connections[1].clientSecret', [oidc(acme), oidc({ ...acme, id: 'two', clientSecret: 'CANARY' })]],
    ['connections[1].clientId', [oidc(acme), oidc({ ...acme, id: 'two', clientId: 'other' })]],
    ['secret', [google(client)], { secret: undefined }],
    ['users.findByIdentity', [google(client)], { users: { ...base.users, findByIdentity: undefined } }],
    ['users.linkIdentity', [google(client)], { users: { ...base.users, linkIdentity: undefined } }]
  ]
  for (const [path, connections, options] of mistakes) {
    const message = refusal(connections, options)
    t.ok(message.startsWith(`Invalid option "${path}": `), `${path}: ${message}`)
    t.notMatch(message, /CANARY|undefined|\[object/)
  }
})

t.test('gives an undefined option of a connection its default', async (t) => {
  t.strictSame(connectionSettings(base), [])
  t.strictSame(connectionSettings({ ...base, connections: undefined }), [])
  t.strictSame(
    connectionSettings({
      ...base,
      connections: [],
      secret: undefined,
      users: { findById: base.users.findById, findByUsername: base.users.findByUsername }
    }),
    [],
    'none needs nothing'
  )
  const given = {
    id: undefined,
    name: undefined,
    scopes: undefined,
    registration: undefined,
    linking: undefined,
    domains: undefined,
    enforce: undefined,
    profile: undefined,
    sync: undefined,
    assurance: undefined,
    onSignIn: undefined,
    button: { label: undefined, logoUrl: undefined },
    pkce: undefined,
    audiences: undefined,
    appNonce: undefined,
    enabled: undefined,
    hd: undefined
  }
  const [{ provider, ...settings } = {} as never] = connectionSettings({
    ...base,
    connections: [google({ ...client, ...given })]
  })
  t.equal(provider.brand, 'google')
  t.strictSame(settings, {
    id: 'google',
    name: 'Google',
    ...client,
    privateKey: null,
    keyId: null,
    teamId: null,
    scopes: ['openid', 'profile', 'email'],
    registration: true,
    linking: 'confirm',
    domains: [],
    enforce: false,
    audiences: [],
    appNonce: true,
    profile: null,
    sync: 'create',
    assurance: null,
    onSignIn: null,
    button: { label: null, logoUrl: null },
    pkce: true,
    enabled: true
  })
})

t.test('derives the registration of a connection from its option, the service and the store', async (t) => {
  const registers = (options: object): boolean | undefined =>
    connectionSettings({ ...base, connections: [google(client)], ...options })[0]?.registration
  t.equal(registers({}), true)
  t.equal(registers({ registration: false }), false)
  t.equal(registers({ users: { ...base.users, createWithIdentity: undefined } }), false)
  t.equal(
    connectionSettings({ ...base, registration: false, connections: [google({ ...client, registration: true })] })[0]
      ?.registration,
    true,
    'or where it alone is to'
  )
})

t.test('accepts all providers together, and two connections to one provider', async (t) => {
  const named = Object.values(providers).map((make) => make((make === apple ? appleOptions : client) as never))
  const acmeGoogle = google({ ...client, id: 'acme-google', hd: 'acme.com', domains: ['acme.com'] })
  t.strictSame(
    connectionSettings({ ...base, connections: [...named, acmeGoogle, oidc(acme), oauth2(wild)] }).map(
      ({ id, name }) => `${id} ${name}`
    ),
    [...named.map(({ id, name }) => `${id} ${name}`), 'acme-google Google', 'acme acme', 'wild wild']
  )
  t.equal(
    connectionSettings({
      ...base,
      connections: [apple({ ...appleOptions, privateKey: APPLE_KEY.replaceAll('\n', '\\n') })]
    })[0]?.privateKey,
    APPLE_KEY,
    'a key as an environment variable has it'
  )
})
