import t from '../support/tap.ts'
import { memoryState, memoryUserStore, type User } from '../../lib/index.ts'
import { delayed } from '../../lib/testing/index.ts'
import { decodeJwt } from '../support/jwt.ts'
import { bearer, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'

const grant = { grant_type: 'password', username: 'ann', password: PASSWORD }

t.test('adds custom claims to the access token, but replaces no registered claim', async (t) => {
  const seen: object[] = []
  const { app, close } = await testApp({
    claims: async (user, context) => {
      seen.push(context)
      return {
        role: 'admin',
        name: user.username,
        sub: 'someone else',
        iss: 'https://evil.example',
        exp: 0,
        scope: 'root',
        jti: undefined,
        nested: { a: [1] }
      }
    }
  })
  t.teardown(close)
  const { sub } = await signUp(app)
  const tokens = await signIn(app, 'ann', PASSWORD, { scope: 'openid' })
  const { claims } = decodeJwt(tokens.access_token)
  t.match(claims, { role: 'admin', name: 'ann', sub, scope: 'openid', nested: { a: [1] } })
  t.ok(Number(claims.exp) > 0)
  t.ok(claims.jti)
  t.same(seen, [{ scopes: ['openid'], client: null, use: 'access_token' }])
  const warm = (await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).json()
  t.same(warm, claims, 'the write-through cache has what a reader of the token sees')
  const frozen = await app.authority.verify(tokens.access_token)
  t.throws(() => {
    ;(frozen as unknown as { nested: { a: number[] } }).nested.a.push(2)
  }, TypeError)
  const again = (
    await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(tokens.refresh_token) })
  ).json()
  t.equal(decodeJwt(again.access_token).claims.role, 'admin')
})

t.test('Duende-667 leaves no refresh token family and no token when the claims function throws', async (t) => {
  let fails = true
  const { app, close } = await testApp({
    claims: () => {
      if (fails) throw new Error('claims are down')
      return {}
    }
  })
  t.teardown(close)
  const { sub } = await signUp(app)
  const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: grant })
  t.equal(reply.statusCode, 503)
  t.notMatch(reply.body, 'claims are down')
  t.same(await app.authority.sessions(sub), [])
  fails = false
  await signIn(app)
  t.equal((await app.authority.sessions(sub)).length, 1)
})

// covers ASVS-7.4.3
t.test('issues no token for the old password when a sign-in races a password change', async (t) => {
  const users = memoryUserStore()
  const state = memoryState()
  const between: { change?: () => Promise<void> } = {}
  const tokens = {
    ...state.tokens,
    createFamily: async (family: Parameters<typeof state.tokens.createFamily>[0]) => {
      // Between the verified password and the commit of its family, the password is changed and all families are
      // revoked.
      await between.change?.()
      await state.tokens.createFamily(family)
    }
  }
  const { app, close, events } = await testApp({ users, state: { ...state, tokens } })
  t.teardown(close)
  const { sub } = await signUp(app)
  between.change = async () => {
    const next = await app.authority.hashPassword('another fine password')
    await users.setPasswordHash(sub, next)
    await app.authority.revokeUser(sub)
  }
  const reply = await app.inject({ method: 'POST', url: '/auth/token', payload: grant })
  t.equal(reply.statusCode, 400)
  t.equal(reply.json().error, 'invalid_grant')
  t.same(await app.authority.sessions(sub), [])
  t.equal(events.find(({ name }) => name === 'login_failed')?.payload.reason, 'changed_meanwhile')
})

t.test('answers 503 and revokes the refresh token family when the user store fails after the commit', async (t) => {
  const users = memoryUserStore()
  let calls = 0
  const findById = async (id: string): Promise<User | null> => {
    calls++
    if (calls === 1) throw new Error('down')
    return await users.findById(id)
  }
  const { app, close } = await testApp({ users: { ...users, findById } })
  t.teardown(close)
  const { sub } = await signUp(app)
  t.equal((await app.inject({ method: 'POST', url: '/auth/token', payload: grant })).statusCode, 503)
  t.same(await app.authority.sessions(sub), [])
})

