import t from '../support/tap.ts'
import { memoryState, memoryUserStore } from '../../lib/index.ts'
import { aesSealer } from '../../lib/adapters/node/sealer.ts'
import { fastHasher } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'

// covers ASVS-9.2.2 ADV-CVE-2026-4282 R8725-3.12
t.test('accepts access, refresh, reset and verification tokens only at their own endpoint', async (t) => {
  const { app, messages, close } = await testApp()
  t.teardown(close)
  await signUp(app, 'ann@example.com')
  const verify = (await messages.next()).token as string
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann@example.com' } })
  const reset = (await messages.next()).token as string
  const tokens = await signIn(app, 'ann@example.com')
  const [family = '', secret = ''] = tokens.refresh_token.split('.')
  const sid = (await app.inject({ url: '/auth/sessions', headers: bearer(tokens.access_token) })).json().sessions[0]
    .id as string
  const artefacts = {
    access: tokens.access_token,
    refresh: tokens.refresh_token,
    reset,
    verify,
    sid,
    family,
    'secret half': secret,
    'made up': 'A'.repeat(43)
  }
  const doors: Record<string, (artefact: string) => Promise<number>> = {
    access: async (artefact) => (await app.inject({ url: '/auth/sessions', headers: bearer(artefact) })).statusCode,
    refresh: async (artefact) =>
      (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(artefact) })).statusCode,
    verify: async (artefact) =>
      (await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token: artefact } })).statusCode,
    reset: async (artefact) =>
      (
        await app.inject({
          method: 'POST',
          url: '/auth/password-reset/confirm',
          payload: { token: artefact, password: 'a wholly new password' }
        })
      ).statusCode
  }
  // Tries the wrong tokens first, because the right ones are used up, and a reset ends the sessions.
  for (const [door, open] of Object.entries(doors)) {
    for (const [artefact, value] of Object.entries(artefacts))
      if (artefact !== door) t.ok([400, 401].includes(await open(value)), `${artefact} at the door of ${door}`)
  }
  for (const [door, open] of Object.entries(doors))
    t.ok([200, 204].includes(await open(artefacts[door as keyof typeof artefacts])), `${door} at its own`)
})

// covers ASVS-7.2.2 ASVS-7.2.1
t.test('rejects other credentials, and access tokens outside a well-formed Bearer header', async (t) => {
  const { app, close } = await testApp({ clients: [{ clientId: 'web', clientSecret: 'abcdefghijklmnop'.repeat(2) }] })
  t.teardown(close)
  await signUp(app)
  const { access_token: token } = await signIn(app)
  const rows: Array<Record<string, string>> = [
    { authorization: `Basic ${Buffer.from(`web:${'abcdefghijklmnop'.repeat(2)}`).toString('base64')}` },
    { authorization: `Basic ${Buffer.from(`ann:${PASSWORD}`).toString('base64')}` },
    { authorization: token },
    { authorization: `JWT ${token}` },
    { authorization: `Bearer \t${token}` },
    { authorization: `Bearer ${token} x` },
    { authorization: `Bearer ${token},Bearer ${token}` },
    { cookie: `access_token=${token}; token=${token}; session=${token}` },
    { 'x-api-key': token },
    { 'x-access-token': token }
  ]
  for (const headers of rows)
    t.equal((await app.inject({ url: '/me', headers })).statusCode, 401, JSON.stringify(headers).slice(0, 60))
  t.equal(
    (await app.inject({ method: 'POST', url: '/me', payload: { access_token: token } })).statusCode,
    404,
    'R6750-2.2 a body is not read for tokens'
  )
})

