import t from '../support/tap.ts'
import type { Client } from '../../lib/index.ts'
import { ISSUER, PASSWORD } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import {
  answerOf,
  authorizeAs,
  authorizePath,
  CALLBACK,
  CHALLENGE,
  CLIENTS,
  openidApp,
  SECRET,
  suitePath
} from '../support/openid.ts'
import { recordedState } from './support/recorded-state.ts'

type Params = Record<string, string | undefined>

const NO_CHALLENGE = { code_challenge: undefined, code_challenge_method: undefined }
const MORE_CLIENTS: Client[] = [
  { clientId: 'no-codes', clientSecret: SECRET, grantTypes: ['client_credentials'], redirectUris: [CALLBACK] },
  { clientId: 'narrow', redirectUris: [CALLBACK], scopes: ['profile'] }
]

/** The fault of a request, and the error that the client gets. */
const ERRORS: Array<[what: string, params: Params, error: string]> = [
  ['R6749-3.1.1 no response_type', { response_type: undefined }, 'invalid_request'],
  ['R6749-3.1.1 empty response_type', { response_type: '' }, 'invalid_request'],
  ...['foo', 'Code', 'none', 'code code', '__proto__'].map((type): [string, Params, string] => [
    `R6749-3.1.1 ${type}`,
    { response_type: type },
    'unsupported_response_type'
  ]),
  ...['token', 'id_token', 'id_token token', 'code token', 'code id_token', 'code id_token token'].map(
    (type): [string, Params, string] => [
      `R9700-2.1.2 ASVS-10.6.1 ${type}`,
      { response_type: type },
      'unsupported_response_type'
    ]
  ),
  ['a grant that the client has not', { client_id: 'no-codes' }, 'unauthorized_client'],
  [
    'ADV-CVE-2026-4634 R6749-3.3 51 scopes',
    { scope: Array.from({ length: 51 }, (_, index) => `s${index}`).join(' ') },
    'invalid_scope'
  ],
  ...['a"b', 'a\\b', 'openid  email', ' openid', 'a\tb', 'ö'].map((scope): [string, Params, string] => [
    `R6749-3.3 scope ${JSON.stringify(scope)}`,
    { scope },
    'invalid_scope'
  ]),
  ['R6749-3.3 unknown scope alone', { scope: 'nonsense' }, 'invalid_scope'],
  ["ASVS-10.4.11 only scopes that are not the client's", { client_id: 'narrow', scope: 'email' }, 'invalid_scope'],
  ["ASVS-10.4.11 default scope that is not the client's", { client_id: 'narrow', scope: undefined }, 'invalid_scope'],
  ['ASVS-10.4.12 unknown response_mode', { response_mode: 'web_message' }, 'invalid_request'],
  ['R9700-2.1.1 ASVS-10.4.6 public without challenge', NO_CHALLENGE, 'invalid_request'],
  ['R9700-2.1.1 confidential without challenge', { client_id: 'web', ...NO_CHALLENGE }, 'invalid_request'],
  ['R7636-4.4.1 no method means plain', { code_challenge_method: undefined }, 'invalid_request'],
  ...['plain', 's256', 'S512', 'none'].map((method): [string, Params, string] => [
    `R7636-7.2 R7636-4.4.1 ADV-GHSA-9h47-pqcx-hjr4 method ${method}`,
    { code_challenge_method: method },
    'invalid_request'
  ]),
  [
    'R7636-4.4.1 plain of a client that needs none',
    { client_id: 'suite', code_challenge_method: 'plain' },
    'invalid_request'
  ],
  ...[CHALLENGE.slice(1), `${CHALLENGE}A`, `${CHALLENGE}=`, `${CHALLENGE.slice(1)}+`, 'x'].map(
    (challenge): [string, Params, string] => [
      `R7636-4.3 challenge ${challenge}`,
      { code_challenge: challenge },
      'invalid_request'
    ]
  ),
  ['a method without challenge', { client_id: 'suite', code_challenge: undefined }, 'invalid_request'],
  ['OIDC-3.1.2.6 request object', { request: 'e30.e30.' }, 'request_not_supported'],
  [
    'OIDC-3.1.2.6 request object in place of all',
    { request: 'e30.e30.', response_type: undefined, scope: undefined },
    'request_not_supported'
  ],
  ['OIDC-3.1.2.6 request_uri', { request_uri: 'https://evil.example/r' }, 'request_uri_not_supported'],
  ['OIDC-3.1.2.6 registration', { registration: '{}' }, 'registration_not_supported'],
  ...['none login', 'none consent', 'select_account none'].map((prompt): [string, Params, string] => [
    `OIDC-3.1.2.1 prompt ${prompt}`,
    { prompt },
    'invalid_request'
  ]),
  ...['register', 'LOGIN', 'login,consent'].map((prompt): [string, Params, string] => [
    `OIDC-3.1.2.1 prompt ${prompt}`,
    { prompt },
    'invalid_request'
  ]),
  ...['-1', '1e9', 'abc', '1.5', 'NaN', 'Infinity', '9'.repeat(13)].map((maxAge): [string, Params, string] => [
    `OIDC-3.1.2.1 max_age ${maxAge}`,
    { max_age: maxAge },
    'invalid_request'
  ]),
  [
    'OIDC-5.5 an essential acr that is not to be had',
    { claims: '{"id_token":{"acr":{"essential":true,"value":"urn:mfa"}}}' },
    'unmet_authentication_requirements'
  ]
]

