import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { delayed } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { authorizeAs, authorizePath, openidApp } from '../support/openid.ts'

const json = { 'content-type': 'application/json' }

// covers ADV-CVE-2026-30941 ADV-CVE-2013-0233 ASVS-15.3.5 ASVS-2.2.2
t.test('rejects empty or non-string usernames, passwords and tokens with 400, without a store query', async (t) => {
  const asked: unknown[] = []
  const store = memoryUserStore()
  const watched =
    <T>(method: (argument: string) => Promise<T>) =>
    async (argument: string) => {
      asked.push(argument)
      return await method(argument)
    }
  const state = memoryState()
  const { app, close } = await testApp({
    users: { ...store, findById: watched(store.findById), findByUsername: watched(store.findByUsername) },
    state: {
      ...state,
      oneTimeTokens: {
        ...state.oneTimeTokens,
        async find(...args) {
          asked.push(args[1])
          return await state.oneTimeTokens.find(...args)
        },
        async consume(...args) {
          asked.push(args[1])
          return await state.oneTimeTokens.consume(...args)
        }
      }
    }
  })
  t.teardown(close)
  const values = [{}, [], ['ann'], { $ne: null }, { $gt: '' }, null, 0, 1, true, '']
  for (const value of values) {
    const rows: Array<[string, object]> = [
      ['/auth/token', { grant_type: 'password', username: value, password: PASSWORD }],
      ['/auth/token', { grant_type: 'password', username: 'ann', password: value }],
      ['/auth/token', { grant_type: value, username: 'ann', password: PASSWORD }],
      ['/auth/register', { username: value, password: PASSWORD }],
      ['/auth/register', { username: 'ann', password: value }],
      ['/auth/password-reset', { username: value }],
      ['/auth/password-reset/confirm', { token: value, password: 'a wholly new password' }],
      ['/auth/password-reset/confirm', { token: 'A'.repeat(43), password: value }],
      ['/auth/email/verify', { token: value }]
    ]
    for (const [url, payload] of rows) {
      const reply = await app.inject({ method: 'POST', url, payload })
      t.equal(reply.statusCode, 400, `${url} ${JSON.stringify(payload)}`)
      t.equal(reply.json().error, 'invalid_request', `${url} ${JSON.stringify(payload)}`)
    }
  }
  t.same(asked, [], 'no store was asked')
})

// covers ADV-GHSA-w2qp-rph6-63g4
t.test('answers 400 to a JSON body that is not an object', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  for (const url of [
    '/auth/token',
    '/auth/register',
    '/auth/password-reset',
    '/auth/password-reset/confirm',
    '/auth/email/verify'
  ]) {
    for (const payload of ['"str"', '1', 'null', '[]', 'true', ''])
      t.equal((await app.inject({ method: 'POST', url, headers: json, payload })).statusCode, 400, `${url} ${payload}`)
  }
})

// covers ASVS-15.3.6 RL-13
t.test('treats usernames such as __proto__ and constructor like any other', async (t) => {
  const { app, close } = await testApp({
    rateLimit: { login: false, register: false, passwordReset: false, account: { max: 2 } }
  })
  t.teardown(close)
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__']) {
    const login = async () =>
      (
        await app.inject({
          method: 'POST',
          url: '/auth/token',
          payload: { grant_type: 'password', username: name, password: PASSWORD }
        })
      ).statusCode
    t.same([await login(), await login(), await login()], [400, 400, 429], name)
    t.equal(
      (await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: name } })).statusCode,
      202
    )
  }
  for (const name of ['constructor', 'valueof']) {
    await app.inject({ method: 'POST', url: '/auth/register', payload: { username: `${name}2`, password: PASSWORD } })
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/register',
          payload: { username: `${name}2`, password: PASSWORD }
        })
      ).statusCode,
      409
    )
  }
})

