import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { decodeJwt } from '../support/jwt.ts'

const SECRET = 'abcdefghijklmnop'.repeat(2)
const json = { 'content-type': 'application/json' }

// covers R6749-3.2 ASVS-15.3.7
t.test('refuses a repeated JSON parameter, also when escaped or spaced apart', async (t) => {
  const { app, events, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const first = `"grant_type":"password","password":${JSON.stringify(PASSWORD)}`
  const bodies = {
    plain: `{${first},"username":"ann","username":"bob"}`,
    'another parameter': `{${first},"username":"ann","scope":"openid","scope":"profile"}`,
    escaped: `{${first},"username":"ann","user\\u006eame":"bob"}`,
    'an unknown one': `{${first},"username":"ann","x":1,"x":2}`,
    spaced: `{${first},"username"${' '.repeat(200)}:"ann","username":"bob"}`,
    'spaced the second time': `{${first},"username":"ann","username"${'\n'.repeat(200)}:"bob"}`
  }
  events.length = 0
  for (const [what, payload] of Object.entries(bodies)) {
    const reply = await app.inject({ method: 'POST', url: '/auth/token', headers: json, payload })
    t.equal(reply.statusCode, 400, what)
    t.equal(reply.json().error, 'invalid_request', what)
  }
  t.same(events, [], 'and nothing happened')
  const nested = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: json,
    payload: `{${first},"username":"ann","x":{"a":1},"y":{"a":"b:","c":"\\""}}`
  })
  t.equal(nested.statusCode, 200, 'equal keys at other places are no repetition')
})

// covers R6749-3.2 ASVS-15.3.7 ASVS-14.2.1
t.test('ignores query parameters at the token endpoint', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const query = `grant_type=password&username=ann&password=${encodeURIComponent(PASSWORD)}`
  t.equal(
    (await app.inject({ method: 'POST', url: `/auth/token?${query}`, headers: form, payload: '' })).json().error,
    'invalid_request'
  )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: `/auth/token?${query}`,
        headers: form,
        payload: 'grant_type=password&username=ann'
      })
    ).json().error,
    'invalid_request'
  )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token?scope=nonsense&username=bob',
        headers: form,
        payload: query
      })
    ).statusCode,
    200
  )
})

// covers R6749-3.1 R6749-3.2
t.test('treats an empty parameter as not sent, and ignores an unknown one', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const body = await signIn(app, 'ann', PASSWORD, {
    scope: '',
    client_id: '',
    extra: 'foobar',
    authorization_details: '[]'
  })
  t.equal(body.scope, 'openid profile email offline_access')
})

// covers ADV-CVE-2026-9704 ADV-CVE-2026-4634 R6749-3.3
t.test('refuses a token parameter that is too long or has a wrong type', async (t) => {
  const { app, close } = await testApp({
    clients: [{ clientId: 'web', clientSecret: SECRET, grantTypes: ['password'] }]
  })
  t.teardown(close)
  await signUp(app)
  const good = { grant_type: 'password', username: 'ann', password: PASSWORD }
  const rows: Array<[string, Record<string, unknown>, string]> = [
    ['scope of 1025', { scope: 'a'.repeat(1025) }, 'invalid_scope'],
    ['51 scopes', { scope: Array.from({ length: 51 }, (_, i) => `s${i}`).join(' ') }, 'invalid_scope'],
    ['scope of 5000', { scope: 'a'.repeat(5000) }, 'invalid_scope'],
    ['scope as a list', { scope: ['openid'] }, 'invalid_request'],
    ['client_id too long', { client_id: 'a'.repeat(1600) }, 'invalid_request'],
    ['client_id as a number', { client_id: 1 }, 'invalid_request'],
    ['client_id null', { client_id: null }, 'invalid_request'],
    ['client_secret as an object', { client_id: 'web', client_secret: {} }, 'invalid_request'],
    ['client_secret too long', { client_id: 'web', client_secret: 'a'.repeat(2000) }, 'invalid_request']
  ]
  for (const [what, extra, error] of rows) {
    const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: { ...good, ...extra } })
    t.equal(reply.statusCode, 400, what)
    t.equal(reply.json().error, error, what)
  }
})