// covers R6749-4.1.2.1 R9207-2 R6749-3.1.1 OIDF-oidcc-response-type-missing
t.test('sends the error of an invalid request to the client with state and iss, and stores nothing', async (t) => {
  const { state, writes } = recordedState()
  const { app, browser, events, close } = await openidApp({ clients: [...CLIENTS, ...MORE_CLIENTS], state })
  t.teardown(close)
  await authorizeAs(browser, authorizePath())
  for (const [who, jar] of [
    ['signed in', browser],
    ['signed out', testBrowser(app)]
  ] as const) {
    for (const [what, params, error] of ERRORS) {
      writes.length = events.length = 0
      const name = `${what}, ${who}`
      const reply = await jar.get(authorizePath(params))
      t.equal(reply.statusCode, 303, name)
      const location = String(reply.headers.location)
      t.ok(
        location.startsWith(`${CALLBACK}${/token/.test(params['response_type'] ?? '') ? '#' : '?'}error=`),
        `${name}: ${location}`
      )
      const { error_description: description, ...rest } = answerOf(location)
      t.same(rest, { error, state: 'state-1', iss: ISSUER }, name)
      t.match(description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/, `${name}: characters of a description`)
      t.equal(reply.body, '', name)
      t.same([writes, events], [[], []], `${name}: nothing happened`)
    }
  }
})

// covers R6749-4.1.2.1 R6749-10.14
t.test('does not repeat invalid parameter values in the error redirect', async (t) => {
  const { browser, close } = await openidApp()
  t.teardown(close)
  const hostile = '"><script>alert(1)</script>\r\nSet-Cookie: a=b\0\\'
  for (const name of [
    'response_type',
    'response_mode',
    'scope',
    'prompt',
    'max_age',
    'code_challenge',
    'code_challenge_method',
    'claims',
    'request',
    'registration'
  ]) {
    const value = name === 'max_age' ? '<script>' : hostile
    const { headers, statusCode } = await browser.get(authorizePath({ [name]: value }))
    t.equal(statusCode, 303, name)
    t.notMatch(decodeURIComponent(String(headers.location)), /<script|cookie|alert/i, name)
  }
})