// covers ADV-CVE-2022-41919 ADV-CVE-2025-32442 ASVS-3.5.2
t.test('refuses content types other than application/json at the account endpoints', async (t) => {
  const { app, events, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const { access_token: token } = await signIn(app)
  events.length = 0
  const types = [
    'text/plain',
    'text/plain;charset=utf-8',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'application/vnd.api+json',
    'application/jsonx',
    'text/json',
    'application/ json',
    '\tx',
    ''
  ]
  const bodies = {
    '/auth/register': { username: 'bob', password: PASSWORD },
    '/auth/password': { current_password: PASSWORD, new_password: 'a wholly new password' },
    '/auth/password-reset': { username: 'ann' },
    '/auth/password-reset/confirm': { token: 'A'.repeat(43), password: 'a wholly new password' },
    '/auth/email/verify': { token: 'A'.repeat(43) }
  }
  for (const [url, body] of Object.entries(bodies)) {
    for (const type of types) {
      const reply = await app.inject({
        method: 'POST',
        url,
        headers: { 'content-type': type, ...bearer(token) },
        payload: JSON.stringify(body)
      })
      t.ok([400, 415].includes(reply.statusCode), `${url} ${JSON.stringify(type)}: ${reply.statusCode}`)
    }
  }
  t.same(events, [])
})

// covers ASVS-3.5.3 ASVS-4.1.4 ASVS-7.6.2
t.test('performs no action when an account endpoint is called with a method other than POST', async (t) => {
  const { app, events, close } = await testApp()
  t.teardown(close)
  await signUp(app)
  const tokens = await signIn(app)
  events.length = 0
  const query = `?grant_type=password&username=ann&password=${encodeURIComponent(PASSWORD)}&token=x`
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'] as const) {
    for (const url of [
      '/auth/token',
      '/auth/refresh',
      '/auth/register',
      '/auth/password',
      '/auth/password-reset',
      '/auth/password-reset/confirm',
      '/auth/email/verify'
    ]) {
      const reply = await app.inject({ method, url: `${url}${query}`, headers: bearer(tokens.refresh_token) })
      // Preflights of endpoints for clients on other origins get the methods and nothing else.
      const preflight = method === 'OPTIONS' && url === '/auth/token'
      const isProtocol = url === '/auth/token' || url === '/auth/refresh'
      const refused = isProtocol && method !== 'OPTIONS' ? 405 : 404
      t.equal(reply.statusCode, preflight ? 204 : refused, `${method} ${url}`)
      if (preflight) t.match({ allow: reply.headers.allow, body: reply.body }, { allow: 'POST', body: '' })
    }
  }
  t.same(events, [])
})

// covers ASVS-3.5.3 ASVS-7.6.2
t.test('changes nothing when a hosted page is called with a method other than POST', async (t) => {
  const { app, events, messages, browser, ann, close } = await openidApp({
    registration: { fields: Type.Object({ email: Type.Optional(Type.String()) }) }
  })
  t.teardown(close)
  await authorizeAs(browser, authorizePath())
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'bob@mail.example', password: PASSWORD }
  })
  const verify = await messages.next('verify_email')
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'bob@mail.example' } })
  const reset = await messages.next('password_reset')
  const before = await app.authority.sessions(ann.sub)
  const consent = authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb' }).split('?')[1] ?? ''
  events.length = 0
  const query = new URLSearchParams({ username: 'eve', password: PASSWORD, decision: 'sign_out' }).toString()
  const pages = [
    `/auth/login?${query}`,
    `/auth/signup?${query}`,
    '/auth/forgot-password?username=bob%40mail.example',
    `/auth/reset-password?token=${reset.token}&password=another+good+password`,
    `/auth/verify-email?token=${verify.token}`,
    `/auth/consent?${consent}&decision=allow`,
    `/auth/logout?${query}`
  ]
  for (const url of pages) {
    const [path = ''] = url.split('?')
    // Mail programs ask by HEAD before they follow a link.
    const statuses = {
      GET: 200,
      HEAD: /reset|verify/.test(path) ? 200 : 404,
      OPTIONS: 204,
      PUT: 404,
      PATCH: 404,
      DELETE: 404
    } as const
    for (const [method, status] of Object.entries(statuses)) {
      const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
      const reply = await app.inject({
        method: method as keyof typeof statuses,
        url,
        headers: { cookie, 'sec-fetch-site': 'none' }
      })
      t.equal(reply.statusCode, status, `${method} ${path}`)
      t.notOk(reply.headers['set-cookie'], `${method} ${path}`)
    }
  }
  t.same(events, [])
  t.same(
    (await app.authority.sessions(ann.sub)).map(({ id }) => id),
    before.map(({ id }) => id),
    'signed in as before'
  )
  t.same(await app.authority.consents(ann.sub), [])
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: verify.token } })).statusCode,
    204,
    'both links are good still'
  )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/password-reset/confirm',
        payload: { token: reset.token, password: 'another good password' }
      })
    ).statusCode,
    204
  )
})