// covers ASVS-2.3.4
t.test('creates one account from 50 parallel registrations of one name on a slow store', async (t) => {
  const { app, close } = await testApp({ users: delayed(memoryUserStore()) })
  t.teardown(close)
  const replies = await Promise.all(
    Array.from(
      { length: 50 },
      async (_, index) =>
        await app.inject({
          method: 'POST',
          url: '/auth/register',
          payload: { username: index % 2 === 0 ? 'ann' : 'ANN', password: PASSWORD }
        })
    )
  )
  t.equal(replies.filter(({ statusCode }) => statusCode === 201).length, 1)
  t.equal(replies.filter(({ statusCode }) => statusCode === 409).length, 49)
})

// covers A13
t.test(
  'accepts refresh tokens of public clients at /auth/refresh, and rejects those of confidential clients',
  async (t) => {
    const clientSecret = 'a'.repeat(16) + 'b'.repeat(16)
    const clients = [
      { clientId: 'spa', firstParty: false },
      { clientId: 'own', clientSecret },
      { clientId: 'partner', clientSecret, firstParty: false }
    ]
    const { app, close } = await testApp({ clients })
    t.teardown(close)
    const { sub } = await signUp(app)
    for (const [clientId, status] of [
      ['spa', 200],
      ['own', 401],
      ['partner', 401]
    ] as const) {
      const { refresh_token: token = '' } = await app.authority.issueTokens(sub, { clientId })
      const reply = await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(token) })
      t.equal(reply.statusCode, status, clientId)
      if (status === 401)
        t.match(
          [reply.json(), reply.headers],
          [{ error: 'invalid_token' }, { 'www-authenticate': /error="invalid_token"/ }]
        )
    }
    const { refresh_token: orphan = '' } = await app.authority.issueTokens(sub, { clientId: 'spa' })
    clients.shift()
    t.equal(
      (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(orphan) })).statusCode,
      200,
      'the array was read at start'
    )
  }
)

t.test('accepts a token of another instance whose key is not yet known here', async (t) => {
  const state = { ...memoryState(), shared: true }
  const secret = '0123456789abcdefghijklmnopqrstuv'
  const users = memoryUserStore()
  const one = await testApp({ state, secret, users })
  t.teardown(one.close)
  await signUp(one.app)
  const { access_token: token } = await signIn(one.app)
  const two = await testApp({ state, secret, users })
  t.teardown(two.close)
  t.equal((await two.app.inject({ url: '/me', headers: bearer(token) })).statusCode, 200)
  // The first makes its next key before the second reads the store again.
  one.clock.step(89 * 86_400_000)
  while ((await state.keys.list()).filter(({ alg }) => alg === 'ES256').length < 2)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  one.clock.step(86_400_000)
  two.clock.step(90 * 86_400_000 - 30_000)
  const next = await signIn(one.app)
  t.not(decodeJwt(next.access_token).header.kid, decodeJwt(token).header.kid)
  t.equal((await two.app.inject({ url: '/me', headers: bearer(next.access_token) })).statusCode, 200)
})

t.test('answers 500 with FST_AUTHORITY_NO_GUARD when requireScope has no authenticate before it', async (t) => {
  const { app, close } = await testApp({}, {}, (app) => {
    app.register(async (child) => {
      child.get(
        '/bare',
        {
          onRequest: [
            (request, reply, done) => {
              child.requireScope('x')(request, reply, done)
            }
          ]
        },
        async () => 'in'
      )
    })
  })
  t.teardown(close)
  const reply = await app.inject('/bare')
  t.match([reply.statusCode, reply.json()], [500, { code: 'FST_AUTHORITY_NO_GUARD' }])
})