// covers R6749-2.2 R6749-3.2.1 ASVS-10.4.10
t.test('refuses a client that fails to authenticate', async (t) => {
  const clients = [
    { clientId: 'web', clientSecret: SECRET, grantTypes: ['password' as const] },
    { clientId: 'spa', grantTypes: ['password' as const] }
  ]
  const { app, events, close } = await testApp({ clients })
  t.teardown(close)
  await signUp(app)
  events.length = 0
  const rows: Array<[string, Record<string, string>]> = [
    ['confidential without a secret', { client_id: 'web' }],
    ['confidential with a wrong one', { client_id: 'web', client_secret: `${SECRET}x` }],
    ['confidential with a part of it', { client_id: 'web', client_secret: SECRET.slice(0, -1) }],
    ['public with a secret', { client_id: 'spa', client_secret: SECRET }],
    ['unknown', { client_id: 'other' }],
    ['unknown with a secret', { client_id: '__proto__', client_secret: SECRET }]
  ]
  for (const [what, extra] of rows) {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'ann', password: PASSWORD, ...extra }
    })
    t.equal(reply.statusCode, 401, what)
    t.equal(reply.json().error, 'invalid_client', what)
  }
  t.same(
    events.map(({ name, payload }) => [name, payload['reason'], payload['clientId']]),
    [
      ['no_secret', 'web'],
      ['wrong_secret', 'web'],
      ['wrong_secret', 'web'],
      ['wrong_secret', 'spa'],
      ['unknown_client', null],
      ['unknown_client', null]
    ].map((facts) => ['client_authentication_failed', ...facts]),
    'no password was looked at'
  )
})

// covers R6749-5.2 ASVS-10.4.4 R9700-2.4
t.test('allows the password grant only to the configured clients', async (t) => {
  const clients = [
    { clientId: 'web', clientSecret: SECRET, grantTypes: ['password' as const] },
    { clientId: 'codes', clientSecret: SECRET },
    { clientId: 'third', clientSecret: SECRET, grantTypes: ['password' as const], firstParty: false }
  ]
  const rows: Array<['first-party' | 'clients' | false, string | undefined, string | undefined]> = [
    ['first-party', undefined, undefined],
    ['first-party', 'web', undefined],
    ['first-party', 'codes', 'unauthorized_client'],
    ['first-party', 'third', 'unauthorized_client'],
    ['clients', undefined, 'unauthorized_client'],
    ['clients', 'web', undefined],
    ['clients', 'codes', 'unauthorized_client'],
    ['clients', 'third', 'unauthorized_client'],
    [false, undefined, 'unsupported_grant_type'],
    [false, 'web', 'unsupported_grant_type']
  ]
  for (const [passwordGrant, clientId, error] of rows) {
    const { app, hasher, close } = await testApp({
      passwordGrant,
      clients: { findById: async (id) => clients.find((client) => client.clientId === id) ?? null }
    })
    t.teardown(close)
    await signUp(app)
    const before = hasher.calls.verify
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: {
        grant_type: 'password',
        username: 'ann',
        password: PASSWORD,
        ...(clientId === undefined ? {} : { client_id: clientId, client_secret: SECRET })
      }
    })
    t.equal(reply.json().error, error, `${passwordGrant} ${clientId}`)
    t.equal(reply.statusCode, error === undefined ? 200 : 400)
    if (error !== undefined) t.equal(hasher.calls.verify, before, 'no password was looked at')
  }
})

// covers ASVS-10.4.4 R9700-2.1.2
t.test('answers unsupported_grant_type to grants that are not offered', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  for (const grant of [
    'implicit',
    'token',
    'Password',
    'password ',
    '__proto__',
    'constructor',
    'urn:ietf:params:oauth:grant-type:device_code',
    'urn:ietf:params:oauth:grant-type:jwt-bearer'
  ]) {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: grant, username: 'ann', password: PASSWORD }
    })
    t.equal(reply.json().error, 'unsupported_grant_type', grant)
  }
})

