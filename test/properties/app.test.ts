/** The whole app, called by strangers and by a signed-in user: no input causes a forbidden event. */
import { equal, ok } from 'node:assert/strict'
import { Writable } from 'node:stream'
import * as fc from 'fast-check'
import t from '../support/tap.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp, plainUrl } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import {
  authorizeAs,
  authorizePath,
  basic,
  CALLBACK,
  CHALLENGE,
  CLIENTS,
  KEYS,
  LOGGED_OUT,
  SECRET,
  VERIFIER
} from '../support/openid.ts'
import { character, property } from './support/property.ts'

const SCRIPT = 'qZ"\'><script>alert(1)</script>'
const EVIL = 'https://evil.example'
const OWN_ORIGINS = ['https://app.example', 'https://third.example']
const PLACES = CLIENTS.flatMap(({ redirectUris = [], postLogoutRedirectUris = [] }) => [
  ...redirectUris,
  ...postLogoutRedirectUris
])

const errors: string[] = []
const stream = new Writable({
  write(line, _encoding, done) {
    if ((JSON.parse(String(line)) as { level: number }).level >= 50) errors.push(String(line))
    done()
  }
})
const routes: Array<{ method: string; url: string }> = []
const { app, close } = await testApp({ keys: KEYS, clients: CLIENTS }, { logger: { level: 'info', stream } }, (app) =>
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) routes.push({ method: one, url: plainUrl(url) })
  })
)
t.teardown(close)

// A user whose session, code and tokens are among the inputs. They end when an input ends them.
await signUp(app)
const browser = testBrowser(app)
const { code = '' } = await authorizeAs(browser, authorizePath())
const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
const tokens = await signIn(app)

const good: Record<string, string[]> = {
  client_id: CLIENTS.map(({ clientId }) => clientId),
  client_secret: [SECRET],
  redirect_uri: [CALLBACK, CALLBACK, 'https://third.example/cb', EVIL, `${CALLBACK}.evil.example`],
  post_logout_redirect_uri: [LOGGED_OUT, EVIL],
  response_type: ['code', 'code', 'token'],
  response_mode: ['query', 'fragment', 'form_post'],
  scope: ['openid', 'openid email offline_access', 'admin'],
  state: ['state-1', SCRIPT],
  prompt: ['none', 'login', 'consent', 'create'],
  max_age: ['0', '60'],
  code_challenge: [CHALLENGE],
  code_challenge_method: ['S256', 'plain'],
  code_verifier: [VERIFIER],
  ui_locales: ['de', 'ja fr', SCRIPT],
  login_hint: ['ann', SCRIPT],
  claims: ['{"id_token":{"email":null}}', '{"userinfo":{"__proto__":{}}}'],
  grant_type: ['password', 'refresh_token', 'authorization_code', 'client_credentials', 'device'],
  username: ['ann', 'bob', SCRIPT],
  password: [PASSWORD, 'wrong', ''],
  currentPassword: [PASSWORD],
  newPassword: [PASSWORD, 'x'],
  email: ['bob@example.com', SCRIPT],
  code: [code, 'x.y'],
  token: [tokens.access_token, tokens.refresh_token, 'x'],
  refresh_token: [tokens.refresh_token, 'x'],
  id_token_hint: [tokens.access_token, 'a.b.c'],
  returnTo: ['/account', '//evil.example', EVIL, '/\\evil.example'],
  continue: ['/account', '//evil.example', EVIL, '/\\evil.example'],
  decision: ['allow', 'deny'],
  request: ['a.b.c'],
  error: [SCRIPT],
  ['__proto__']: ['1']
}
const hostile = fc.oneof(
  fc.constantFrom(
    SCRIPT,
    EVIL,
    '//evil.example',
    '\0',
    '\r\nSet-Cookie: a=b',
    '%00',
    '__proto__',
    '\u202e',
    'x'.repeat(3000),
    '\ufffd'
  ),
  fc.string({ unit: character })
)
const parameter = fc
  .constantFrom(...Object.keys(good))
  .chain((name) =>
    fc
      .oneof({ arbitrary: fc.constantFrom(...(good[name] ?? [])), weight: 4 }, hostile)
      .map((value): [string, string] => [name, value])
  )
