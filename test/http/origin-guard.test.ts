/** Requests that another site makes a browser send have no effect and count under no limit. */
import t, { type Test } from '../support/tap.ts'
import { type AuthorityOptions, type Client, memoryUserStore } from '../../lib/index.ts'
import { bearer, PASSWORD, plainUrl, signIn, signUp, testApp, type TestApp } from '../support/app.ts'

const SPA = 'https://app.example'
const EVIL = 'https://evil.example'
const OWN = 'http://localhost:3000'
const clients: Client[] = [
  {
    clientId: 'spa',
    redirectUris: [`${SPA}/callback`],
    grantTypes: ['authorization_code', 'refresh_token', 'password']
  }
]
const LIMITS = {
  login: { max: 2 },
  register: { max: 2 },
  passwordReset: { max: 2 },
  refresh: { max: 2 },
  account: false
} as const

/** Headers of a browser whose visitor is on a page of another site. */
const FOREIGN: Array<[string, Record<string, string>]> = [
  ['another site', { 'sec-fetch-site': 'cross-site', origin: EVIL }],
  ['another site without an origin', { 'sec-fetch-site': 'cross-site' }],
  ['a sandboxed frame', { 'sec-fetch-site': 'cross-site', origin: 'null' }],
  ['another host or port of the site', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:4000' }],
  ['an older browser', { origin: EVIL }],
  ['an older browser, in a sandboxed frame', { origin: 'null' }]
]
const UNSUSPICIOUS: Array<[string, Record<string, string>]> = [
  ['a program', {}],
  ['a page of our own', { 'sec-fetch-site': 'same-origin', origin: OWN }],
  ['a page of our own without referrer', { 'sec-fetch-site': 'same-origin', origin: 'null' }],
  ['an older browser on a page of our own', { origin: OWN }],
  ['an extension', { 'sec-fetch-site': 'none', origin: 'chrome-extension://abc' }]
]

async function started(
  t: Test,
  options: Partial<AuthorityOptions> = {}
): Promise<
  TestApp & {
    post(
      url: string,
      payload: object,
      headers: Record<string, string>
    ): Promise<{ statusCode: number; error: unknown; allowOrigin: unknown }>
  }
> {
  const test = await testApp({ clients, rateLimit: LIMITS, sendMessage: async () => {}, ...options })
  t.teardown(test.close)
  return {
    ...test,
    async post(url, payload, headers) {
      const reply = await test.app.inject({ method: 'POST', url, payload, headers })
      const body =
        reply.headers['content-type']?.toString().startsWith('application/json') === true
          ? reply.json<{ error?: unknown }>()
          : {}
      return {
        statusCode: reply.statusCode,
        error: body.error,
        allowOrigin: reply.headers['access-control-allow-origin']
      }
    }
  }
}

/** One request of each kind that counts, with wrong values where possible. */
const COUNTED: Array<[url: string, payload: object, statuses: number[]]> = [
  ['/auth/token', { grant_type: 'password', username: 'ann', password: 'wrong wrong' }, [400]],
  ['/auth/token', { grant_type: 'refresh_token', refresh_token: 'x' }, [400]],
  ['/auth/refresh', {}, [401]],
  ['/auth/revoke', { token: 'x' }, [200]],
  ['/auth/introspect', { token: 'x' }, [401]],
  ['/auth/password-reset', { username: 'nobody' }, [202]],
  ['/auth/password-reset/confirm', { token: 'x', password: PASSWORD }, [400]],
  ['/auth/email/verify', { token: 'x' }, [400]]
]

// covers RL-29 A3
t.test('rejects requests from pages of another site with 403, and does not count them', async (t) => {
  for (const [url, payload, statuses] of COUNTED) {
    const { post } = await started(t)
    for (const [who, headers] of FOREIGN) {
      for (let time = 0; time < 3; time++)
        t.same(
          await post(url, payload, headers),
          { statusCode: 403, error: 'access_denied', allowOrigin: undefined },
          `${url} ${who}`
        )
    }
    for (let time = 0; time < 2; time++)
      t.ok(statuses.includes((await post(url, payload, {})).statusCode), `${url}: nothing was counted`)
    t.equal((await post(url, payload, {})).statusCode, 429, url)
  }
})

// covers RL-29 A3
t.test('creates no account, no message and no session for a request from another site', async (t) => {
  const messages: unknown[] = []
  const { app, post, events } = await started(t, {
    sendMessage: async (message) => {
      messages.push(message)
    }
  })
  await signUp(app)
  const tokens = await signIn(app)
  const before = events.length
  for (const [who, headers] of FOREIGN) {
    t.equal((await post('/auth/register', { username: 'eve', password: PASSWORD }, headers)).statusCode, 403, who)
    t.equal((await post('/auth/password-reset', { username: 'ann' }, headers)).statusCode, 403, who)
    t.equal((await post('/auth/revoke', { token: tokens.refresh_token }, headers)).statusCode, 403, who)
    t.equal(
      (await post('/auth/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, headers))
        .statusCode,
      403,
      who
    )
    t.equal(
      (
        await app.inject({
          method: 'DELETE',
          url: '/auth/sessions/any',
          headers: { ...headers, ...bearer(tokens.access_token) }
        })
      ).statusCode,
      403,
      who
    )
  }
  t.equal(events.length, before)
  t.same(messages, [])
  t.equal(
    (await post('/auth/token', { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, {})).statusCode,
    200
  )
})

// covers RL-29 A3
t.test('accepts requests of programs, our own pages and registered origins', async (t) => {
  const { app, post } = await started(t, { rateLimit: false })
  await signUp(app)
  const registered = [
    ['a registered origin', { 'sec-fetch-site': 'cross-site', origin: SPA }],
    ['a registered origin in an older browser', { origin: SPA }],
    ['one of the same site', { 'sec-fetch-site': 'same-site', origin: SPA }]
  ] as const
  for (const [who, headers] of [...UNSUSPICIOUS, ...registered]) {
    t.equal(
      (
        await post(
          '/auth/token',
          { grant_type: 'password', username: 'ann', password: PASSWORD, client_id: 'spa' },
          headers
        )
      ).statusCode,
      200,
      who
    )
    t.equal((await post('/auth/password-reset', { username: 'ann' }, headers)).statusCode, 202, who)
  }
})

t.test('accepts a listed origin at an endpoint without CORS, when unknown clients may come too', async (t) => {
  for (const options of [{}, { clientIdMetadata: true }, { clientRegistration: true }]) {
    const { post } = await started(t, { ...options, secret: 'a secret of this test, long enough for it' })
    const register = async (username: string, origin: string): Promise<number> =>
      (await post('/auth/register', { username, password: PASSWORD }, { 'sec-fetch-site': 'cross-site', origin }))
        .statusCode
    t.equal(await register('eve', EVIL), 403, JSON.stringify(options))
    t.equal(await register('ann', SPA), 201, JSON.stringify(options))
  }
})

// covers RL-29 A3
t.test('with a client store, accepts only an origin of the client in the request', async (t) => {
  let down = false
  const { app, post } = await started(t, {
    rateLimit: LIMITS,
    clients: {
      async findById(clientId) {
        if (down) throw new Error('down')
        return clients.find((client) => client.clientId === clientId) ?? null
      }
    }
  })
  await signUp(app)
  const grant = { grant_type: 'password', username: 'ann', password: 'wrong wrong' }
  const fromSpa = { 'sec-fetch-site': 'cross-site', origin: SPA }
  for (let time = 0; time < 3; time++) {
    t.equal(
      (await post('/auth/token', { ...grant, client_id: 'spa' }, { ...fromSpa, origin: EVIL })).statusCode,
      403,
      'another origin than that client has'
    )
    t.equal((await post('/auth/token', grant, fromSpa)).statusCode, 403, 'no client')
    t.equal((await post('/auth/token', { ...grant, client_id: 'nobody' }, fromSpa)).statusCode, 403, 'an unknown one')
    t.equal(
      (await post('/auth/token', grant, { ...fromSpa, origin: EVIL, ...bearer('x') })).statusCode,
      403,
      'our own preflights let any origin go on, so they prove nothing'
    )
    t.equal(
      (
        await post(
          '/auth/register',
          { username: 'eve', password: PASSWORD },
          { 'sec-fetch-site': 'cross-site', origin: EVIL }
        )
      ).statusCode,
      403
    )
  }
  down = true
  t.equal(
    (await post('/auth/token', { ...grant, client_id: 'spa' }, fromSpa)).statusCode,
    503,
    'a store that is down judges nobody'
  )
  down = false
  for (let time = 0; time < 2; time++)
    t.equal((await post('/auth/token', { ...grant, client_id: 'spa' }, fromSpa)).statusCode, 400)
  t.equal((await post('/auth/token', { ...grant, client_id: 'spa' }, fromSpa)).statusCode, 429)
  const { refresh_token: token } = (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { ...grant, password: PASSWORD },
      remoteAddress: '192.0.2.7'
    })
  ).json<{ refresh_token: string }>()
  t.equal(
    (await post('/auth/refresh', {}, { ...fromSpa, ...bearer(token) })).statusCode,
    200,
    "the host's CORS has let this header through"
  )
  t.equal((await post('/auth/refresh', {}, fromSpa)).statusCode, 403)
})

// covers RL-29 A3
t.test('rejects other sites at every route with an effect, except authorize, logout and userinfo', async (t) => {
  const store = { findById: async () => null }
  const configurations: Array<Partial<AuthorityOptions>> = [
    {},
    { clients: [] },
    { clients: store },
    { prefix: '/x', paths: { token: '/oauth/token' } },
    { pages: false }
  ]
  for (const configuration of configurations) {
    const routes: Array<{ method: string; url: string }> = []
    const test = await testApp(
      {
        clients,
        sendMessage: async () => {},
        users: memoryUserStore(),
        ...configuration
      },
      {},
      (app) => {
        app.addHook('onRoute', (route) => {
          for (const method of [route.method].flat()) routes.push({ method, url: plainUrl(route.url) })
        })
      }
    )
    t.teardown(test.close)
    const open: string[] = []
    for (const { method, url } of routes) {
      if (['GET', 'HEAD', 'OPTIONS'].includes(method) || url === '/me') continue
      const reply = await test.app.inject({
        method: method as 'POST',
        url: url.replace(':id', 'x'),
        headers: { 'sec-fetch-site': 'cross-site', origin: EVIL }
      })
      // 405: the endpoint does not take this method from anybody.
      if (reply.statusCode !== 403 && reply.statusCode !== 405) open.push(`${method} ${url.replace(/^\/x/, '/auth')}`)
    }
    t.ok(routes.length > 10)
    t.same(
      open.sort(),
      ['POST /auth/authorize', 'POST /auth/logout', 'POST /auth/userinfo'].filter((route) =>
        routes.some(({ method, url }) => `${method} ${url.replace(/^\/x/, '/auth')}` === route)
      ),
      JSON.stringify(Object.keys(configuration))
    )
  }
})