// covers ADV-CVE-2026-3635 ADV-GHSA-569q-mpph-wgww ADV-GHSA-3529-5m8x-rpv3 ASVS-4.1.3
t.test('ignores request headers that name another host, URL or address', async (t) => {
  const { app, messages, events, close } = await testApp()
  t.teardown(close)
  const headers = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '203.0.113.9',
    forwarded: 'host=evil.example;for=203.0.113.9',
    'x-real-ip': '203.0.113.9',
    'cf-connecting-ip': '203.0.113.9',
    'x-original-url': '/admin',
    'x-rewrite-url': '/admin'
  }
  await signUp(app, 'ann@example.com')
  await messages.next()
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    headers,
    remoteAddress: '192.0.2.7',
    payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
  })
  t.equal((await app.authority.verify(reply.json().access_token as string)).iss, ISSUER)
  await app.inject({ method: 'POST', url: '/auth/password-reset', headers, payload: { username: 'ann@example.com' } })
  t.ok((await messages.next()).url?.startsWith(`${ISSUER}/`))
  t.same(
    events.filter(({ name }) => name === 'authenticated').map(({ payload }) => payload['ip']),
    ['192.0.2.7'],
    'ASVS-15.3.4'
  )
  t.notMatch(JSON.stringify(reply.headers), /evil/)
})

// covers ADV-CVE-2026-53516 ADV-CVE-2024-38351
t.test('lets the owner of an email address take over an account that a stranger registered for it', async (t) => {
  const { app, messages, close } = await testApp({ registration: { verifyEmail: true } })
  t.teardown(close)
  const register = async (password: string) =>
    await app.inject({ method: 'POST', url: '/auth/register', payload: { username: 'owner@example.com', password } })
  const login = async (password: string) =>
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'owner@example.com', password }
      })
    ).statusCode
  t.equal((await register('the password of a stranger')).statusCode, 202)
  const early = await messages.next('verify_email')
  t.equal((await register('the password of the owner')).statusCode, 202)
  const own = await messages.next('already_registered')
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: early.token } })).statusCode,
    400,
    'the link that the stranger caused opens nothing'
  )
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/password-reset/confirm',
        payload: { token: own.token, password: 'the password of the owner' }
      })
    ).statusCode,
    204
  )
  t.equal(await login('the password of a stranger'), 400)
  t.equal(await login('the password of the owner'), 200)
})