// covers R6749-5.1 R6749-5.2 POL-token-answer ASVS-14.2.2
t.test('forbids caching of success and error responses of the token and refresh endpoints', async (t) => {
  const { app, close } = await testApp({ rateLimit: { login: { max: 3 } } })
  t.teardown(close)
  await signUp(app)
  const { refresh_token: refresh } = await signIn(app)
  const requests = [
    [200, { url: '/auth/token', payload: { grant_type: 'password', username: 'ann', password: PASSWORD } }],
    [400, { url: '/auth/token', payload: { grant_type: 'password', username: 'ann', password: 'no' } }],
    [429, { url: '/auth/token', payload: { grant_type: 'password', username: 'ann', password: 'no' } }],
    [400, { url: '/auth/token', payload: {} }],
    [400, { url: '/auth/token', headers: json, payload: '{' }],
    [415, { url: '/auth/token', headers: { 'content-type': 'text/plain' }, payload: 'x' }],
    [413, { url: '/auth/token', headers: json, payload: 'x'.repeat(20_000) }],
    [200, { url: '/auth/refresh', headers: bearer(refresh) }],
    [401, { url: '/auth/refresh', headers: bearer('x') }],
    [401, { url: '/auth/refresh' }]
  ] as const
  for (const [status, request] of requests) {
    const reply = await app.inject({ method: 'POST', ...request })
    t.equal(reply.statusCode, status, JSON.stringify(request).slice(0, 80))
    t.equal(reply.headers['cache-control'], 'no-store')
    t.equal(reply.headers['pragma'], 'no-cache')
    t.equal(reply.headers['content-type'], 'application/json; charset=utf-8', 'ASVS-4.1.1')
    if (status !== 200)
      t.match(reply.json(), { error: /^[a-z_]+$/, error_description: /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/ })
  }
})

// covers R6749-4.1.2.1 R6749-10.14
t.test('repeats no input in token errors, and describes them in characters that the RFC allows', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const hostile = '"\\\r\n\t\u0000<evil>\u20ac\u202e'
  for (const name of ['grant_type', 'username', 'password', 'scope', 'client_id']) {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'ann', password: PASSWORD, [name]: hostile }
    })
    t.ok(reply.statusCode === 400 || reply.statusCode === 401, name)
    t.match(reply.json().error_description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/, name)
    t.notMatch(reply.body + JSON.stringify(reply.headers), /evil/, name)
  }
})

// covers R6749-6 POL-auth-refresh
t.test('keeps user, client and scope at /auth/refresh, and refuses confidential and removed clients', async (t) => {
  const state = memoryState()
  const users = memoryUserStore()
  const clients = [
    { clientId: 'spa', grantTypes: ['password' as const] },
    { clientId: 'partner', clientSecret: SECRET, grantTypes: ['refresh_token' as const], firstParty: false }
  ]
  const { app, events, close } = await testApp({ state, users, clients })
  t.teardown(close)
  const { sub } = await signUp(app)
  const partner = await app.authority.issueTokens(sub, { clientId: 'partner' })
  const spa = await app.authority.issueTokens(sub, { clientId: 'spa', scope: 'openid' })
  const refresh = async (token: string, headers = {}) =>
    await app.inject({ method: 'POST', url: '/auth/refresh', headers: { ...bearer(token), ...headers } })
  events.length = 0
  t.equal((await refresh(partner.refresh_token as string)).statusCode, 401, 'no place for its client to authenticate')
  t.same(events, [])
  const again = await refresh(spa.refresh_token as string)
  t.equal(again.statusCode, 200)
  const { claims } = decodeJwt(again.json().access_token as string)
  t.match(claims, { sub, client_id: 'spa', scope: 'openid' }, 'the same user, client and scope')
  const widened = await app.inject({
    method: 'POST',
    url: '/auth/refresh?scope=email',
    headers: { ...bearer(spa.refresh_token as string), ...json },
    payload: { scope: 'openid email' }
  })
  t.equal(decodeJwt(widened.json().access_token as string).claims['scope'], 'openid', 'no scope is added')
  const withoutClient = await testApp({ state, users, clients: [] })
  t.teardown(withoutClient.close)
  t.equal(
    (
      await withoutClient.app.inject({
        method: 'POST',
        url: '/auth/refresh',
        headers: bearer(spa.refresh_token as string)
      })
    ).statusCode,
    401,
    'a client that is gone refreshes nothing'
  )
})

