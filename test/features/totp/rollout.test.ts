/** The first step of a rolling update that turns second factors on. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { bearer, signIn, signUp, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { factorApp, formOf, logIn } from '../../support/factors.ts'

t.test('asks for existing factors, and lets no user set one up if mfa.methods is empty', async (t) => {
  const shared = {
    users: memoryUserStore(),
    factors: memoryFactorStore(),
    secret: 'the secret of both, of 32 bytes or more'
  }
  await factorApp(t, shared)
  const { app, close } = await testApp({ ...shared, mfa: { methods: [] } })
  t.teardown(close)
  const ann = testBrowser(app)
  t.equal((await logIn(ann)).headers.location, '/auth/second-factor')
  await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'bob', password: 'a password of bob that is long' }
  })
  const bob = testBrowser(app)
  t.equal((await logIn(bob, 'bob', 'a password of bob that is long')).statusCode, 303)
  t.equal((await bob.get('/auth/security')).statusCode, 200)
  t.equal((await bob.get('/auth/security/totp')).statusCode, 404)
})

t.test('ends a session from before the second factor was required at its next request', async (t) => {
  const shared = {
    users: memoryUserStore(),
    factors: memoryFactorStore(),
    state: memoryState(),
    secret: 'the secret of both, of 32 bytes or more'
  }
  const before = await testApp({ ...shared, mfa: {} })
  t.teardown(before.close)
  const after = await testApp({ ...shared, mfa: { required: true }, clock: before.clock }, {}, (app) => {
    app.get(
      '/private',
      { onRequest: async (request, reply) => await app.requireUser(request, reply) },
      async () => 'private'
    )
  })
  t.teardown(after.close)
  await signUp(before.app)
  const first = testBrowser(before.app)
  await logIn(first)
  t.equal((await first.get('/auth/account')).statusCode, 200)
  const { refresh_token: refresh } = await signIn(before.app)

  const ann = testBrowser(after.app)
  for (const [name, value] of first.cookies) ann.cookies.set(name, value)
  t.match(await ann.get('/auth/account'), { statusCode: 303, headers: { location: /^\/auth\/login/ } })
  t.equal((await ann.get('/private', { 'sec-fetch-site': 'same-origin' })).statusCode, 401)
  const again = await logIn(ann)
  t.match(again.headers.location, /^\/auth\/second-factor\/set-up/)
  t.equal(
    (await after.app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })).statusCode,
    200,
    'tokens that were issued before go on'
  )
})

t.test('keeps the session of a remembered browser if a second factor is required', async (t) => {
  let required = false
  const { app, code } = await factorApp(t, { mfa: { required: () => required, rememberDevice: {} } })
  required = true
  const ann = testBrowser(app)
  await logIn(ann)
  const { action } = formOf((await ann.get('/auth/second-factor')).body)
  t.equal((await ann.submit(action, { code: code(), remember: 'on' })).statusCode, 303)
  ann.cookies.delete(cookieName('session'))
  t.equal((await logIn(ann)).headers.location, '/', 'it is not asked for the factor')
  t.equal((await ann.get('/auth/account')).statusCode, 200)
})

t.test('offers authenticator apps on the security page only if mfa.methods has them', async (t) => {
  for (const methods of [[], ['totp'], ['passkey']] as Array<Array<'totp' | 'passkey'>>) {
    const { app } = await factorApp(t, { mfa: { methods } }, { enrolled: false })
    const browser = testBrowser(app)
    await logIn(browser)
    const { body } = await browser.get('/auth/security')
    t.equal(body.includes('/auth/security/totp'), methods.includes('totp'), methods.join(' '))
  }
})