// covers ASVS-9.2.3 ASVS-9.2.4 ASVS-10.3.1 ASVS-8.4.1 R9068-5
t.test('rejects access tokens of another audience, issuer or instance', async (t) => {
  const users = memoryUserStore()
  const state = memoryState()
  const secret = 'one secret of two services, 32 by'
  const one = await testApp({ users, state, secret })
  const api = await testApp({ users, state, secret, accessToken: { audience: 'https://api.example' } })
  // A state without an owner. States with one refuse a second issuer.
  const { claimFor: _claimFor, ...untold } = state
  const other = await testApp({ users, state: untold, secret, issuer: 'http://localhost:3000/other' })
  const apart = await testApp({ users })
  for (const { close } of [one, api, other, apart]) t.teardown(close)
  await signUp(one.app)
  for (const [what, from, others] of [
    ['the default audience', one, [api, other, apart]],
    ['an API of its own', api, [one, other, apart]],
    ['another issuer', other, [one, api, apart]]
  ] as const) {
    const { access_token: token } = await signIn(from.app, 'ann', PASSWORD, {
      aud: ISSUER
    })
    t.equal((await from.app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200, what)
    for (const { app } of others)
      t.equal((await app.inject({ url: '/me', headers: bearer(token) })).statusCode, 401, what)
  }
})

// covers ASVS-10.3.3 ADV-CVE-2025-61928
t.test('ignores user ids in a token request, and rejects them in a password change', async (t) => {
  const { app, close } = await testApp()
  t.teardown(close)
  const { sub: ann } = await signUp(app, 'ann')
  const { sub: bob } = await signUp(app, 'bob')
  t.not(ann, bob)
  const mine = await signIn(app, 'ann')
  const extra = { sub: bob, user_id: bob, userId: bob, id: bob }
  const asked = await app.inject({
    method: 'POST',
    url: `/auth/token?sub=${bob}`,
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD, ...extra }
  })
  t.equal((await app.authority.verify(asked.json().access_token as string)).sub, ann)
  const change = await app.inject({
    method: 'POST',
    url: '/auth/password',
    headers: bearer(mine.access_token),
    payload: { current_password: PASSWORD, new_password: 'a wholly new password', ...extra }
  })
  t.equal(change.statusCode, 400, 'a body that names a user does not fit')
  t.equal((await signIn(app, 'bob')).token_type, 'Bearer')
})

// covers ASVS-8.2.1 ASVS-8.3.1
t.test(
  'answers 401 without an access token, 404 for a session of another user and 403 without the scope',
  async (t) => {
    const { app, close } = await testApp()
    t.teardown(close)
    await signUp(app, 'ann')
    await signUp(app, 'bob')
    const ann = await signIn(app, 'ann')
    const bob = await signIn(app, 'bob')
    const sid = (await app.inject({ url: '/auth/sessions', headers: bearer(ann.access_token) })).json().sessions[0]
      .id as string
    const callers = { nobody: {}, 'a refresh token': bearer(ann.refresh_token), 'no token': bearer('nonsense') }
    const routes = [
      ['GET', '/auth/sessions'],
      ['DELETE', `/auth/sessions/${sid}`],
      ['POST', '/auth/password'],
      ['GET', '/me'],
      ['GET', '/admin']
    ] as const
    for (const [caller, headers] of Object.entries(callers)) {
      for (const [method, url] of routes) {
        const reply = await app.inject({
          method,
          url,
          headers,
          ...(method === 'POST'
            ? { payload: { current_password: PASSWORD, new_password: 'a wholly new password' } }
            : {})
        })
        t.equal(reply.statusCode, 401, `${caller}: ${method} ${url}`)
      }
    }
    t.equal(
      (await app.inject({ method: 'DELETE', url: `/auth/sessions/${sid}`, headers: bearer(bob.access_token) }))
        .statusCode,
      404,
      'ASVS-8.2.2 another user'
    )
    t.equal(
      (await app.inject({ url: '/admin', headers: bearer(bob.access_token) })).statusCode,
      403,
      'ASVS-10.3.2 without the scope'
    )
    t.equal((await app.inject({ url: '/auth/sessions', headers: bearer(ann.access_token) })).json().sessions.length, 1)
  }
)

