import { cookieName } from '../support/cookies.ts'
import { readFileSync } from 'node:fs'
import { Writable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { github } from '../../lib/connections/index.ts'
import { memoryApiKeyStore, memoryAudit, memoryFactorStore, memoryState, memoryUserStore } from '../../lib/index.ts'
import { bearer, PASSWORD, signIn, signUp, testApp, isRefusal, plainUrl } from '../support/app.ts'
import { basic, CLIENTS, KEYS, openidApp, SECRET, tokensOf } from '../support/openid.ts'

const json = { 'content-type': 'application/json' }

// covers ASVS-13.4.5 ASVS-6.1.3 ASVS-15.2.3 ASVS-2.1.1
t.test('registers exactly the routes that the endpoint reference documents', async (t) => {
  const routes: string[] = []
  const { close } = await testApp(
    {
      keys: KEYS,
      clients: CLIENTS,
      secret: SECRET,
      connections: [github({ clientId: 'app', clientSecret: 'secret' })],
      factors: memoryFactorStore(),
      apiKeys: memoryApiKeyStore(),
      audit: memoryAudit(),
      admin: { allow: () => [] },
      deviceGrant: true,
      par: true,
      clientRegistration: true,
      emailSignIn: {},
      passkeys: { relatedOrigins: ['https://app.example.com'] },
      registration: { fields: Type.Object({ city: Type.Optional(Type.String()) }) }
    },
    {},
    (app) => {
      app.addHook('onRoute', ({ method, url, schema }) => {
        if (isRefusal(url, schema)) return
        for (const one of [method].flat())
          if (one !== 'HEAD' && one !== 'OPTIONS') routes.push(`${one} ${plainUrl(url)}`)
      })
    }
  )
  t.teardown(close)
  const reference = readFileSync(new URL('../../docs/reference/endpoints.md', import.meta.url), 'utf8')
  const documented = [...reference.matchAll(/^## `((?:GET|POST|DELETE|PUT|PATCH) [^`]+)`/gm)].map(
    ([, route]) => route as string
  )
  t.ok(documented.length >= 30)
  t.same(
    routes.filter((route) => !['GET /me', 'GET /admin'].includes(route)).sort(),
    documented.sort(),
    'each route has a heading in docs/reference/endpoints.md, which test/docs/reference.test.ts writes'
  )
})

// covers ASVS-3.4.4 ASVS-3.2.1 ASVS-3.4.6 ASVS-4.1.1 ASVS-13.4.6 ASVS-14.3.2 POL-csp-api
t.test('sends security headers with success and error responses of the account API', async (t) => {
  const state = memoryState()
  const { app, messages, close } = await testApp({
    state: {
      ...state,
      oneTimeTokens: {
        ...state.oneTimeTokens,
        find: async (...args) => {
          if (broken) throw new Error('SELECT secret FROM table')
          return await state.oneTimeTokens.find(...args)
        }
      }
    }
  })
  let broken = false
  t.teardown(close)
  await signUp(app, 'ann@example.com')
  await messages.next()
  const tokens = await signIn(app, 'ann@example.com')
  const rows = [
    [201, { method: 'POST', url: '/auth/register', payload: { username: 'bob', password: PASSWORD } }],
    [409, { method: 'POST', url: '/auth/register', payload: { username: 'bob', password: PASSWORD } }],
    [400, { method: 'POST', url: '/auth/register', payload: {} }],
    [415, { method: 'POST', url: '/auth/register', headers: { 'content-type': 'text/plain' }, payload: 'x' }],
    [413, { method: 'POST', url: '/auth/register', headers: json, payload: 'x'.repeat(20_000) }],
    [
      200,
      { method: 'POST', url: '/auth/token', payload: { grant_type: 'password', username: 'bob', password: PASSWORD } }
    ],
    [400, { method: 'POST', url: '/auth/token', payload: {} }],
    [200, { method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) }],
    [401, { method: 'POST', url: '/auth/refresh' }],
    [202, { method: 'POST', url: '/auth/password-reset', payload: { username: 'bob' } }],
    [
      503,
      {
        method: 'POST',
        url: '/auth/password-reset/confirm',
        payload: { token: 'A'.repeat(59), password: 'a wholly new password' }
      }
    ],
    [200, { method: 'GET', url: '/auth/sessions', headers: bearer(tokens.access_token) }],
    [401, { method: 'GET', url: '/auth/sessions' }],
    [404, { method: 'DELETE', url: '/auth/sessions/none', headers: bearer(tokens.access_token) }],
    [
      204,
      {
        method: 'POST',
        url: '/auth/password',
        headers: bearer(tokens.access_token),
        payload: { current_password: PASSWORD, new_password: 'a wholly new password' }
      }
    ],
    [200, { method: 'GET', url: '/.well-known/jwks.json' }]
  ] as const
  for (const [status, request] of rows) {
    broken = status === 503
    const what = `${request.method} ${request.url} ${status}`
    const reply = await app.inject({ ...request, ...('headers' in request ? {} : { headers: {} }) })
    t.equal(reply.statusCode, status, what)
    t.equal(reply.headers['x-content-type-options'], 'nosniff', what)
    t.match(reply.headers['content-security-policy'], /default-src 'none'; frame-ancestors 'none'/, what)
    t.equal(reply.headers['referrer-policy'], 'no-referrer', 'ASVS-3.4.5')
    if (status !== 204) t.equal(reply.headers['content-type'], 'application/json; charset=utf-8', what)
    if (!request.url.includes('jwks')) t.equal(reply.headers['cache-control'], 'no-store', `${what}: ASVS-14.2.2`)
    t.notOk('server' in reply.headers || 'x-powered-by' in reply.headers, what)
    t.notMatch(
      reply.body,
      /fastify|node_modules|\.ts\b|\.js\b|SELECT|argon2|stack/i,
      `${what}: ASVS-13.4.2 ASVS-16.5.1`
    )
    t.notOk(reply.headers['set-cookie'], `${what}: ASVS-3.3.4 no cookie for who is no browser`)
    if (!request.url.includes('jwks'))
      t.notOk(
        Object.keys(reply.headers).some((name) => name.startsWith('access-control-')),
        `${what}: ASVS-3.4.2`
      )
  }
})

// covers ASVS-3.4.4 ASVS-3.2.1 ASVS-3.4.6 ASVS-14.3.2 POL-csp-api
t.test('sends security headers with JSON responses of the OpenID provider', async (t) => {
  const subject = await openidApp()
  const { app, close } = subject
  t.teardown(close)
  const { access_token: token } = await tokensOf(subject)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const rows = [
    [200, { method: 'GET', url: '/auth/userinfo', headers: bearer(token) }],
    [401, { method: 'GET', url: '/auth/userinfo', headers: {} }],
    [401, { method: 'POST', url: '/auth/userinfo', headers: form, payload: 'access_token=x' }],
    [
      400,
      {
        method: 'POST',
        url: '/auth/userinfo',
        headers: { ...form, ...bearer(token) },
        payload: `access_token=${token}`
      }
    ],
    [
      200,
      {
        method: 'POST',
        url: '/auth/introspect',
        headers: { ...form, ...basic('web', SECRET) },
        payload: `token=${token}`
      }
    ],
    [401, { method: 'POST', url: '/auth/introspect', headers: form, payload: `token=${token}` }],
    [400, { method: 'POST', url: '/auth/introspect', headers: form, payload: '' }],
    [200, { method: 'GET', url: '/.well-known/openid-configuration', headers: {} }]
  ] as const
  for (const [status, request] of rows) {
    const what = `${request.method} ${request.url} ${status}`
    const reply = await app.inject(request)
    t.equal(reply.statusCode, status, what)
    t.match(
      reply.headers,
      {
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
        'content-type': 'application/json; charset=utf-8'
      },
      what
    )
    t.equal(
      reply.headers['cache-control'],
      request.url.includes('openid-configuration') ? 'public, max-age=300' : 'no-store',
      what
    )
    t.notOk(reply.headers['set-cookie'], what)
  }
})

// covers ASVS-3.3.1 ASVS-3.3.2 ASVS-3.3.3 ASVS-3.3.5
t.test('sets the known-device cookie as HttpOnly and SameSite=Lax, and as Secure with __Host- on https', async (t) => {
  for (const [issuer, secure] of [
    ['https://auth.example.com', true],
    ['http://localhost:3000', false]
  ] as const) {
    const { app, close } = await testApp({ issuer, rateLimit: {} })
    t.teardown(close)
    await signUp(app)
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      headers: { 'sec-fetch-site': 'same-origin' },
      payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
    })
    const [pair = '', ...attributes] = String(reply.headers['set-cookie']).split('; ')
    t.equal(pair.startsWith('__Host-'), secure)
    t.ok(pair.length < 4096)
    t.same(attributes.filter((one) => !one.startsWith('Max-Age=')).sort(), [
      'HttpOnly',
      'Path=/',
      'SameSite=Lax',
      ...(secure ? ['Secure'] : [])
    ])
    const { access_token: access, refresh_token: refresh } = reply.json() as {
      access_token: string
      refresh_token: string
    }
    t.notOk(
      [access, refresh, 'ann'].some((value) => pair.includes(value)),
      'it bears no token and no name'
    )
    t.equal(
      (await app.inject({ url: '/me', headers: { cookie: pair } })).statusCode,
      401,
      'ASVS-3.5.2 and opens nothing'
    )
  }
})

