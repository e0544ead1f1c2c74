import { generateKeyPairSync } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import { type TSchema, Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { holdsInTable } from '../support/table.ts'
import authPlugin, { type AuthorityOptions, memoryState, memoryUserStore } from '../../lib/index.ts'
import { fastHasher, steppedClock } from '../../lib/testing/index.ts'
import { OPTIONS_SCHEMA, settingsOf } from '../../lib/composition/compose.ts'
import { OWN_FIELDS } from '../../lib/ports/user-store.ts'

const ISSUER = 'https://auth.example.com'
const users = memoryUserStore()
const SECRET = 'kJ8v2Qm4Xr7Zt1Wc9Ly6Bn3Hs5Dg0Pf!'
const SHORT = 'kJ8v2Qm4Xr7Zt1Wc9Ly6Bn3Hs5Dg0Pf'
const fn = (): void => {}

type Row = [options: Record<string, unknown>, path: string, got: string, takes: RegExp]

/** The option `pages` with one address: `name`, or `logo.…`. */
const pagesWith = (name: string, value: string): object =>
  name.startsWith('logo.') ? { logo: { url: '/logo.svg', [name.slice(5)]: value } } : { [name]: value }

/** The message of the error for invalid options. Marks another error as such. */
function messageOf(options: unknown): string {
  try {
    settingsOf(options)
  } catch (error) {
    const { code, message } = error as Error & { code: string }
    return code === 'FST_AUTHORITY_INVALID_OPTIONS' ? message : `another error: ${message}`
  }
  return 'no error'
}

/** Values that no numeric option takes, with their form in the message. */
const NO_NUMBER: Array<[unknown, string]> = [
  ['7', '"7"'],
  [null, 'null'],
  [true, 'true'],
  [1.5, '1.5'],
  [Number.NaN, 'NaN'],
  [Infinity, 'Infinity'],
  [-1, '-1'],
  [[], 'an empty array'],
  [{}, 'an object']
]
const NUMBERS: Array<[section: string, name: string, min: number, max: number]> = [
  ['accessToken', 'expiresIn', 1, 86_400],
  ['refreshToken', 'expiresIn', 1, 31_536_000],
  ['refreshToken', 'idleTimeout', 1, 31_536_000],
  ['refreshToken', 'reuseGraceSeconds', 0, 300],
  ['idToken', 'expiresIn', 1, 86_400],
  ['authorizationCode', 'expiresIn', 1, 600],
  ['session', 'expiresIn', 1, 31_536_000],
  ['session', 'idleTimeout', 1, 31_536_000],
  ['password', 'memoryCost', 7168, 262_144],
  ['password', 'timeCost', 1, 16],
  ['password', 'parallelism', 1, 16],
  ['password', 'minLength', 8, 64],
  ['password', 'maxBytes', 256, 4096],
  ['password', 'concurrency', 1, 256],
  ['password', 'maxQueue', 0, 100_000]
]
/** Other options without which the lowest or highest number of an option would be rejected. */
const COMPANIONS: Record<string, Record<string, unknown>> = {
  'refreshToken.expiresIn': { accessToken: { expiresIn: 1 } },
  'session.idleTimeout': { session: { expiresIn: 31_536_000 } },
  'password.memoryCost = 7168': { password: { timeCost: 5 } },
  'password.timeCost = 1': { password: { memoryCost: 262_144 } }
}

t.test('checks type and range of the number options, and accepts both ends of their ranges', async (t) => {
  for (const [section, name, min, max] of NUMBERS) {
    const path = `${section}.${name}`
    await holdsInTable(t, `${path} refuses what is no number of its range`, ({ row }) => {
      for (const [value, shown] of [
        ...NO_NUMBER,
        [min - 1, String(min - 1)],
        [max + 1, String(max + 1)]
      ] as typeof NO_NUMBER) {
        const message = messageOf({ issuer: ISSUER, users, [section]: { [name]: value } })
        const start = `Invalid option "${path}": got ${shown}; it takes a whole number`
        const end = `from ${min} to ${max}.`
        row(`${shown}: ${message}`, [message.startsWith(start), message.endsWith(end)], [true, true])
      }
    })
    for (const value of [min, max]) {
      const companion = COMPANIONS[`${path} = ${value}`] ?? COMPANIONS[path] ?? {}
      const given = { ...companion, [section]: { ...(companion[section] as object), [name]: value } }
      t.doesNotThrow(() => settingsOf({ issuer: ISSUER, users, ...given }), `${path} = ${value}`)
    }
  }
  for (const rule of ['login', 'register', 'passwordReset', 'account', 'refresh']) {
    for (const name of ['windowMs', 'max']) {
      for (const [value, shown] of [...NO_NUMBER, [0, '0']] as typeof NO_NUMBER) {
        t.ok(
          messageOf({ issuer: ISSUER, users, rateLimit: { [rule]: { [name]: value } } }).startsWith(
            `Invalid option "rateLimit.${rule}.${name}": got ${shown}; it takes a whole number`
          ),
          `rateLimit.${rule}.${name} = ${shown}`
        )
      }
    }
    t.equal(messageOf({ issuer: ISSUER, users, rateLimit: { [rule]: { max: 10_000 } } }), 'no error')
    t.match(
      messageOf({ issuer: ISSUER, users, rateLimit: { [rule]: { max: 10_001 } } }),
      /max": got 10001; it takes a whole number from 1 to 10000: each attempt looks at all that is counted/,
      'B15 with the reason'
    )
  }
})

t.test('rejects a bad value of the other options, with its path, the value and the accepted values', async (t) => {
  const client = (more: object): Record<string, unknown> => ({
    clients: [{ clientId: 'app' }, { clientId: 'other', ...more }]
  })
  const rows: Row[] = [
    [{ users: undefined }, 'users', 'nothing', /^a UserStore/],
    [{ users: null }, 'users', 'null', /lacks findById/],
    [{ users: 'postgres://me:hunter2@db/app' }, 'users', '"postgres://…@db/app"', /^a UserStore/],
    [{ users: { findById: fn } }, 'users', 'an object', /lacks findByUsername/],
    [{ users: { findById: fn, findByUsername: true } }, 'users', 'an object', /lacks findByUsername/],
    ...Object.keys(memoryUserStore())
      .filter((method) => method !== 'findById' && method !== 'findByUsername')
      .map((method): Row => [
        { users: { findById: fn, findByUsername: fn, [method]: 1 } },
        `users.${method}`,
        '1',
        /^a function/
      ]),
    ...['auth', '/auth/', '/', '//', '/a b', '/a//b', '/:id', '/*', '/a?b', '/a#b', '/%61', '/ä', ' /auth'].map(
      (prefix): Row => [{ prefix }, 'prefix', JSON.stringify(prefix), /^a path/]
    ),
    [{ prefix: 1 }, 'prefix', '1', /^a path/],
    [{ paths: '/oauth' }, 'paths', '"/oauth"', /^an object/],
    ...['', 'oauth/token', '/a b', '/:id', '/*', '/a?b', '/a#b', 'https://a.b/token'].map((token): Row => [
      { paths: { token } },
      'paths.token',
      JSON.stringify(token),
      /^an absolute path/
    ]),
    [{ paths: { refresh: 1 } }, 'paths.refresh', '1', /^an absolute path/],
    [{ paths: { token: '/x', refresh: '/x' } }, 'paths.token', '"/x"', /no other endpoint/],
    [{ paths: { login: '/x', jwks: '/x' } }, 'paths.login', '"/x"', /no other endpoint/],
    [{ state: 'redis' }, 'state', '"redis"', /^a State/],
    [{ state: {} }, 'state', 'an object', /memoryState\(\)/],
    [{ state: { tokens: {}, oneTimeTokens: {} } }, 'state', 'an object', /^a State/],
    ...['tryWrite', 'sweep'].map((name): Row => [
      { state: { ...memoryState(), [name]: undefined } },
      `state.${name}`,
      'nothing',
      /^a function/
    ]),
    [{ state: { tokens: {}, oneTimeTokens: {}, keys: {} } }, 'state', 'an object', /^a State/],
    ...['tokens', 'oneTimeTokens', 'browserSessions', 'consents', 'keys'].map((port): Row => [
      { state: { ...memoryState(), [port]: undefined } },
      'state',
      'an object',
      /^a State/
    ]),
    ...[1, null, SHORT, {}].map((secret): Row => [{ secret }, 'secret', 'a value that is not shown', /32 bytes/]),
    [{ secret: [] }, 'secret', 'a value that is not shown', /an array of them/],
    [{ secret: [SECRET, SHORT] }, 'secret[1]', 'a value that is not shown', /32 bytes/],
    [{ secret: [SECRET, 1] }, 'secret[1]', 'a value that is not shown', /32 bytes/],
    [{ secret: 'x'.repeat(32) }, 'secret', 'a value that is not shown', /^random text/],
    [{ secret: [SECRET, 'abcd'.repeat(9)] }, 'secret[1]', 'a value that is not shown', /^random text/],
    ...[1, 'managed', []].map((keys): Row => [{ keys }, 'keys', 'a value that is not shown', /private JWKs/]),
    [{ keys: [SECRET] }, 'keys[0]', 'a value that is not shown', /^a private JWK/],
    [{ keys: {} }, 'keys.secret', 'nothing', /32 bytes/],
    [{ keys: { secret: SHORT } }, 'keys.secret', 'a value that is not shown', /32 bytes/],
    [{ keys: { secret: 'x'.repeat(40) } }, 'keys.secret', 'a value that is not shown', /^random text/],
    [{ keys: [{ kid: 'a' }, { kid: 'b' }, { kid: 'a' }] }, 'keys[0].kid', '"a"', /no other key/],
    [{ clients: 'app' }, 'clients', '"app"', /^an array of clients/],
    [{ clients: {} }, 'clients', 'an object', /^an array of clients/],
    [{ clients: { findById: {} } }, 'clients.findById', 'an object', /^a function/],
    [{ clients: ['app'] }, 'clients[0]', '"app"', /^a client/],
    [{ clients: [{}] }, 'clients[0].clientId', 'nothing', /^a string/],
    [client({ clientId: '' }), 'clients[1].clientId', '""', /^a string of 1/],
    [client({ clientId: 'app' }), 'clients[1].clientId', '"app"', /no other client/],
    [client({ clientSecret: SHORT }), 'clients[1].clientSecret', 'a value that is not shown', /32 bytes/],
    [client({ clientSecret: { value: SECRET } }), 'clients[1].clientSecret', 'a value that is not shown', /32 bytes/],
    [client({ redirectUris: 'https://a.b' }), 'clients[1].redirectUris', '"https://a.b"', /^an array of URIs/],
    [client({ redirectUris: ['https://a.b', 1] }), 'clients[1].redirectUris[1]', '1', /^a string/],
    [client({ postLogoutRedirectUris: {} }), 'clients[1].postLogoutRedirectUris', 'an object', /^an array/],
    [client({ origins: [''] }), 'clients[1].origins[0]', '""', /not empty/],
    [client({ grantTypes: ['implicit'] }), 'clients[1].grantTypes[0]', '"implicit"', /"password"/],
    [
      client({ scopes: ['openid', 'root'] }),
      'clients[1].scopes',
      '"root"',
      /^scopes of the options scopes and resources/
    ],
    ...['requirePkce', 'firstParty'].map((name): Row => [
      client({ [name]: 'yes' }),
      `clients[1].${name}`,
      '"yes"',
      /^true or false/
    ]),
    ...[undefined, 'web'].flatMap((applicationType) =>
      ['redirectUris', 'postLogoutRedirectUris'].map((name): Row => [
        client({ applicationType, [name]: ['https://a.b/cb', 'com.example.app:/cb'] }),
        `clients[1].${name}[1]`,
        '"com.example.app:/cb"',
        /^https:, or http: on localhost.*private-use scheme only where applicationType is "native"/
      ])
    ),
    ...[1, 'desktop', ''].map((applicationType): Row => [
      client({ applicationType }),
      'clients[1].applicationType',
      JSON.stringify(applicationType),
      /"web", "native"/
    ]),
    ...[1, null, ['password']].map((acr): Row => [
      client({ acr }),
      'clients[1].acr',
      Array.isArray(acr) ? 'an array of "password"' : String(acr),
      /^a string/
    ]),
    ...['', 'mfa', 'phr', 'email', 'connection', 'PASSWORD', 'password mfa'].map((acr): Row => [
      client({ acr }),
      'clients[1].acr',
      JSON.stringify(acr),
      /^what a sign-in of this configuration can be worth \(password\)/
    ]),
    ...[true, 'all'].map((idTokenClaims): Row => [
      client({ idTokenClaims }),
      'clients[1].idTokenClaims',
      JSON.stringify(idTokenClaims),
      /"requested", "scopes"/
    ]),
    ...['logoUri', 'clientUri'].flatMap((name) =>
      ['http://a.b/x', 'javascript:alert(1)', 'data:image/png;base64,x', '/logo.svg'].map((uri): Row => [
        client({ [name]: uri }),
        `clients[1].${name}`,
        JSON.stringify(uri),
        /http: on localhost|^an absolute URI|^a URI/
      ])
    ),
    ...['name', 'logoUri', 'clientUri', 'backchannelLogoutUri'].map((name): Row => [
      client({ [name]: 1 }),
      `clients[1].${name}`,
      '1',
      /^an? /
    ]),
    [client({ pages: 'App' }), 'clients[1].pages', '"App"', /^\{ title, logo, accentColor \}/],
    [client({ pages: { title: '' } }), 'clients[1].pages.title', '""', /1 to 100/],
    [client({ pages: { accentColor: 'red' } }), 'clients[1].pages.accentColor', '"red"', /^a color/],
    [
      client({ pages: { logo: { dark: '/d.svg' } } }),
      'clients[1].pages.logo.url',
      'nothing',
      /^an https: URL or a path/
    ],
    ...['url', 'dark'].flatMap((name) =>
      ['http://a.b/x', 'javascript:alert(1)', 'logo.svg', '//evil.example/l', '/\\evil.example'].map((value): Row => [
        client({ pages: { logo: { url: '/logo.svg', [name]: value } } }),
        `clients[1].pages.logo.${name}`,
        JSON.stringify(value),
        /^a path such as/
      ])
    ),
    ...[1, 'HS256', 'none', 'rs256', ''].map((alg): Row => [
      client({ idTokenSignedResponseAlg: alg }),
      'clients[1].idTokenSignedResponseAlg',
      JSON.stringify(alg),
      /"ES256", "EdDSA", "PS256", "RS256"/
    ]),
    [
      { ...client({ idTokenSignedResponseAlg: 'ES256' }), keys: [{ alg: 'RS256' }, { alg: 'EdDSA' }] },
      'clients[1].idTokenSignedResponseAlg',
      '"ES256"',
      /option keys \(RS256, EdDSA\)/
    ],
    ...['redirectUris', 'postLogoutRedirectUris'].flatMap(
      (name) =>
        [
          ...['http://app.example/cb', 'http://10.0.0.1/cb', 'http://localhost.evil.example/cb'].map((uri): Row => [
            client({ [name]: ['https://a.b/cb', uri] }),
            `clients[1].${name}[1]`,
            JSON.stringify(uri),
            /http: on localhost/
          ]),
          ...['/cb', 'a.b/cb'].map((uri): Row => [
            client({ [name]: [uri] }),
            `clients[1].${name}[0]`,
            JSON.stringify(uri),
            /^an absolute URI/
          ]),
          ...['javascript:alert(1)', 'data:text/html,x', 'myapp://cb'].map((uri): Row => [
            client({ [name]: [uri] }),
            `clients[1].${name}[0]`,
            JSON.stringify(uri),
            /private-use scheme with a dot/
          ]),
          [client({ [name]: ['https://a.b/cb#'] }), `clients[1].${name}[0]`, '"https://a.b/cb#"', /without a fragment/],
          [
            client({ [name]: ['https://me:hunter2@a.b/cb'] }),
            `clients[1].${name}[0]`,
            '"https://…@a.b/cb"',
            /without user name/
          ],
          [
            client({ [name]: ['https://*.a.b/cb'] }),
            `clients[1].${name}[0]`,
            '"https://*.a.b/cb"',
            /spelled as browsers do/
          ]
        ] as Row[]
    ),
    ...[
      '*',
      'null',
      'a.b',
      'https://a.b/',
      'https://a.b/x',
      'https://a.b?',
      'https://a.b#',
      'https://*.a.b',
      'https://A.b',
      'HTTPS://a.b',
      'https://a.b:443',
      'http://a.b:80',
      'https://a.b:0',
      'https://a.b:',
      'https://me@a.b',
      'https://a.b, https://c.d',
      ' https://a.b',
      'https://a.b\n',
      '//a.b',
      'https:a.b',
      'https://tä.b',
      'http://127.1',
      'file://x',
      'https://',
      'capacitor:'
    ].map((origin): Row => [
      client({ origins: ['https://a.b', origin] }),
      'clients[1].origins[1]',
      JSON.stringify(origin).replace('me@', '…@'),
      /^one origin as browsers send it/
    ]),
    ...['http://a.b/logout', 'ftp://a.b', 'com.example:/logout'].map((uri): Row => [
      client({ backchannelLogoutUri: uri }),
      'clients[1].backchannelLogoutUri',
      JSON.stringify(uri),
      /http: on localhost/
    ]),
    ...['', '/logout'].map((uri): Row => [
      client({ backchannelLogoutUri: uri }),
      'clients[1].backchannelLogoutUri',
      JSON.stringify(uri),
      /^an? .*URI/
    ]),
    [
      client({ backchannelLogoutUri: 'https://a.b/logout#x' }),
      'clients[1].backchannelLogoutUri',
      '"https://a.b/logout#x"',
      /without a fragment/
    ],
    [client({ requirePkce: false }), 'clients[1].requirePkce', 'false', /only with a clientSecret/],
    [
      client({ grantTypes: ['password', 'client_credentials'] }),
      'clients[1].grantTypes',
      '"client_credentials"',
      /only with a clientSecret/
    ],
    [
      client({ firstParty: false, grantTypes: ['password'] }),
      'clients[1].grantTypes',
      '"password"',
      /only without firstParty: false/
    ],
    [client({ grantTypes: ['authorization_code'] }), 'clients[1].redirectUris', 'an empty array', /^one URI at least/],
    [
      client({ grantTypes: ['authorization_code'], redirectUris: [] }),
      'clients[1].redirectUris',
      'an empty array',
      /^one URI at least/
    ],
    ...['session', 'idToken', 'authorizationCode'].map((name): Row => [{ [name]: 3600 }, name, '3600', /^an object/]),
    [{ session: { idleTimeout: 43_201 } }, 'session.idleTimeout', '43201', /session\.expiresIn \(43200\)/],
    [{ session: { expiresIn: 60, idleTimeout: 61 } }, 'session.idleTimeout', '61', /session\.expiresIn \(60\)/],
    ...[true, 'built in', null].map((pages): Row => [{ pages }, 'pages', JSON.stringify(pages), /^false or/]),
    [{ pages: { title: '' } }, 'pages.title', '""', /1 to 100/],
    [{ pages: { title: 'x'.repeat(101) } }, 'pages.title', `"${'x'.repeat(80)}…"`, /1 to 100/],
    ...['red', '#fff', '#1f5fbf;}', 'url(x)'].map((accentColor): Row => [
      { pages: { accentColor } },
      'pages.accentColor',
      JSON.stringify(accentColor),
      /^a color/
    ]),
    [{ pages: { layout: 'split' } }, 'pages.layout', '"split"', /"card", "plain"/],
    [{ pages: { order: 'email-first' } }, 'pages.order', '"email-first"', /"password-first", "providers-first"/],
    [{ pages: { colorScheme: 'black' } }, 'pages.colorScheme', '"black"', /"light", "dark", "auto"/],
    ...['red', '#fff', '#1f5fbf;}', 'url(x)'].flatMap((value): Row[] => [
      [{ pages: { background: value } }, 'pages.background', JSON.stringify(value), /^a color/],
      [{ pages: { background: { dark: value } } }, 'pages.background.dark', JSON.stringify(value), /^a color/]
    ]),
    ...['1', '-1px', '33px', '4.5px', '2.1rem', '1em', '50%', '0;}', 'calc(1px)', '1px 2px', ''].map((radius): Row => [
      { pages: { radius } },
      'pages.radius',
      JSON.stringify(radius),
      /^"0", or a length/
    ]),
    ...[
      '',
      'Inter;',
      'Inter}',
      '"Inter',
      '\'Inter"',
      'url(x)',
      'Inter, ',
      ',Inter',
      'a/**/b',
      '"a\\"',
      '"a\nb"',
      '"<style>"',
      'var(--x)'
    ].map((font): Row => [{ pages: { font } }, 'pages.font', JSON.stringify(font), /^font families/]),
    [{ pages: { texts: { en: { loginTitle: 1 } } } }, 'pages.texts.en.loginTitle', '1', /^a text/],
    [{ pages: { texts: { en: { loginTitle: '' } } } }, 'pages.texts.en.loginTitle', '""', /^a text/],
    [{ pages: { texts: { en: null } } }, 'pages.texts.en', 'null', /^an object of texts/],
    [{ pages: { texts: [] } }, 'pages.texts', 'an empty array', /^texts by language/],
    ...['javascript:alert(1)', '//evil.example', 'http://a.b/', 'mailto:a@b.c'].map((terms): Row => [
      { pages: { links: { terms } } },
      'pages.links.terms',
      JSON.stringify(terms),
      /^a path/
    ]),
    ...['mailto:', 'mailto:a@b.c?body=x', 'tel:1'].map((support): Row => [
      { pages: { links: { support } } },
      'pages.links.support',
      JSON.stringify(support),
      /^a path/
    ]),
    [{ pages: { render: 'x' } }, 'pages.render', '"x"', /^a function/],
    [{ pages: { logo: '/logo.svg' } }, 'pages.logo', '"/logo.svg"', /^\{ url, dark, height, alt \}/],
    [{ pages: { logo: {} } }, 'pages.logo.url', 'nothing', /^an https: URL or a path/],
    ...[23, 65, 40.5, '40'].map((height): Row => [
      { pages: { logo: { url: '/logo.svg', height } } },
      'pages.logo.height',
      JSON.stringify(height),
      /^a whole number from 24 to 64/
    ]),
    [{ pages: { logo: { url: '/logo.svg', alt: '' } } }, 'pages.logo.alt', '""', /1 to 100/],
    ...['logo.url', 'logo.dark', 'faviconUrl', 'stylesheetUrl', 'home', 'loginUrl'].flatMap((name): Row[] =>
      [
        '//evil.example',
        '/\\evil.example',
        '/\t/evil.example',
        '/..//evil.example',
        'home',
        'http://a.b/',
        'javascript:alert(1)',
        'data:image/png;base64,x',
        'com.example:/x',
        'https:a.b',
        'https://a.b/#x'
      ].map((value): Row => [
        { pages: pagesWith(name, value) },
        `pages.${name}`,
        JSON.stringify(value),
        /^a path such as/
      ])
    ),
    ...[true, 'all', null, 0].map((passwordGrant): Row => [
      { passwordGrant },
      'passwordGrant',
      JSON.stringify(passwordGrant),
      /"first-party", "clients", false/
    ]),
    [{ scopes: 'openid' }, 'scopes', '"openid"', /^an array/],
    [{ scopes: [] }, 'scopes', 'an empty array', /^an array/],
    [{ scopes: {} }, 'scopes', 'an object', /^an array/],
    [
      { scopes: ['a', 'b', 'c', 'd', 'e', 'f', 'a'] },
      'scopes',
      'an array of "a", "b", "c", "d", "e" and 2 more',
      /each once/
    ],
    [
      { users: ['postgres://me:hunter2@db', {}, [1], null, 'x'.repeat(90)] },
      'users',
      `an array of "postgres://…@db", an object, an array, null, "${'x'.repeat(80)}…"`,
      /^a UserStore/
    ],
    [{ scopes: { 'a b': {} } }, 'scopes.a b', 'an object', /or an object of them/],
    [{ scopes: { openid: 'x' } }, 'scopes.openid', '"x"', /by language/],
    [{ scopes: { openid: { en: 1 } } }, 'scopes.openid.en', '1', /^a text/],
    [{ scopes: ['a', 'a'] }, 'scopes', 'an array of "a", "a"', /each once/],
    ...['a b', '', 'a"b', 'ä'].map((scope): Row => [
      { scopes: ['openid', scope] },
      'scopes[1]',
      JSON.stringify(scope),
      /^a scope token/
    ]),
    [{ accessToken: 900 }, 'accessToken', '900', /^an object/],
    ...['at', 'jwt', 1].map((typ): Row => [
      { accessToken: { typ } },
      'accessToken.typ',
      JSON.stringify(typ),
      /"at\+jwt", "JWT"/
    ]),
    ...['HS256', 'EdDSA', null].map((alg): Row => [
      { accessToken: { alg } },
      'accessToken.alg',
      JSON.stringify(alg),
      /"ES256", "RS256"/
    ]),
    ...[[{ kid: 'a', alg: 'RS256' }], { secret: SECRET }].map((keys): Row => [
      { keys, accessToken: { alg: 'RS256' } },
      'accessToken.alg',
      '"RS256"',
      /option keys/
    ]),
    ...['app', ['https://api', 'app']].map((audience): Row => [
      { ...client({}), clients: [{ clientId: 'app' }], accessToken: { audience, typ: 'JWT' } },
      'clients[0].clientId',
      '"app"',
      /^another id than accessToken\.audience/
    ]),
    ...['all', true].map((claims): Row => [
      { idToken: { claims } },
      'idToken.claims',
      JSON.stringify(claims),
      /"requested", "scopes"/
    ]),
    [{ allowInsecureIssuer: 'yes' }, 'allowInsecureIssuer', '"yes"', /^true or false/],
    [{ accessToken: { audience: '' } }, 'accessToken.audience', '""', /^a string/],
    [{ accessToken: { audience: [] } }, 'accessToken.audience', 'an empty array', /^a string/],
    [{ accessToken: { audience: ['a', 1] } }, 'accessToken.audience[1]', '1', /^a string/],
    [
      { accessToken: { expiresIn: 900 }, refreshToken: { expiresIn: 899 } },
      'accessToken.expiresIn',
      '900',
      /refreshToken\.expiresIn \(899\)/
    ],
    [{ refreshToken: [] }, 'refreshToken', 'an empty array', /^an object/],
    ...[true, 'on', null].map((rotate): Row => [
      { refreshToken: { rotate } },
      'refreshToken.rotate',
      JSON.stringify(rotate),
      /"oauth", "always", "never"/
    ]),
    [{ password: 'argon2' }, 'password', '"argon2"', /^an object/],
    [{ password: { memoryCost: 8192 } }, 'password.timeCost', '2', /35840 or more \(it is 16384\)/],
    [{ password: { timeCost: 1 } }, 'password.timeCost', '1', /35840 or more/],
    [{ password: { memoryCost: 262_144, timeCost: 5 } }, 'password.timeCost', '5', /1048576 or less \(it is 1310720\)/],
    [{ password: { contextWords: 'acme' } }, 'password.contextWords', '"acme"', /^an array/],
    [{ password: { contextWords: ['acme', ''] } }, 'password.contextWords[1]', '""', /not empty/],
    [{ password: { isBreached: true } }, 'password.isBreached', 'true', /^a function/],
    [{ password: { pepper: SECRET }, secret: SECRET }, 'password.pepper', `"${SECRET}"`, /^true or false/],
    [{ password: { pepper: true } }, 'password.pepper', 'true', /secret/],
    [{ password: { hasher: 'argon2' } }, 'password.hasher', '"argon2"', /^a PasswordHasher/],
    [{ password: { hasher: { hash: fn } } }, 'password.hasher.verify', 'nothing', /^a function/],
    [{ registration: true }, 'registration', 'true', /^false or/],
    [{ registration: { verifyEmail: 1 } }, 'registration.verifyEmail', '1', /^true or false/],
    [{ registration: { verifyEmail: true } }, 'registration.verifyEmail', 'true', /sendMessage/],
    [{ registration: {}, users: { findById: fn, findByUsername: fn } }, 'registration', 'an object', /create/],
    [
      { registration: { verifyEmail: true }, sendMessage: fn, users: { findById: fn, findByUsername: fn, create: fn } },
      'registration.verifyEmail',
      'true',
      /setEmailVerified/
    ],
    ...[1, {}, { type: 'string' }, Type.String()].map((fields): Row => [
      { registration: { fields } },
      'registration.fields',
      fields === 1 ? '1' : 'an object',
      /Type\.Object/
    ]),
    [
      { registration: { fields: Type.Object({ email: Type.String() }) } },
      'registration.fields.email',
      '"a field"',
      /set registration.username to "any"/
    ],
    [{ registration: { username: 'name' } }, 'registration.username', '"name"', /^"email", "any"/],
    ...[...OWN_FIELDS]
      .filter((name) => !['email', '__proto__'].includes(name))
      .map((name): Row => [
        { registration: { fields: Type.Object({ [name]: Type.String() }) } },
        `registration.fields.${name}`,
        '"a field"',
        /another name/
      ]),
    [{ sendMessage: 'smtp://me:hunter2@mail' }, 'sendMessage', '"smtp://…@mail"', /^a function/],
    [{ rateLimit: true }, 'rateLimit', 'true', /^false or/],
    [{ rateLimit: { login: true } }, 'rateLimit.login', 'true', /^false or/],
    [{ rateLimit: { login: 5 } }, 'rateLimit.login', '5', /^false or/],
    [{ rateLimit: { login: { count: 'none' } } }, 'rateLimit.login.count', '"none"', /"all", "failed"/],
    [{ rateLimit: { key: 'ip' } }, 'rateLimit.key', '"ip"', /^a function/],
    [{ rateLimit: { apiKey: 'x-api-key' } }, 'rateLimit.apiKey', '"x-api-key"', /^{ header, verify }/],
    [{ rateLimit: { apiKey: { header: 'x-api-key' } } }, 'rateLimit.apiKey.verify', 'nothing', /^a function/],
    [
      { rateLimit: { apiKey: { header: 'x api key', verify: fn } } },
      'rateLimit.apiKey.header',
      '"x api key"',
      /^a header name/
    ],
    [{ rateLimit: { bypass: '10.0.0.0/8' } }, 'rateLimit.bypass', '"10.0.0.0/8"', /^an array/],
    [{ rateLimit: { bypass: [1] } }, 'rateLimit.bypass[0]', '1', /^a string/],
    [{ rateLimit: { prefix: '' } }, 'rateLimit.prefix', '""', /not empty/],
    [{ rateLimit: { onStoreError: 'ignore' } }, 'rateLimit.onStoreError', '"ignore"', /"local", "deny", "allow"/],
    [{ rateLimit: { onLimit: {} } }, 'rateLimit.onLimit', 'an object', /^a function/],
    [{ decorators: 'auth' }, 'decorators', '"auth"', /^an object/],
    ...['', '1a', 'a-b', 'a b', 1].map((auth): Row => [
      { decorators: { auth } },
      'decorators.auth',
      JSON.stringify(auth),
      /^a name/
    ]),
    [
      { decorators: { auth: 'authority' } },
      'decorators.authority',
      '"authority"',
      /another name: this one is that of decorators\.auth/
    ],
    [
      { decorators: { authSession: 'auth' } },
      'decorators.auth',
      '"auth"',
      /another name: this one is that of decorators\.authSession/
    ],
    [{ decorators: { prefix: '2nd' } }, 'decorators.prefix', '"2nd"', /^a name/],
    [{ decorators: { authSession: '' } }, 'decorators.authSession', '""', /^a name/],
    [{ claims: {} }, 'claims', 'an object', /^a function/],
    [{ clock: 1 }, 'clock', '1', /^a Clock/],
    [{ clock: { now: fn, monotonic: fn } }, 'clock.after', 'nothing', /^a function/]
  ]
  for (const [options, path, got, takes] of rows) {
    const message = messageOf({ issuer: ISSUER, users, ...options })
    const start = `Invalid option "${path}": got ${got}; it takes `
    t.ok(message.startsWith(start), `${start}… is: ${message}`)
    t.match(message.slice(start.length), takes, path)
    t.notMatch(message, /undefined|\[object|hunter2/)
  }
})

t.test('names an unknown option at any level, and lists the known ones', async (t) => {
  const rows: Array<[Record<string, unknown>, string, string]> = [
    [{ issuers: 1 }, 'issuers', 'issuer'],
    [{ toString: fn }, 'toString', 'issuer'],
    [{ constructor: fn }, 'constructor', 'issuer'],
    [{ 'rate/limit~': 1 }, 'rate/limit~', 'rateLimit'],
    [{ paths: { tokens: '/x' } }, 'paths.tokens', 'token'],
    [{ paths: { account: '/x' } }, 'paths.account', 'jwks'],
    [{ keys: { secrets: SECRET, secret: SECRET } }, 'keys.secrets', 'secret'],
    [
      { clients: [{ clientId: 'a' }, { clientId: 'b', client_secret: SECRET }] },
      'clients[1].client_secret',
      'clientSecret'
    ],
    [{ accessToken: { ttl: 1 } }, 'accessToken.ttl', 'expiresIn'],
    [{ refreshToken: { rotation: 1 } }, 'refreshToken.rotation', 'rotate'],
    [{ session: { maxAge: 1 } }, 'session.maxAge', 'idleTimeout'],
    [{ idToken: { alg: 'RS256' } }, 'idToken.alg', 'expiresIn'],
    [{ authorizationCode: { ttl: 1 } }, 'authorizationCode.ttl', 'expiresIn'],
    [{ pages: { logoUrl: '/logo.svg' } }, 'pages.logoUrl', 'logo'],
    [{ password: { saltRounds: 1 } }, 'password.saltRounds', 'memoryCost'],
    [{ registration: { verify: true } }, 'registration.verify', 'verifyEmail'],
    [{ rateLimit: { signIn: false } }, 'rateLimit.signIn', 'login'],
    [{ rateLimit: { login: { timeWindow: 1 } } }, 'rateLimit.login.timeWindow', 'windowMs'],
    ...['account', 'secondFactor', 'refresh', 'connect', 'emailCode'].map(
      (rule): [Record<string, unknown>, string, string] => [
        { rateLimit: { [rule]: { count: 'all' } } },
        `rateLimit.${rule}.count`,
        'windowMs'
      ]
    ),
    [{ rateLimit: { apiKey: { verify: fn, name: 'x' } } }, 'rateLimit.apiKey.name', 'header'],
    [{ decorators: { user: 'x' } }, 'decorators.user', 'authenticate']
  ]
  for (const [options, path, known] of rows) {
    const message = messageOf({ issuer: ISSUER, users, ...options })
    t.match(
      message.replace(/Did you mean \w+\? /, ''),
      `Invalid option "${path}": there is no such option. There are: `
    )
    t.match(message, new RegExp(`[ ,]${known}[,.]`))
    t.notMatch(message, SECRET, 'its value is not shown, for it may be a secret under a wrong name')
  }
})

t.test('suggests the closest name for an unknown option before reporting missing ones', async (t) => {
  const rows: Array<[Record<string, unknown>, RegExp]> = [
    [{ sendMail: fn }, /"sendMail": there is no such option\. Did you mean sendMessage\? There are: /],
    [{ jwtSecret: 'x' }, /"jwtSecret": .* Did you mean secret\?/],
    [{ issuer: undefined, isuer: ISSUER }, /"isuer": .* Did you mean issuer\?/],
    [{ clients: [{ client_id: 'spa' }] }, /"clients\[0\]\.client_id": .* Did you mean clientId\?/],
    [
      { clients: [{ clientId: 'spa', redirectUri: 'x' }] },
      /"clients\[0\]\.redirectUri": .* Did you mean redirectUris\?/
    ],
    [{ pages: { quux: 'x' } }, /"pages\.quux": there is no such option\. There are: /],
    [{ clients: { spa: {} } }, /"clients": got an object; it takes an array of clients, or \{ findById/],
    [{ clients: { findById: 'x' } }, /"clients\.findById": got "x"; it takes a function/],
    [{ connections: [{ provider: 'google' }] }, /"connections\[0\]\.provider": got "google"; it takes what google\(/]
  ]
  for (const [options, message] of rows) t.match(messageOf({ issuer: ISSUER, users, ...options }), message)
})

t.test('explains the fix for an uncalled store factory and for a nearly right value', async (t) => {
  const records = { kind: 'own', read: fn, commit: fn }
  class Users {
    findById = fn
  }
  const rows: Array<[Record<string, unknown>, RegExp]> = [
    [
      { users: Promise.resolve(users) },
      /"users": got a Promise that was not awaited; it takes a UserStore: it lacks findById\.$/
    ],
    [{ users: Users }, /"users": got a class; it takes a UserStore: make one with new Users\(\)\.$/],
    [{ users: memoryUserStore }, /"users": got a function; it takes a UserStore: call it, as memoryUserStore\(…\)\.$/],
    [{ state: memoryState }, /"state": got a function; it takes a State, .*: call it, as memoryState\(…\)\.$/],
    [{ state: Promise.resolve() }, /"state": got a Promise that was not awaited; it takes a State/],
    [{ state: records }, /"state": got an object; .*: recordState\(store\) makes one of a RecordStore\.$/],
    [
      { clients: [{ clientId: 'spa', redirectUris: ['https://app.example/*'] }] },
      /"clients\[0\]\.redirectUris\[0\]": got "https:\/\/app\.example\/\*"; it takes a whole URI, .* no wildcards/
    ],
    [
      { decorators: { authenticate: 'auth' } },
      /"decorators\.\w+": got "auth"; it takes another name: this one is that of decorators\.\w+\.$/
    ],
    [
      { issuer: 'http://box.test' },
      /"issuer": got "http:\/\/box\.test"; it takes an absolute https: URL, such as "https:/
    ],
    [{ factors: async () => {}, secret: SECRET }, /"factors": got a function; .*: call it, as factors\(…\)\.$/],
    [{ issuer: 'localhost:3000' }, /"issuer": got "localhost:3000"; .* with its scheme: "http:\/\/localhost:3000"\.$/],
    [{ issuer: '127.0.0.1:3000/' }, /it takes an absolute URL with its scheme: "http:\/\/127\.0\.0\.1:3000"\.$/],
    [{ issuer: 'auth.example.com' }, /it takes an absolute URL with its scheme: "https:\/\/auth\.example\.com"\.$/]
  ]
  for (const [options, message] of rows) t.match(messageOf({ issuer: ISSUER, users, ...options }), message)
})

t.test('accepts true, undefined or a client as redis, and rejects any other value', async (t) => {
  for (const redis of [
    true,
    undefined,
    { status: 'ready', isCluster: false, evalsha() {}, eval() {}, pipeline() {}, connect() {}, on() {}, off() {} }
  ])
    t.doesNotThrow(() => settingsOf({ issuer: ISSUER, users, redis }))
  for (const [redis, got] of [
    [false, 'false'],
    ['redis://localhost', '"redis://localhost"'],
    [{}, 'an object'],
    [null, 'null']
  ] as const) {
    t.equal(
      messageOf({ issuer: ISSUER, users, redis }),
      `Invalid option "redis": got ${got}; it takes true, or an ioredis client or cluster: new Redis(url) makes one.`
    )
  }
})

t.test('reports options that are missing or no object', async (t) => {
  for (const [options, got] of [
    [undefined, 'nothing'],
    [null, 'null'],
    ['x', '"x"'],
    [[], 'an empty array']
  ] as const) {
    t.equal(messageOf(options), `Invalid option "options": got ${got}; it takes an object with issuer and users.`)
  }
  t.match(messageOf({}), /^Invalid option "issuer": got nothing/)
})

// covers C8 R8414-2
t.test('accepts well-formed issuers', async (t) => {
  for (const issuer of [
    ISSUER,
    `${ISSUER}/`,
    'https://example.com/auth/',
    'http://localhost:3000/',
    'https://auth.example.com:8443',
    'https://example.com/auth',
    'https://example.com/a/b',
    'https://xn--tst-qla.example',
    'https://192.0.2.1',
    'https://[2001:db8::1]:8443',
    'http://localhost',
    'http://localhost:3000',
    'http://127.0.0.1:3000',
    'http://127.8.9.10',
    'http://[::1]:3000',
    'http://localhost:3000/auth'
  ]) {
    t.equal(settingsOf({ issuer, users }).issuer, issuer)
  }
})

// covers R8414-2
t.test('refuses malformed issuers and http issuers on other hosts', async (t) => {
  const refused = [
    '',
    ' ',
    'auth',
    'auth.example.com',
    '/auth',
    '//auth.example.com',
    'https:',
    'https://',
    'https:auth.example.com',
    'ftp://auth.example.com',
    'javascript:alert(1)',
    'HTTPS://auth.example.com',
    `${ISSUER}//`,
    'https://example.com/auth//',
    'https://example.com//auth',
    `${ISSUER}?`,
    `${ISSUER}?a=b`,
    `${ISSUER}#`,
    `${ISSUER}#a`,
    'https://example.com/a?b',
    'https://example.com/a#b',
    'https://me@example.com',
    'https://@example.com',
    'https://:@example.com',
    'https://example.com/a%20b',
    'https://example.com/:tenant',
    'https://example.com/*',
    'https://example.com/a(b)',
    'https://AUTH.example.com',
    'https://auth.example.com:443',
    'https://täst.example',
    'https://example.com/a/../b',
    'https://example.com/ä',
    'https://example.com\\auth',
    ` ${ISSUER}`,
    `${ISSUER} `,
    `${ISSUER}\n`,
    'http://auth.example.com',
    'http://10.0.0.1',
    'http://0.0.0.0:3000',
    'http://[::]',
    'http://[::2]',
    'http://localhost.evil.com',
    'http://localhost.',
    'http://LOCALHOST',
    'http://127.0.0.1.nip.io',
    'http://127.1',
    'http://2130706433',
    'http://0x7f.0.0.1',
    'http://127.0.0.1@evil.com',
    'http://[::ffff:127.0.0.1]'
  ]
  for (const issuer of refused)
    t.match(
      messageOf({ issuer, users }),
      /^Invalid option "issuer": got ".*"; it takes an absolute/s,
      JSON.stringify(issuer)
    )
  for (const issuer of [1, null, {}, [ISSUER], new URL(ISSUER)])
    t.match(messageOf({ issuer, users }), /^Invalid option "issuer": got (?!")/)
  t.notMatch(messageOf({ issuer: 'https://me:hunter2@example.com', users }), 'hunter2', 'a password in it is not shown')
})

// covers H12
t.test('accepts an http issuer on any host only with allowInsecureIssuer outside production', async (t) => {
  const before = process.env['NODE_ENV']
  t.teardown(() => {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  })
  delete process.env['NODE_ENV']
  for (const issuer of ['http://192.168.1.5:3000', 'http://api:3000', 'http://api:3000/auth/']) {
    t.match(messageOf({ issuer, users }), /^Invalid option "issuer": .*In development, .*allowInsecureIssuer: true\./)
    t.match(messageOf({ issuer, users, allowInsecureIssuer: undefined }), /^Invalid option "issuer"/)
    t.equal(settingsOf({ issuer, users, allowInsecureIssuer: true }).issuer, issuer)
  }
  t.match(
    messageOf({ issuer: 'ftp://api', users, allowInsecureIssuer: true }),
    /^Invalid option "issuer"/,
    'nothing else is allowed by it'
  )
  t.match(messageOf({ issuer: 'http://me:secret@api', users, allowInsecureIssuer: true }), /^Invalid option "issuer"/)
  process.env['NODE_ENV'] = 'production'
  for (const issuer of ['http://api:3000', ISSUER])
    t.match(
      messageOf({ issuer, users, allowInsecureIssuer: true }),
      /^Invalid option "allowInsecureIssuer": got true; it takes false where NODE_ENV is "production"/
    )
  t.equal(settingsOf({ issuer: ISSUER, users, allowInsecureIssuer: false }).issuer, ISSUER)
})

// covers RL-19
t.test('accepts addresses and networks in the bypass list, and rejects ambiguous or too wide entries', async (t) => {
  const good = [
    '192.0.2.7',
    '10.0.0.0/8',
    '192.0.2.7/32',
    '2001:db8::/32',
    '2001:DB8::1',
    '2001:db8:0:0:0:0:0:1/128',
    '::1',
    '::ffff:192.0.2.7',
    '::ffff:c000:207',
    '::ffff:10.0.0.0/104',
    '2001:db8::/64',
    'fe80::/10'
  ]
  t.doesNotThrow(() => settingsOf({ issuer: ISSUER, users, rateLimit: { bypass: good } }))
  const bad = [
    '010.0.0.0/8',
    '192.0.2.07',
    '0300.0.2.7',
    '0x7f.0.0.1',
    '0x7f000001',
    '3221226031',
    '127.1',
    '10',
    '10.0.0',
    '192.0.2.256',
    '192.0.2.7.',
    '[::1]',
    '[::1]:80',
    '192.0.2.7:80',
    ' 192.0.2.7',
    '192.0.2.7 ',
    '192.0.2.7\n',
    'unknown',
    'localhost',
    '*',
    '10.*',
    '10.0.0.1-10.0.0.9',
    '10.0.0.0/8,192.0.2.7',
    'fe80::1%eth0',
    '::g',
    '1::2::3',
    ':::',
    '::ffff:999.0.2.7',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/+8',
    '10.0.0.0/-8',
    '10.0.0.0/8.0',
    '10.0.0.0/ 8',
    '10.0.0.0/33',
    '10.0.0.0/64',
    '10.0.0.0/8/8',
    '10.0.0.0/255.0.0.0',
    '2001:db8::/129',
    '2001:db8::/0x20',
    '0.0.0.0/0',
    '::/0',
    '::ffff:0:0/96',
    '10.0.0.5/8',
    '192.0.2.7/31',
    '2001:db8::1/64',
    '::ffff:10.0.0.5/104'
  ]
  for (const entry of bad) {
    const message = messageOf({ issuer: ISSUER, users, rateLimit: { bypass: ['192.0.2.1', entry] } })
    t.ok(message.startsWith(`Invalid option "rateLimit.bypass[1]": ${JSON.stringify(entry)} is refused: `), message)
    t.match(message, /It takes IPv4 and IPv6 addresses and CIDR ranges/)
  }
  t.match(messageOf({ issuer: ISSUER, users, rateLimit: { bypass: [''] } }), /^Invalid option "rateLimit\.bypass\[0\]"/)
})

t.test('accepts valid values of the options', async (t) => {
  const rows: Array<Record<string, unknown>> = [
    {},
    { prefix: '' },
    { prefix: '/v1/auth' },
    { paths: { token: '/oauth/token', jwks: '/keys.json', login: '/sign-in' } },
    { state: memoryState() },
    { secret: SECRET },
    { secret: [SECRET, `${SECRET}2`] },
    { secret: 'é7'.repeat(2) + SHORT },
    { keys: { secret: SECRET } },
    { clients: [] },
    { clients: { findById: fn } },
    {
      clients: [
        {
          clientId: 'a',
          clientSecret: SECRET,
          redirectUris: ['https://a.b/cb'],
          grantTypes: ['refresh_token'],
          scopes: ['openid'],
          requirePkce: false,
          firstParty: false,
          name: 'A'
        }
      ]
    },
    {
      clients: [
        {
          clientId: 'spa',
          applicationType: 'native',
          redirectUris: [
            'https://a.b/cb',
            'https://a.b/cb?dummy1=lorem',
            'http://localhost:3000/cb',
            'http://127.0.0.1/cb',
            'http://[::1]:1/cb',
            'com.example.app:/cb'
          ],
          postLogoutRedirectUris: ['https://a.b/', 'com.example.app:/out'],
          requirePkce: true
        }
      ]
    },
    {
      clients: [
        {
          clientId: 'a',
          applicationType: 'web',
          redirectUris: ['https://a.b/cb', 'http://127.0.0.1:3000/cb'],
          logoUri: 'https://a.b/logo.svg',
          clientUri: 'https://a.b/',
          pages: { logo: { url: 'https://cdn.example/a.svg', dark: '/dark.svg' }, accentColor: '#0b6e4f' },
          idTokenClaims: 'scopes'
        }
      ]
    },
    {
      clients: [
        {
          clientId: 'a',
          origins: [
            'https://a.b',
            'https://a.b:8443',
            'http://localhost:3000',
            'http://[::1]:3000',
            'capacitor://localhost',
            'chrome-extension://abcdefgh'
          ],
          backchannelLogoutUri: 'https://a.b/logout?x=y'
        },
        { clientId: 'b', backchannelLogoutUri: 'http://127.0.0.1:8080/logout' }
      ]
    },
    {
      clients: [
        { clientId: 'm', clientSecret: SECRET, grantTypes: ['client_credentials'] },
        {
          clientId: 'w',
          grantTypes: ['authorization_code', 'refresh_token'],
          redirectUris: ['https://a.b/cb'],
          idTokenSignedResponseAlg: 'EdDSA'
        }
      ]
    },
    {
      clients: [{ clientId: 'a', idTokenSignedResponseAlg: 'EdDSA' }, { clientId: 'b' }],
      keys: [{ alg: 'ES256' }, { alg: 'EdDSA' }]
    },
    { session: {} },
    { session: { expiresIn: 60 } },
    { session: { expiresIn: 60, idleTimeout: 60 } },
    { session: { idleTimeout: 43_200 } },
    { idToken: {}, authorizationCode: {} },
    { pages: false },
    { pages: {} },
    {
      pages: {
        title: 'Acme',
        logo: { url: '/logo.svg?v=2' },
        home: '/',
        loginUrl: '/sign-in#form',
        accentColor: '#1F5fbf',
        render: fn
      }
    },
    {
      pages: {
        logo: { url: 'https://cdn.example/logo.svg', height: 64 },
        home: 'http://localhost:5173/',
        loginUrl: 'https://a.b/sign-in?x=y'
      }
    },
    { passwordGrant: false },
    { passwordGrant: 'clients' },
    { scopes: ['read', 'write:all', 'https://a.b/c'] },
    { scopes: { openid: {}, 'orders:read': { en: 'see your orders', de: undefined } } },
    {
      pages: {
        logo: { url: '/logo.svg', dark: '/dark.svg', height: 24, alt: 'Acme' },
        faviconUrl: 'https://cdn.example/i.png',
        colorScheme: 'dark',
        background: '#0B1220',
        radius: '0',
        font: 'Inter, "Segoe UI", \'Noto Sans JP\', Gill Sans,sans-serif',
        stylesheetUrl: '/brand.css?v=1',
        texts: { en: { loginTitle: 'Welcome back', loginSubmit: undefined }, de: undefined },
        links: { terms: '/terms#a', privacy: 'https://a.b/p', support: 'mailto:help@a.example' }
      }
    },
    ...['32px', '.5rem', '0.625rem', '2rem', '12px'].map((radius) => ({
      pages: { radius, background: { light: '#ffffff', dark: undefined } }
    })),
    { accessToken: { audience: ['https://a', 'https://b'] } },
    { accessToken: { typ: 'JWT', alg: 'RS256' }, idToken: { claims: 'scopes' } },
    { accessToken: { audience: 'app' }, clients: [{ clientId: 'app' }] },
    { refreshToken: { rotate: 'never', reuseGraceSeconds: 0 } },
    { password: { memoryCost: 7168, timeCost: 5, hasher: fastHasher(), contextWords: ['acme'], isBreached: fn } },
    { password: { pepper: true }, secret: SECRET },
    { registration: false },
    { registration: {} },
    { registration: { username: 'email', verifyEmail: true }, sendMessage: fn },
    {
      registration: {
        username: 'any',
        fields: Type.Object({ email: Type.String({ format: 'email' }) }),
        verifyEmail: true
      },
      sendMessage: fn
    },
    { rateLimit: false },
    { rateLimit: {} },
    {
      rateLimit: {
        login: false,
        account: { max: 3, windowMs: 1000 },
        key: fn,
        apiKey: { verify: fn },
        prefix: 'x:',
        onStoreError: 'deny',
        onLimit: fn
      }
    },
    { decorators: { auth: 'session', authenticate: 'signedIn' } },
    { claims: fn },
    { clock: steppedClock() },
    { prefix: undefined, secret: undefined, rateLimit: { login: undefined }, password: { pepper: undefined } },
    { logLevel: 'warn' }
  ]
  for (const options of rows) {
    t.doesNotThrow(() => settingsOf({ issuer: ISSUER, users, ...options }), Object.keys(options).join(', '))
  }
})

/** The defaults of plain values in the schema, in the form of options. */
function defaultsOf({ properties }: TSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties as Record<string, TSchema>).flatMap(([name, member]) => {
      if (member['default'] !== undefined) return [[name, member['default'] as unknown]]
      const variants = (member['anyOf'] ?? [member]) as TSchema[]
      const section = variants.find((variant) => variant['additionalProperties'] === false && 'properties' in variant)
      const inner = section === undefined || section['required'] !== undefined ? {} : defaultsOf(section)
      return Object.keys(inner).length === 0 ? [] : [[name, inner]]
    })
  )
}

t.test('has the documented defaults, and accepts them as given values', async (t) => {
  const defaults = defaultsOf(OPTIONS_SCHEMA)
  t.match(defaults, {
    prefix: '/auth',
    passwordGrant: 'first-party',
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    accessToken: { expiresIn: 900 },
    refreshToken: { expiresIn: 2_592_000, idleTimeout: 1_209_600, rotate: 'oauth', reuseGraceSeconds: 10 },
    idToken: { expiresIn: 900 },
    authorizationCode: { expiresIn: 60 },
    session: { expiresIn: 43_200, idleTimeout: 7200 },
    password: {
      memoryCost: 19_456,
      timeCost: 2,
      parallelism: 1,
      minLength: 8,
      maxBytes: 1024,
      maxQueue: 64,
      pepper: false
    },
    decorators: {
      authenticate: 'authenticate',
      requireScope: 'requireScope',
      authority: 'authority',
      auth: 'auth',
      authSession: 'authSession'
    }
  })
  const {
    mfa,
    passkeys,
    rateLimit: { apiKey, ...rateLimit },
    ...others
  } = defaults as { rateLimit: Record<string, unknown> } & typeof defaults
  t.ok(mfa && passkeys && apiKey)
  const given = { ...others, rateLimit }
  t.ok(Object.keys(given).length > 12)
  t.doesNotThrow(() => settingsOf({ issuer: ISSUER, users, ...given }), 'each is what its option takes')
})

/** Registers and starts a plain host; resolves to the error that stopped it. */
async function startError(options: unknown): Promise<(Error & { code?: string }) | null> {
  const app = Fastify() as unknown as FastifyInstance
  try {
    await app.register(authPlugin, options as AuthorityOptions)
    await app.ready()
    return null
  } catch (error) {
    return error as Error
  } finally {
    await app.close()
  }
}

t.test('rejects register or ready with the option error, and raises no other error', async (t) => {
  const loose: unknown[] = []
  const note = (error: unknown): void => {
    loose.push(error)
  }
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
  t.teardown(() => {
    process.off('uncaughtException', note).off('unhandledRejection', note)
  })
  for (const options of [
    {},
    { issuer: 'x', users },
    { issuer: ISSUER, users, nope: 1 },
    { issuer: ISSUER, users, keys: [{}] }
  ]) {
    t.match(await startError(options), { code: 'FST_AUTHORITY_INVALID_OPTIONS' }, JSON.stringify(Object.keys(options)))
    const app = Fastify() as unknown as FastifyInstance
    void app.register(authPlugin, options as AuthorityOptions)
    await t.rejects(
      Promise.resolve(app.ready()),
      { code: 'FST_AUTHORITY_INVALID_OPTIONS' },
      'at ready, where register was not awaited'
    )
    await app.close()
  }
  await new Promise((resolve) => {
    setImmediate(resolve)
  })
  t.same(loose, [])
})

// covers ASVS-11.2.3
t.test('stops the start on an invalid signing key', async (t) => {
  const jwk = (key: { export(options: { format: 'jwk' }): object }): Record<string, unknown> => ({
    ...key.export({ format: 'jwk' })
  })
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  const ed = generateKeyPairSync('ed25519')
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const weak = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const good = { ...jwk(ec.privateKey), alg: 'ES256' }
  const rows: Array<[string, Record<string, unknown>, RegExp]> = [
    ['empty', {}, /alg must be one of/],
    ['no alg', jwk(ec.privateKey), /alg must be one of ES256, EdDSA, RS256, PS256/],
    ['alg none', { ...good, alg: 'none' }, /alg must be one of/],
    ['alg HS256', { kty: 'oct', k: 'c2VjcmV0', alg: 'HS256' }, /alg must be one of/],
    ['alg __proto__', { ...good, alg: '__proto__' }, /alg must be one of|needs kty/],
    ['EC key for RS256', { ...good, alg: 'RS256' }, /RS256 needs kty RSA/],
    ['EC key for EdDSA', { ...good, alg: 'EdDSA' }, /EdDSA needs kty OKP and crv Ed25519/],
    ['RSA key for ES256', { ...jwk(rsa.privateKey), alg: 'ES256' }, /ES256 needs kty EC/],
    ['P-384 for ES256', { ...jwk(p384.privateKey), alg: 'ES256' }, /crv P-256/],
    ['public EC', { ...jwk(ec.publicKey), alg: 'ES256' }, /private JWK/],
    ['public OKP', { ...jwk(ed.publicKey), alg: 'EdDSA' }, /private JWK/],
    ['public RSA', { ...jwk(rsa.publicKey), alg: 'RS256' }, /private JWK/],
    ['RSA of 1024 bits', { ...jwk(weak.privateKey), alg: 'PS256' }, /at least 2048 bits/],
    // From Node.js 26 on `createPrivateKey` notices it first.
    [
      'halves of two keys',
      { ...good, ...jwk(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey) },
      /private half|Invalid JWK EC key/
    ],
    ['off the curve', { ...good, x: Buffer.alloc(32, 1).toString('base64url') }, /./],
    ['no y', { ...good, y: undefined }, /./]
  ]
  for (const [what, key, why] of rows) {
    const error = await startError({
      issuer: ISSUER,
      users,
      rateLimit: false,
      password: { hasher: fastHasher() },
      keys: [{ ...good, kid: 'good' }, key]
    })
    t.match(error, { code: 'FST_AUTHORITY_INVALID_OPTIONS' }, what)
    t.ok(error?.message.startsWith('Invalid option "keys[1]": '), `${what}: ${error?.message}`)
    t.match(error?.message, why)
    if (typeof key.d === 'string') t.notOk(error?.message.includes(key.d), 'the private half is not shown')
  }
  for (const [what, key] of Object.entries({
    ES256: good,
    EdDSA: { ...jwk(ed.privateKey), alg: 'EdDSA' },
    RS256: { ...jwk(rsa.privateKey), alg: 'RS256' },
    PS256: { ...jwk(rsa.privateKey), alg: 'PS256' }
  })) {
    t.equal(
      await startError({ issuer: ISSUER, users, rateLimit: false, password: { hasher: fastHasher() }, keys: [key] }),
      null,
      what
    )
  }
})