const parameters = fc.array(parameter, { maxLength: 8 })

/** An authorization request that would be valid without its one fault. */
const authorization = fc
  .record(
    {
      client_id: fc.constantFrom('spa', 'web', 'third'),
      redirect_uri: fc.constantFrom(
        CALLBACK,
        CALLBACK,
        'https://third.example/cb',
        EVIL,
        `${CALLBACK}.evil.example`,
        `${CALLBACK}?x=1`
      ),
      response_type: fc.constantFrom('code', 'code', 'token'),
      code_challenge: fc.constant(CHALLENGE),
      code_challenge_method: fc.constantFrom('S256', 'S256', 'plain'),
      scope: fc.constantFrom('openid', 'openid email', 'x'),
      state: fc.constantFrom('state-1', SCRIPT),
      prompt: fc.constantFrom('none', 'none', 'login', SCRIPT),
      response_mode: fc.constantFrom('query', 'fragment', 'form_post')
    },
    {
      requiredKeys: ['client_id', 'redirect_uri', 'response_type', 'code_challenge', 'code_challenge_method'],
      noNullPrototype: true
    }
  )
  .map((params) => Object.entries(params))

const headers = fc.record(
  {
    origin: fc.constantFrom(...OWN_ORIGINS, EVIL, 'null', ISSUER, SCRIPT.replaceAll(/[^ -~]/g, '')),
    'sec-fetch-site': fc.constantFrom('same-origin', 'cross-site', 'none', 'same-site'),
    cookie: fc.constantFrom(cookie, `${cookie}; ${cookie}`, '__Host-authority=x.y', 'a=;;=b'),
    authorization: fc.constantFrom(
      ...[
        bearer(tokens.access_token),
        bearer(tokens.refresh_token),
        basic('web', SECRET),
        basic('third', 'wrong'),
        bearer('x')
      ].map((one) => one.authorization),
      'Basic',
      'Bearer'
    ),
    accept: fc.constantFrom('text/html', '*/*'),
    'accept-language': fc.constantFrom('de', '*', SCRIPT),
    referer: fc.constantFrom(EVIL),
    host: fc.constantFrom('localhost:3000', 'evil.example'),
    'x-forwarded-host': fc.constant('evil.example'),
    'access-control-request-method': fc.constant('POST'),
    'access-control-request-headers': fc.constantFrom('authorization', 'x, y', SCRIPT)
  },
  { requiredKeys: [], noNullPrototype: true }
)

const body = fc.oneof(
  fc.constant('form'),
  fc.constant('form'),
  fc.constant('json'),
  fc.constant('none'),
  fc.constantFrom('broken json', 'xml', 'no type')
)
const pathSuffix = fc.oneof(
  { arbitrary: fc.constant(''), weight: 20 },
  fc.constantFrom('/', '/x', '/..', '//', '%2f', '%00', '/%zz')
)

interface Sent {
  route: number
  suffix: string
  query: Array<[string, string]>
  fields: Array<[string, string]>
  given: Partial<Record<string, string>>
  kind: string
}
const anything: fc.Arbitrary<Sent> = fc.record({
  route: fc.nat(routes.length - 1),
  suffix: pathSuffix,
  query: parameters,
  fields: parameters,
  given: headers,
  kind: body
})
const routesTo = (...paths: string[]): fc.Arbitrary<number> =>
  fc.constantFrom(
    ...[...routes.keys()].filter((at) =>
      paths.some((path) => routes[at]?.url === `/auth/${path}` && ['GET', 'POST'].includes(routes[at].method))
    )
  )
