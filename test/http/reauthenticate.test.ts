/** Who is signed in proves anew that it is them, with all that the account takes, and as nobody else. */
import t from 'tap'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { factorApp, formOf, logIn } from '../support/factors.ts'

const page = (returnTo: string): string => `/auth/reauthenticate?return_to=${encodeURIComponent(returnTo)}`
async function post (browser: TestBrowser, url: string, fields: Record<string, string>) {
  const { body } = await browser.get(url)
  return await browser.submit(formOf(body).action, fields)
}

// covers ASVS-7.5.1 ASVS-7.2.4
t.test('the password of who is signed in, a new secret, and back to where it was asked for', async (t) => {
  const subject = await testApp({}, {}, (app) => {
    app.get('/pay', { onRequest: [(...args) => { app.authority.requireSession({ maxAge: 300 })(...args) }] }, async (request) => request.authSession)
  })
  t.teardown(subject.close)
  const { app, clock, events } = subject
  await signUp(app)
  await signUp(app, 'bob')
  const browser = testBrowser(app)
  t.match(await browser.get(page('/pay')), { statusCode: 303, headers: { location: '/auth/login?return_to=%2Fpay' } }, 'nobody is signed in')
  await logIn(browser)
  clock.step(301_000)
  const led = await browser.get('/pay')
  t.match(led, { statusCode: 303, headers: { location: '/auth/reauthenticate?return_to=%2Fpay' } })
  const shown = await browser.get(String(led.headers.location))
  t.equal(shown.statusCode, 200)
  t.match(shown.body, /<bdi>ann<\/bdi>|>ann</)
  t.notMatch(shown.body, /name="username"/, 'no name can be typed')
  const { action } = formOf(shown.body)
  t.match(await browser.submit(action, { current_password: 'wrong password' }), { statusCode: 400 })
  t.equal((await browser.get('/pay')).statusCode, 303)
  const before = browser.cookies.get('authority_session')
  t.match(await browser.submit(action, { current_password: PASSWORD, username: 'bob' }), { statusCode: 303, headers: { location: '/pay' } })
  t.not(browser.cookies.get('authority_session'), before)
  const [sid] = (before ?? '').split('.')
  t.match((await browser.get('/pay')).json(), { authenticatedAt: new Date(clock.now()).toISOString(), acr: 'password' }, 'still Ann')
  t.match(events.filter(({ name }) => name === 'step_up').map(({ payload }) => payload), [{ methods: ['password'], sid: String }])
  const old = testBrowser(app)
  old.cookies.set('authority_session', before ?? '')
  t.equal((await old.get('/auth/account')).statusCode, 303, 'the secret of before opens nothing')
  t.ok(sid)

  for (const elsewhere of ['https://evil.example/', '//evil.example', '/\\evil.example', '/\t/evil.example', 'javascript:alert(1)', '']) {
    t.match((await post(browser, page(elsewhere), { current_password: PASSWORD })).headers.location, /^\/$/, elsewhere)
  }
  const other = await browser.submit(action, { current_password: PASSWORD }, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })
  t.equal(other.statusCode, 403)
  const { access_token: access } = await signIn(app)
  t.equal((await app.inject({ url: '/auth/reauthenticate', headers: bearer(access) })).statusCode, 303, 'an access token is no browser')
  await browser.submit('/auth/login?prompt=login', { username: 'bob', password: PASSWORD })
  t.match(await browser.submit(action, { current_password: PASSWORD }), { statusCode: 303, headers: { location: page('/pay') } }, 'shown to Ann, and Bob is signed in')
})

t.test('with a second factor both are asked for, in a remembered browser too, and until then nothing changes', async (t) => {
  const subject = await factorApp(t, { mfa: { rememberDevice: {} } })
  const browser = testBrowser(subject.app)
  await logIn(browser)
  await browser.submit('/auth/second-factor', { code: subject.code(), remember: 'on' })
  browser.cookies.delete('authority_session')
  subject.clock.step(301_000)
  t.match((await logIn(browser)).headers.location, '/', 'the browser is remembered')
  const security = await browser.get('/auth/security')
  const url = (/href="(\/auth\/reauthenticate[^"]*)"/.exec(security.body)?.[1] ?? '').replaceAll('&amp;', '&')
  t.match(url, page('/auth/security'))
  const session = browser.cookies.get('authority_session')
  const step = await post(browser, url, { current_password: PASSWORD })
  t.match(step, { statusCode: 303, headers: { location: '/auth/second-factor?return_to=%2Fauth%2Fsecurity' } })
  t.equal(browser.cookies.get('authority_session'), session, 'the session of now stays what it is')
  const done = await post(browser, String(step.headers.location), { code: subject.code() })
  t.match(done, { statusCode: 303, headers: { location: '/auth/security' } })
  t.match((await browser.get('/auth/security')).body, /name="decision"/, 'and now it can be changed')
  t.match(subject.events.filter(({ name }) => name === 'step_up').at(-1)?.payload, { methods: ['password', 'otp'] })
})

t.test('guesses count as those of a sign-in, and the host\'s own sign-in page is left alone', async (t) => {
  const subject = await testApp({ rateLimit: { login: { max: 3 } } })
  t.teardown(subject.close)
  await signUp(subject.app)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  const { action } = formOf((await browser.get(page('/'))).body)
  const statuses = []
  for (let guess = 0; guess < 3; guess++) statuses.push((await browser.submit(action, { current_password: `wrong ${guess}` })).statusCode)
  statuses.push((await browser.submit(action, { current_password: PASSWORD })).statusCode)
  t.same(statuses, [400, 400, 429, 429])
  const own = await testApp({ pages: { loginUrl: '/sign-in' } })
  t.teardown(own.close)
  t.equal((await own.app.inject('/auth/reauthenticate')).statusCode, 404)
  t.ok(ISSUER)
})