// covers ASVS-3.3.5
t.test('limits the session and device cookies to 330 bytes despite many accounts and planted values', async (t) => {
  const { app, close } = await testApp({
    rateLimit: {},
    clients: [{ clientId: 'spa', redirectUris: ['https://app.example/cb'] }]
  })
  t.teardown(close)
  const usernames = Array.from(
    { length: 11 },
    (_, index) => `${'n'.repeat(60)}${index}@${'m'.repeat(60)}.${'x'.repeat(60)}.example`
  )
  for (const username of usernames)
    await app.inject({
      method: 'POST',
      url: '/auth/register',
      payload: { username, password: PASSWORD },
      remoteAddress: `192.0.2.${usernames.indexOf(username)}`
    })
  const jar = new Map<string, string>()
  const sizes: Record<string, number[]> = {}
  for (const planted of [
    ...new Array<undefined>(8).fill(undefined),
    'x'.repeat(3000),
    `${'A'.repeat(22)}${`.${'B'.repeat(22)}`.repeat(100)}`,
    ''
  ]) {
    const username = usernames.shift() ?? ''
    const cookie = [...jar].map(([name, value]) => `${name}=${planted ?? value}`).join('; ')
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/login',
      remoteAddress: `192.0.2.${100 + usernames.length}`,
      headers: {
        'sec-fetch-site': 'same-origin',
        origin: 'http://localhost:3000',
        'user-agent': 'U'.repeat(3000),
        'content-type': 'application/x-www-form-urlencoded',
        ...(cookie === '' ? {} : { cookie })
      },
      payload: new URLSearchParams({ username, password: PASSWORD }).toString()
    })
    t.equal(reply.statusCode, 303, username)
    for (const one of [reply.headers['set-cookie'] ?? []].flat()) {
      const [name = '', value = ''] = (one.split(';')[0] ?? '').split('=')
      jar.set(name, value)
      sizes[name] = [...(sizes[name] ?? []), name.length + value.length]
    }
  }
  t.strictSame(
    Object.keys(sizes).toSorted((a, b) => a.localeCompare(b)),
    [cookieName('device'), cookieName('session')]
  )
  for (const [name, all] of Object.entries(sizes)) {
    t.equal(all.length, 11, name)
    t.ok(Math.max(...all) <= 330, `${name}: ${all.join(' ')}`)
  }
  t.equal(
    sizes[cookieName('device')]?.[7],
    sizes[cookieName('device')]?.[5],
    'the seventh and eighth account take the places of the first'
  )
})