// covers R6749-7 R6749-10.10 ASVS-7.2.3 ASVS-6.5.4 ASVS-11.5.1
t.test('issues refresh tokens with random 256-bit secrets, and stores no secret in plain text', async (t) => {
  const state = memoryState()
  const kept: string[] = []
  const createFamily = state.tokens.createFamily.bind(state.tokens)
  const { app, messages, close } = await testApp({
    state: {
      ...state,
      tokens: {
        ...state.tokens,
        async createFamily(family) {
          kept.push(JSON.stringify(family))
          return await createFamily(family)
        }
      },
      oneTimeTokens: {
        ...state.oneTimeTokens,
        async put(token) {
          kept.push(JSON.stringify(token))
          return await state.oneTimeTokens.put(token)
        }
      }
    }
  })
  t.teardown(close)
  const { sub } = await signUp(app, 'ann@example.com')
  await messages.next()
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann@example.com' } })
  const secrets: string[] = [(await messages.next()).token as string]
  const ids = new Set<string>()
  const bits = Array<number>(256).fill(0)
  for (let i = 0; i < 1000; i++) {
    const [family = '', secret = ''] = ((await app.authority.issueTokens(sub)).refresh_token as string).split('.')
    ids.add(family).add(secret)
    const bytes = Buffer.from(secret, 'base64url')
    t.equal(bytes.length, 32)
    for (let bit = 0; bit < 256; bit++) bits[bit] = (bits[bit] ?? 0) + (((bytes[bit >> 3] ?? 0) >> (bit & 7)) & 1)
    secrets.push(family, secret)
  }
  t.equal(ids.size, 2000, 'no two are the same')
  // Fewer than 400 or more than 600 heads of 1000 fair coins come once in 10^9 runs, for all 256 together.
  t.same(
    bits.filter((ones) => ones < 400 || ones > 600),
    [],
    'every bit is a coin'
  )
  const all = kept.join('\n')
  t.ok(kept.length > 1000)
  t.same(
    secrets.filter((secret) => all.includes(secret)),
    [],
    'ASVS-6.5.2 only digests are kept'
  )
})

// covers R9068-2.1 R9068-2.2 ASVS-14.1.1 R9068-6
t.test('puts standard claims and no personal data into an access token', async (t) => {
  const { app, clock, close } = await testApp({ clients: [{ clientId: 'spa', grantTypes: ['password'] }] })
  t.teardown(close)
  const { sub } = await signUp(app, 'ann@example.com')
  const { access_token: token, expires_in: expiresIn } = await signIn(app, 'ann@example.com', PASSWORD, {
    client_id: 'spa',
    scope: 'openid email profile'
  })
  const { header, claims } = decodeJwt(token)
  t.match(header, { alg: 'ES256', typ: 'at+jwt', kid: String })
  const now = Math.floor(clock.now() / 1000)
  t.match(claims, {
    iss: ISSUER,
    aud: ISSUER,
    sub,
    client_id: 'spa',
    scope: 'openid email profile',
    iat: now,
    exp: now + expiresIn,
    auth_time: now
  })
  t.same(Object.keys(claims).sort(), [
    'acr',
    'amr',
    'aud',
    'auth_time',
    'client_id',
    'exp',
    'iat',
    'iss',
    'jti',
    'scope',
    'sid',
    'sub'
  ])
  t.notMatch(JSON.stringify(claims), /ann|example\.com/, 'ASVS-6.8.1 the subject is no address')
  const jtis = new Set<unknown>()
  for (let i = 0; i < 50; i++) jtis.add(decodeJwt((await app.authority.issueTokens(sub)).access_token).claims['jti'])
  t.equal(jtis.size, 50)
})

// covers R6750-5.3 ASVS-8.3.2
t.test('limits access tokens to an hour by default, and checks the user at a refresh', async (t) => {
  let disabled = false
  const store = memoryUserStore()
  const users = {
    ...store,
    findById: async (id: string) => {
      const user = await store.findById(id)
      return user === null ? null : { ...user, disabled }
    }
  }
  const { app, clock, close } = await testApp({ users })
  t.teardown(close)
  await signUp(app)
  const tokens = await signIn(app)
  t.ok(tokens.expires_in <= 3600)
  disabled = true
  t.equal(
    (await app.inject({ url: '/auth/sessions', headers: bearer(tokens.access_token) })).statusCode,
    401,
    'at once where the stores are asked'
  )
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) })).statusCode,
    401
  )
  clock.step(tokens.expires_in * 1000)
  t.equal(
    (await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode,
    401,
    'and everywhere after its time'
  )
})