// covers ADV-CVE-2026-9704
t.test('DOS-authorize-parameters C3 refuses a parameter that is too long instead of dropping it', async (t) => {
  const { state, writes } = recordedState()
  const { browser, close } = await openidApp({ state })
  t.teardown(close)
  await authorizeAs(browser, authorizePath())
  writes.length = 0
  const bounds: Record<string, number> = {
    client_id: 512,
    scope: 1024,
    state: 2048,
    nonce: 512,
    prompt: 128,
    max_age: 32,
    display: 64,
    login_hint: 512,
    ui_locales: 512,
    acr_values: 1024,
    claims: 4096,
    code_challenge: 128,
    code_challenge_method: 64,
    id_token_hint: 8192,
    request: 8192
  }
  for (const [name, bound] of Object.entries(bounds)) {
    const value = 'x'.repeat(bound + 1)
    const {
      statusCode,
      headers: { location }
    } = await browser.get(authorizePath({ [name]: value }))
    if (name === 'client_id') {
      t.same([statusCode, location], [400, undefined], 'nobody knows whom to tell')
      continue
    }
    const { error_description: description, ...rest } = answerOf(String(location))
    t.same(
      rest,
      { error: 'invalid_request', state: name === 'state' ? value : 'state-1', iss: ISSUER },
      `${name} goes back to the client, and the state as it came`
    )
    t.match(description, `${name} is too long`)
  }
  const tooLong = await browser.get(authorizePath({ redirect_uri: `${CALLBACK}?${'x'.repeat(2048)}` }))
  t.same([tooLong.statusCode, tooLong.headers.location], [400, undefined], 'a redirect URI')
  for (const whole of [
    await browser.get(authorizePath({ claims: '"'.repeat(3000) })),
    await browser.submit(
      '/auth/authorize',
      Object.fromEntries(new URLSearchParams(authorizePath({ claims: '"'.repeat(3000) }).split('?')[1])),
      { 'sec-fetch-site': 'cross-site' }
    )
  ]) {
    t.match(
      answerOf(String(whole.headers.location)),
      { error: 'invalid_request', state: 'state-1', error_description: /the authorization request is too long/i },
      'all together'
    )
  }
  t.same(writes, [])
  for (const name of ['state', 'nonce', 'login_hint', 'ui_locales', 'claims_locales', 'acr_values', 'display']) {
    const { headers } = await browser.get(authorizePath({ [name]: 'x'.repeat(bounds[name] ?? 512) }))
    t.ok(answerOf(String(headers.location))['code'], `${name} at its bound`)
  }
})

// covers R6749-3.1 OIDF-oidcc-ensure-request-with-unknown-parameter-succeeds
t.test('treats an empty parameter as not sent, and ignores an unknown one', async (t) => {
  const { browser, close } = await openidApp()
  t.teardown(close)
  const empty = await authorizeAs(
    browser,
    authorizePath({
      state: '',
      nonce: '',
      prompt: '',
      max_age: '',
      claims: '',
      response_mode: '',
      request: '',
      id_token_hint: '',
      login_hint: ''
    })
  )
  t.same(Object.keys(empty).sort(), ['code', 'iss'], 'R6749-3.1 an empty state is none')
  for (const extra of [
    'extra=foobar',
    'authorization_details=[]',
    '__proto__=x',
    'constructor=x',
    'dpop_jkt=x',
    'code=stolen',
    'iss=https://evil.example',
    'error=access_denied',
    'session=x',
    'return_to=//evil.example'
  ]) {
    const { headers } = await browser.get(`${authorizePath()}&${extra}`)
    t.match(answerOf(String(headers.location)), { code: /^.{40,}$/, iss: ISSUER, state: 'state-1' }, extra)
    t.notMatch(String(headers.location), 'evil.example', extra)
  }
  t.equal((await browser.get('/auth/authorize')).statusCode, 400, 'nothing at all')
})

// covers R9700-4.11.2
t.test('sends the client temporarily_unavailable when the store cannot save the code', async (t) => {
  const { state } = recordedState()
  let down = false
  const tokens = new Proxy(state.tokens, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      return down && name === 'createCode'
        ? async () => {
            throw new Error('the store is down')
          }
        : value
    }
  })
  const { browser, close } = await openidApp({ state: { ...state, tokens } })
  t.teardown(close)
  await authorizeAs(browser, suitePath())
  down = true
  const { headers, statusCode } = await browser.get(suitePath())
  t.equal(statusCode, 303)
  t.match(answerOf(String(headers.location)), {
    error: 'temporarily_unavailable',
    state: 'state-1',
    iss: ISSUER,
    code: undefined
  })
  t.notMatch(String(headers.location), 'store')
})