// covers ASVS-3.3.1 ASVS-3.3.2 ASVS-3.3.3 ASVS-3.3.4 ASVS-3.3.5
t.test('sets no cookie on hosted pages before sign-in, and then only the session and device cookies', async (t) => {
  for (const [issuer, secure] of [
    ['https://auth.example.com', true],
    ['http://localhost:3000', false]
  ] as const) {
    const { app, browser, ann, close } = await openidApp({ issuer })
    t.teardown(close)
    for (const url of [
      '/auth/login',
      '/auth/signup',
      '/auth/forgot-password',
      '/auth/logout',
      '/auth/nothing',
      '/auth/pages.css'
    ])
      t.notOk((await browser.get(url)).headers['set-cookie'], url)
    const reply = await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
    t.equal(reply.statusCode, 303)
    const cookies = [reply.headers['set-cookie'] ?? []].flat()
    t.same(
      cookies.map((cookie) => cookie.replace(/=[^]*/, '')),
      [cookieName('session', issuer), cookieName('device', issuer)]
    )
    for (const cookie of cookies) {
      const [pair = '', ...attributes] = cookie.split('; ')
      t.equal(pair.startsWith('__Host-'), secure)
      t.ok(pair.length < 4096)
      t.same(attributes.filter((one) => !one.startsWith('Max-Age=')).sort(), [
        'HttpOnly',
        'Path=/',
        'SameSite=Lax',
        ...(secure ? ['Secure'] : [])
      ])
      t.notOk(
        ['ann', ann.sub].some((value) => pair.includes(value)),
        'it bears no name'
      )
      t.equal(
        (await app.inject({ url: '/me', headers: { cookie: pair } })).statusCode,
        401,
        'ASVS-3.5.2 and opens no API'
      )
      t.equal((await app.inject({ url: '/auth/userinfo', headers: { cookie: pair } })).statusCode, 401)
    }
  }
})

