import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { authorizePath, openidApp } from '../support/openid.ts'
import { ISSUER, PASSWORD } from '../support/app.ts'

const FOREIGN = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }

t.test('answers /auth/session with the signed-in user and without a token', async (t) => {
  const { app, browser, ann, close } = await openidApp()
  t.teardown(close)
  const nobody = await browser.get('/auth/session')
  t.equal(nobody.statusCode, 401)
  t.match(nobody.json(), { error: 'login_required' })

  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  for (const reply of [await browser.get('/auth/session'), await browser.submit('/auth/session')]) {
    t.equal(reply.statusCode, 200)
    t.same(reply.json(), { user: { sub: ann.sub, preferred_username: 'ann' }, expires_in: 300 })
    t.equal(reply.headers['cache-control'], 'no-store')
    t.notMatch(reply.body, /token/)
  }
  t.equal(
    (await app.inject({ url: '/auth/session', headers: { origin: 'https://evil.example', host: 'localhost:3000' } }))
      .headers['access-control-allow-origin'],
    undefined
  )
})

// covers ASVS-3.5.1
t.test('rejects extending or ending the session from another origin, and ends it from the issuer', async (t) => {
  const { browser, app, close } = await openidApp()
  t.teardown(close)
  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  for (const method of ['POST', 'DELETE'] as const) {
    for (const headers of [FOREIGN, { 'sec-fetch-site': 'same-site', origin: 'http://localhost:4000' }, {}]) {
      const reply = await app.inject({ method, url: '/auth/session', headers: { cookie, ...headers } })
      t.equal(reply.statusCode, 403, `${method} ${JSON.stringify(headers)}`)
      t.match(reply.json(), { error: 'access_denied' })
    }
  }
  t.equal((await browser.get('/auth/session')).statusCode, 200, 'and nothing has ended')
  const ended = await app.inject({ method: 'DELETE', url: '/auth/session', headers: { cookie, origin: ISSUER } })
  t.equal(ended.statusCode, 200)
  t.same(ended.json(), {})
  t.equal((await app.inject({ url: '/auth/session', headers: { cookie } })).statusCode, 401)
})

// covers ASVS-7.3.1
t.test('extends the session on POST but not on GET; ASVS-7.4.2 ends it when the host revokes the user', async (t) => {
  const { app, browser, clock, close, ann } = await openidApp({ session: { idleTimeout: 600 } })
  t.teardown(close)
  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  clock.step(599_000)
  t.match((await browser.get('/auth/session')).json(), { expires_in: 1 })
  t.match((await browser.submit('/auth/session')).json(), { user: { sub: ann.sub } })
  clock.step(599_000)
  t.equal((await browser.get('/auth/session')).statusCode, 200)
  clock.step(1000)
  t.equal((await browser.get('/auth/session')).statusCode, 401)

  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  await app.authority.revokeUser(ann.sub)
  t.equal((await browser.get('/auth/session')).statusCode, 401)
})

t.test('redirects a signed-in user from the sign-in page only when the address has a return_to', async (t) => {
  const users = memoryUserStore()
  const { browser, close, ann } = await openidApp({ users })
  t.teardown(close)
  t.equal((await browser.get('/auth/login?return_to=/cart')).statusCode, 200, 'nobody is signed in')
  await browser.submit('/auth/login', { username: 'ann', password: PASSWORD })
  const onward = await browser.get('/auth/login?return_to=/cart')
  t.equal(onward.statusCode, 303)
  t.equal(onward.headers.location, '/cart')
  t.equal((await browser.get('/auth/login')).statusCode, 200, 'from nowhere')
  t.equal(
    (await browser.get(authorizePath().replace('/authorize', '/login'))).statusCode,
    200,
    'from an authorization request, which wanted it'
  )
  const away = await browser.get('/auth/login?return_to=//evil.example')
  t.equal(away.headers.location, '/', 'and never to another site')
  const row = await users.findById(ann.sub)
  users.findById = async () => row && { ...row, disabled: true }
  t.equal((await browser.get('/auth/login?return_to=/cart')).statusCode, 200, 'a disabled user is not sent to and fro')
})