// covers ADV-CVE-2026-9798 ASVS-7.4.2 ASVS-6.3.4
t.test('refuses sign-in, refresh, password reset and account access to a disabled user', async (t) => {
  let disabled = false
  const hash = await fastHasher().hash(PASSWORD, { memoryCost: 19456, timeCost: 2, parallelism: 1 })
  const store = memoryUserStore([{ id: '1', username: 'ann@example.com', passwordHash: hash }])
  const mark = <User extends object>(user: User | null): User | null => (user === null ? null : { ...user, disabled })
  const { app, messages, events, close } = await testApp({
    users: {
      ...store,
      findById: async (id) => mark(await store.findById(id)),
      findByUsername: async (name) => mark(await store.findByUsername(name))
    }
  })
  t.teardown(close)
  const tokens = await signIn(app, 'ann@example.com')
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: 'ann@example.com' } })
  const { token } = await messages.next()
  disabled = true
  events.length = 0
  const sent = messages.messages.length
  const rows = [
    [
      400,
      {
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
      }
    ],
    [202, { method: 'POST', url: '/auth/password-reset', payload: { username: 'ann@example.com' } }],
    [
      400,
      { method: 'POST', url: '/auth/password-reset/confirm', payload: { token, password: 'a wholly new password' } }
    ],
    [
      401,
      {
        method: 'POST',
        url: '/auth/password',
        headers: bearer(tokens.access_token),
        payload: { current_password: PASSWORD, new_password: 'a wholly new password' }
      }
    ],
    [401, { url: '/auth/sessions', headers: bearer(tokens.access_token) }],
    [401, { method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) }]
  ] as const
  for (const [status, request] of rows) t.equal((await app.inject(request)).statusCode, status, request.url)
  await t.rejects(app.authority.issueTokens('1'))
  await t.rejects(app.authority.startPasswordReset('1'))
  // Closing sends the remaining messages.
  await close()
  t.equal(messages.messages.length, sent, 'no message')
  t.notOk(
    events.some(({ name }) => ['token_issued', 'token_refreshed', 'authenticated', 'password_changed'].includes(name))
  )
  t.equal((await store.findById('1'))?.passwordHash, hash)
})

// covers ASVS-7.4.1 ASVS-7.4.5
t.test('rejects the tokens of a session after the user or host revokes it, or after it expires', async (t) => {
  const ends: Record<
    string,
    (world: Awaited<ReturnType<typeof testApp>>, access: string, sub: string) => Promise<unknown>
  > = {
    user: async ({ app }, access) => {
      const sid = (await app.inject({ url: '/auth/sessions', headers: bearer(access) })).json().sessions[0].id as string
      return await app.inject({ method: 'DELETE', url: `/auth/sessions/${sid}`, headers: bearer(access) })
    },
    host: async ({ app }, _access, sub) => {
      await app.authority.revokeUser(sub)
    },
    'ASVS-7.3.1 two idle weeks': async ({ clock }) => {
      clock.step(1_209_600_000)
    },
    'ASVS-7.3.2 a month of daily use': async ({ app, clock }) => {
      for (let day = 0; day < 30; day++) {
        clock.step(86_400_000)
        await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })
      }
    }
  }
  let refresh = ''
  for (const [what, end] of Object.entries(ends)) {
    const world = await testApp()
    t.teardown(world.close)
    const { sub } = await signUp(world.app)
    const tokens = await signIn(world.app)
    refresh = tokens.refresh_token
    t.equal((await world.app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 200)
    await end(world, tokens.access_token, sub)
    t.equal(
      (await world.app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode,
      401,
      `${what}: access token`
    )
    t.equal(
      (await world.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) }))
        .statusCode,
      401,
      `${what}: refresh token`
    )
  }
})

// covers ASVS-11.3.2 ASVS-11.3.3 ASVS-11.3.4
t.test('seals equal values differently, and does not open an altered value or one of another secret', async (t) => {
  const { open, seal } = aesSealer(['a secret of thirty-two characters'])
  const sealed = new Set(Array.from({ length: 1000 }, () => seal('a key')))
  t.equal(sealed.size, 1000)
  const [first = ''] = sealed
  t.equal(open(first), 'a key')
  for (let at = 0; at < first.length; at += 3) {
    const changed = `${first.slice(0, at)}${first[at] === 'A' ? 'B' : 'A'}${first.slice(at + 1)}`
    const isEqual = Buffer.from(changed, 'base64url').equals(Buffer.from(first, 'base64url'))
    t.equal(open(changed), isEqual ? 'a key' : null, `character ${at}`)
  }
  t.equal(aesSealer(['another secret of 32 characters!!']).open(first), null)
})