// covers ASVS-3.5.6 ASVS-3.5.7 ASVS-14.2.5
t.test('ignores JSONP parameters, and answers 404 or 405 to paths with a file extension', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const { access_token: token } = await signIn(app)
  t.match((await app.inject({ url: '/auth/sessions?callback=steal&jsonp=steal', headers: bearer(token) })).body, /^\{/)
  for (const url of [
    '/auth/sessions/x.css',
    '/auth/sessions%2fx.css',
    '/auth/sessions.css',
    '/auth/sessions;x.css',
    '/auth/token/x.js'
  ]) {
    t.ok([404, 405].includes((await app.inject({ url, headers: bearer(token) })).statusCode), url)
  }
})

// covers ASVS-16.5.2 ASVS-16.5.3 ASVS-16.3.4 ASVS-13.4.2
t.test('answers 503 without the cause when a store or the claims hook fails, and logs an error', async (t) => {
  const boom = async (): Promise<never> => {
    throw new Error('ECONNREFUSED 10.0.0.5 password=hunter2hunter2')
  }
  const lines: string[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    }
  })
  const store = memoryUserStore()
  const state = memoryState()
  let failing: string | null = null
  const guard =
    <Args extends unknown[], T>(name: string, method: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> =>
      failing === name ? await boom() : await method(...args)
  const { app, events, close } = await testApp(
    {
      users: {
        ...store,
        findById: guard('findById', store.findById),
        findByUsername: guard('findByUsername', store.findByUsername),
        create: guard('create', store.create)
      },
      state: {
        ...state,
        tokens: {
          ...state.tokens,
          createFamily: guard('createFamily', state.tokens.createFamily),
          useToken: guard('useToken', state.tokens.useToken),
          findFamily: guard('findFamily', state.tokens.findFamily)
        }
      },
      claims: () => {
        if (failing === 'claims') throw new Error('hook')
        return {}
      }
    },
    { logger: { level: 'info', stream } }
  )
  t.teardown(close)
  await signUp(app)
  const tokens = await signIn(app)
  const login = {
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  } as const
  const refresh = { method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) } as const
  const rows = [
    ['findByUsername', login],
    ['findById', login],
    ['createFamily', login],
    ['claims', login],
    ['findById', refresh],
    ['useToken', refresh],
    ['claims', refresh],
    ['create', { method: 'POST', url: '/auth/register', payload: { username: 'bob', password: PASSWORD } }],
    ['findFamily', { method: 'GET', url: '/auth/sessions', headers: bearer(tokens.access_token) }],
    ['findById', { method: 'GET', url: '/auth/sessions', headers: bearer(tokens.access_token) }]
  ] as const
  for (const [what, request] of rows) {
    failing = what
    events.length = 0
    lines.length = 0
    const reply = await app.inject(request)
    failing = null
    t.equal(reply.statusCode, 503, `${what} ${request.url}`)
    t.equal(reply.json().error, 'temporarily_unavailable', `${what} ${request.url}`)
    t.notMatch(reply.body, /ECONN|hunter|10\.0|hook/, `${what} ${request.url}`)
    t.notOk('access_token' in reply.json(), `${what} ${request.url}`)
    t.notOk(
      events.some(({ name }) => name === 'authenticated' || name === 'token_refreshed' || name === 'registered'),
      `${what} ${request.url}`
    )
    t.ok(
      lines.some((line) => (JSON.parse(line) as { level: number }).level === 50),
      `${what} ${request.url}: said in the log`
    )
  }
  t.equal((await app.inject(refresh)).statusCode, 200, 'ASVS-2.3.3 and nothing was lost by it')
})