// covers ADV-CVE-2026-32943 ADV-CVE-2023-44399
t.test('lets only one of 50 parallel password resets with the same token succeed', async (t) => {
  const state = memoryState()
  const { app, messages, events, close } = await testApp({
    state: { ...state, oneTimeTokens: delayed(state.oneTimeTokens) },
    users: delayed(memoryUserStore())
  })
  t.teardown(close)
  await signUp(app, 'ann@example.com')
  await messages.next()
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann@example.com' } })
  const { token } = await messages.next()
  const statuses = (
    await Promise.all(
      Array.from(
        { length: 50 },
        async (_, i) =>
          await app.inject({
            method: 'POST',
            url: '/auth/password-reset/confirm',
            payload: { token, password: `a wholly new password ${i}` }
          })
      )
    )
  ).map(({ statusCode }) => statusCode)
  t.equal(statuses.filter((status) => status === 204).length, 1)
  t.ok(statuses.every((status) => status === 204 || status === 400 || status === 503))
  t.equal(events.filter(({ name }) => name === 'password_changed').length, 1)
})

// covers ASVS-8.2.3 ASVS-15.3.3 ASVS-14.2.6 ADV-CVE-2023-4918
t.test('rejects a registration with undeclared fields, and does not return internal fields', async (t) => {
  const store = memoryUserStore()
  const created: unknown[] = []
  const { app, close } = await testApp({
    users: {
      ...store,
      async create(user) {
        created.push(user)
        return await store.create({ ...user, internal: 'a secret of the host' })
      }
    },
    registration: { fields: Type.Object({ nickname: Type.Optional(Type.String()) }) }
  })
  t.teardown(close)
  const extras = {
    role: 'admin',
    id: '1',
    sub: '1',
    emailVerified: true,
    email_verified: true,
    disabled: false,
    passwordHash: 'x',
    isAdmin: true,
    scope: 'admin'
  }
  for (const [name, value] of Object.entries(extras))
    t.equal(
      (
        await app.inject({
          method: 'POST',
          url: '/auth/register',
          payload: { username: 'ann', password: PASSWORD, [name]: value }
        })
      ).statusCode,
      400,
      name
    )
  t.same(created, [])
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'ann', password: PASSWORD, nickname: 'Annie' }
  })
  t.same(Object.keys(reply.json()).sort(), ['nickname', 'sub', 'username'])
  t.notMatch(JSON.stringify(created), new RegExp(PASSWORD), 'the store gets no password')
})

// covers ADV-CVE-2024-1722 ADV-CVE-2025-8419 ADV-GHSA-7rqj ASVS-1.3.11
t.test('refuses malformed and ambiguous email addresses as usernames, and sends them no message', async (t) => {
  const { app, messages, close } = await testApp()
  t.teardown(close)
  const names = [
    'a@x.example,b@y.example',
    'a@x.example\r\nBcc: b@y.example',
    '"a@x.example"@y.example',
    'a@x.example <b@y.example>',
    'a@b@c.example',
    'a\uff20x.example',
    'a@x.example\u0000',
    ' a@x.example',
    'a@x.example ',
    'm\u0131ke@x.example',
    '\u212aate@x.example',
    'a@x',
    'a@127.0.0.1',
    'a@[127.0.0.1]',
    'a\u200b@x.example',
    'a\u202e@x.example',
    '@x.example',
    'a@',
    `${'a'.repeat(65)}@x.example`,
    `a@${'x'.repeat(250)}.example`
  ]
  for (const username of names) {
    t.equal(
      (await app.inject({ method: 'POST', url: '/auth/register', payload: { username, password: PASSWORD } }))
        .statusCode,
      400,
      JSON.stringify(username).slice(0, 60)
    )
    await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: username.slice(0, 254) } })
  }
  // Closing sends the remaining messages.
  await close()
  t.same(messages.messages, [])
})

// covers ADV-CVE-2026-9802
t.test('rejects tokens from before a restart when the state is in memory', async (t) => {
  const users = memoryUserStore()
  const secret = 'a secret that outlives a restart'
  const before = await testApp({ users, secret })
  await signUp(before.app)
  const tokens = await signIn(before.app)
  await before.close()
  const after = await testApp({ users, secret })
  t.teardown(after.close)
  t.equal(
    (await after.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) }))
      .statusCode,
    401
  )
  t.equal((await after.app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 401)
})