// Inputs for redirects.
const toAuthorize: fc.Arbitrary<Sent> = fc.record({
  route: routesTo('authorize'),
  suffix: fc.constant(''),
  query: authorization,
  fields: authorization,
  given: headers,
  kind: fc.constant('form')
})
// Inputs that pages display.
const toPage: fc.Arbitrary<Sent> = fc.record({
  route: routesTo('login', 'signup', 'forgot-password', 'reset-password', 'verify-email', 'consent', 'logout'),
  suffix: fc.constant(''),
  query: authorization,
  fields: fc
    .tuple(fc.constantFrom(SCRIPT, 'ann'), fc.array(parameter, { maxLength: 2 }))
    .map(([username, more]) => [['username', username], ['password', 'wrong'], ...more]),
  given: headers.map((given) => ({
    ...given,
    host: 'localhost:3000',
    origin: ISSUER,
    'sec-fetch-site': 'same-origin'
  })),
  kind: fc.constant('form')
})

property(
  'answers without a server error, a redirect to an unregistered place or injected markup',
  [fc.oneof({ arbitrary: anything, weight: 2 }, toAuthorize, toPage)],
  {
    share: 0.5,
    cases: ['2xx', '303', '400', '401', '403']
  },
  async ({ route, suffix, query, fields, given, kind }) => {
    const { method, url } = routes[route] as { method: string; url: string }
    const path = url.replace(/:\w+/, 'x').replace('*', 'x') + suffix
    const search = new URLSearchParams(query).toString()
    const form = new URLSearchParams(fields).toString()
    const [type, payload] =
      (
        {
          form: ['application/x-www-form-urlencoded', form],
          json: ['application/json', JSON.stringify(Object.fromEntries(fields))],
          'broken json': [
            'application/json',
            `${JSON.stringify(Object.fromEntries(fields)).slice(0, -1)},"a":1,"a":2}`
          ],
          xml: ['application/xml', `<a>${form}</a>`],
          'no type': [undefined, form],
          none: [undefined, undefined]
        } as Record<string, [string | undefined, string | undefined]>
      )[kind] ?? []
    const hasBody = payload !== undefined && method !== 'GET' && method !== 'HEAD'
    const reply = await app.inject({
      method: method as 'GET',
      url: search === '' ? path : `${path}?${search}`,
      headers: { ...given, ...(hasBody && type !== undefined ? { 'content-type': type } : {}) },
      ...(hasBody ? { payload } : {})
    })

    const what = `${method} ${path} ${reply.statusCode}`
    ok(reply.statusCode < 500, `${what} ${reply.body}`)
    equal(errors.splice(0).join(''), '', what)
    const {
      location,
      vary,
      'content-type': contentType,
      'access-control-allow-origin': allowed,
      'access-control-allow-credentials': credentials
    } = reply.headers
    if (location !== undefined) {
      const target = new URL(location, ISSUER)
      ok(
        target.origin === ISSUER ||
          PLACES.some(
            (place) =>
              location === place || (location.startsWith(place) && '?&#'.includes(location.charAt(place.length)))
          ),
        `${what} ${location}`
      )
    }
    equal(credentials, undefined, what)
    if (allowed === '*') ok(path.startsWith('/.well-known/'), what)
    else if (allowed !== undefined) {
      ok(allowed === given.origin && OWN_ORIGINS.includes(allowed), `${what} ${allowed}`)
      ok(String(vary).includes('Origin'), what)
    }
    if (String(contentType).startsWith('text/html')) {
      ok(!reply.body.includes('<script>alert'), what)
      ok(String(reply.headers['content-security-policy']).includes("default-src 'none'"), what)
    }
    ok(
      !Object.values(reply.headers)
        .flat()
        .some((value) => /[\r\n]/.test(String(value))),
      what
    )
    equal(Object.keys(Object.prototype).length, 0, what)
    return reply.statusCode < 300 ? '2xx' : String(reply.statusCode)
  }
)