// covers ASVS-16.4.1 ASVS-16.2.4
t.test('keeps request values from forging log lines', async (t) => {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    }
  })
  const { app, events, close } = await testApp({}, { logger: { level: 'trace', stream } })
  t.teardown(close)
  const evil = 'ann\n{"level":30,"msg":"forged"}\u001b[2Jx'
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: evil, username: evil, password: evil }
  })
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { 'user-agent': 'a'.repeat(10_000) },
    payload: { grant_type: 'password', username: evil, password: evil }
  })
  await app.inject({ method: 'POST', url: '/auth/register', payload: { username: evil, password: evil } })
  t.ok(lines.length > 3)
  for (const line of lines) {
    t.match(JSON.parse(line), { level: Number, time: Number, msg: String })
    t.equal(line.trimEnd().split('\n').length, 1)
    t.notOk(line.includes('\u001b'))
  }
  t.notMatch(JSON.stringify(events), /forged/, 'what was typed as a name of nobody is in no event')
})

// covers ASVS-16.3.2 ASVS-16.3.3
t.test('logs a refused access token without its value, and emits an event for a replayed refresh token', async (t) => {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    }
  })
  const { app, events, clock, close } = await testApp(
    { refreshToken: { rotate: 'always' } },
    { logger: { level: 'debug', stream } }
  )
  t.teardown(close)
  await signUp(app)
  const tokens = await signIn(app)
  for (const [url, token] of [
    ['/me', 'nonsense'],
    ['/admin', tokens.access_token]
  ] as const) {
    lines.length = 0
    await app.inject({ url, headers: bearer(token) })
    t.ok(
      lines.some((line) => /request refused/.test(line)),
      url
    )
    t.notOk(
      lines.some((line) => line.includes(token) && token !== 'nonsense'),
      'ASVS-16.2.5'
    )
  }
  await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) })
  clock.step(11_000)
  events.length = 0
  await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) })
  t.same(
    events.map(({ name }) => name),
    ['refresh_token_reused'],
    'R9700-4.14.2 ASVS-10.4.5'
  )
})

// covers ASVS-6.3.2 ASVS-13.3.1
t.test('has no default users, and publishes only the public parts of keys that differ per instance', async (t) => {
  const one = await testApp()
  const other = await testApp()
  t.teardown(one.close)
  t.teardown(other.close)
  for (const username of ['admin', 'root', 'user', 'test', 'guest']) {
    t.equal(
      (
        await one.app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username, password: username }
        })
      ).statusCode,
      400,
      username
    )
  }
  const keys = async (app: typeof one.app) =>
    JSON.stringify((await app.inject({ url: '/.well-known/jwks.json' })).json().keys)
  t.not(await keys(one.app), await keys(other.app))
  t.notMatch(await keys(one.app), /"(?:d|p|q|dp|dq|qi|k)":/, 'OIDC Core 10.1 and only public halves')
  t.notOk((await one.app.inject({ url: '/auth/sessions' })).json().sessions)
})

// covers ASVS-6.2.10 ASVS-6.4.2 ASVS-6.4.6
t.test('accepts a password after five years, and refuses password hints and security questions', async (t) => {
  const { app, clock, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  clock.step(5 * 365 * 86_400_000)
  t.equal((await signIn(app)).token_type, 'Bearer', 'five years later')
  for (const field of ['hint', 'password_hint', 'security_question', 'secret_answer']) {
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/register',
          payload: { username: 'bob', password: PASSWORD, [field]: 'x' }
        })
      ).statusCode,
      400,
      field
    )
  }
  t.same(
    Object.keys(app.authority).filter((name) => /password$/i.test(name)),
    ['hashPassword', 'verifyPassword', 'changePassword'],
    'the last is for the host, which has asked the person'
  )
})

// covers ASVS-12.2.1 ASVS-11.6.1 POL-issuer
t.test('refuses to start with an issuer that is not https, or that has a query or a fragment', async (t) => {
  for (const issuer of [
    'http://auth.example.com',
    'http://10.0.0.1',
    'ftp://auth.example.com',
    'https://auth.example.com?x=1',
    'https://auth.example.com#x'
  ]) {
    await t.rejects(testApp({ issuer }), { code: 'FST_AUTHORITY_INVALID_OPTIONS' }, issuer)
  }
})