// covers R6749-4.1.1
t.test('handles an authorization request by POST like one by GET', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  const form = Object.fromEntries(new URLSearchParams(authorizePath({ state: 'ä+b %26', nonce: 'n' }).split('?')[1]))
  const first = await browser.submit('/auth/authorize', form, {
    'sec-fetch-site': 'cross-site',
    origin: 'https://app.example'
  })
  t.equal(first.statusCode, 303)
  const login = await browser.follow(first)
  t.match(login.url, '/auth/login?')
  const done = await browser.follow(await browser.submit(login.url, { username: 'ann', password: PASSWORD }))
  t.match(answerOf(done.url), { code: /./, state: 'ä+b %26', iss: ISSUER })
  const wrong = await testBrowser(app).follow(
    await testBrowser(app).submit(
      '/auth/authorize',
      { ...form, response_type: 'token' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' }
    )
  )
  t.match(answerOf(wrong.url), { error: 'unsupported_response_type', state: 'ä+b %26' })
})

// covers R9700-4.11.2
t.test('redirects to a third party with an error only after sign-in or with prompt=none', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  const third = { client_id: 'third', redirect_uri: 'https://third.example/cb' }
  const mistakes: Params[] = [
    { response_type: 'token' },
    { response_type: undefined },
    { scope: 'nonsense' },
    { scope: '"' },
    { ...NO_CHALLENGE },
    { request: 'x' },
    { prompt: 'register' },
    { claims: '{' },
    { prompt: 'login register' },
    { code_challenge: CHALLENGE.repeat(5) },
    { nonce: 'x'.repeat(600) },
    { claims: 'x'.repeat(5000) }
  ]
  for (const mistake of mistakes) {
    const stranger = testBrowser(app)
    const { url, reply } = await stranger.follow(await stranger.get(authorizePath({ ...third, ...mistake })))
    t.match(url, '/auth/login?', JSON.stringify(mistake))
    t.equal(reply.statusCode, 200)
    const done = await stranger.follow(await stranger.submit(url, { username: 'ann', password: PASSWORD }))
    t.match(
      answerOf(done.url),
      { error: /./, state: 'state-1', iss: ISSUER, code: undefined },
      'and then it hears of it'
    )
  }
  const whole = await testBrowser(app).get(authorizePath({ ...third, claims: '"'.repeat(3000) }))
  t.same(
    [whole.statusCode, whole.headers.location],
    [400, undefined],
    'what no page can carry is for the person to read'
  )
  for (const prompt of ['none', 'none login']) {
    t.match(
      answerOf(String((await testBrowser(app).get(authorizePath({ ...third, prompt, scope: '"' }))).headers.location)),
      { error: /^invalid_/ },
      `prompt=${prompt} gets its answer`
    )
  }
  await authorizeAs(browser, authorizePath())
  t.match(
    answerOf(String((await browser.get(authorizePath({ ...third, scope: '"' }))).headers.location)),
    { error: 'invalid_scope' },
    'who is signed in is sent at once'
  )
})

// covers C8b OIDF-oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported
t.test('rejects a request object, using its response_mode and state unless the query sets them', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const request = `${part({ alg: 'none' })}.${part({ client_id: 'spa', redirect_uri: 'https://evil.example/cb', response_mode: 'form_post', state: 'of the object', scope: 'openid' })}.`
  await authorizeAs(browser, authorizePath())
  for (const jar of [browser, testBrowser(app)]) {
    const form = await jar.get(authorizePath({ request, state: undefined }))
    t.equal(form.statusCode, 200)
    t.match(form.body, `action="${CALLBACK}"`)
    t.match(form.body, 'value="of the object"')
    t.match(form.body, 'request_not_supported')
    t.notMatch(form.body, 'evil.example')
    const query = await jar.get(authorizePath({ request, response_mode: 'query' }))
    t.match(
      answerOf(String(query.headers.location)),
      { error: 'request_not_supported', state: 'state-1' },
      'the query comes first'
    )
  }
  const third = await testBrowser(app).get(
    authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb', request, state: undefined })
  )
  t.match(third.headers.location, /\/auth\/login\?.*state=of\+the\+object/, 'and is carried through a sign-in')
})
