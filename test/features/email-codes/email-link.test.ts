/** The link of a sign-in message: opening it signs nobody in, and it works in no other browser. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { Type } from '@sinclair/typebox'
import { type LightMyRequestResponse, PASSWORD, testApp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { formOf, logIn } from '../../support/factors.ts'
import { secondFactorOf } from '../../support/second-factor.ts'
import { answerOf, authorizePath, CALLBACK, CLIENTS, KEYS, redeem } from '../../support/openid.ts'
import { ANN, ask, emailApp, type EmailApp, enter, hasSession, PAGE, STRANGER } from './support.ts'

/** The request of a mail program's browser. */
async function press(browser: TestBrowser, url: string): Promise<LightMyRequestResponse> {
  const { action, fields } = formOf((await browser.get(url)).body)
  return await browser.submit(action, fields, { origin: 'null' })
}

// covers EC-01 EC-02
t.test('signs nobody in on opening a link, and shows a button only in the browser that asked', async (t) => {
  const subject = await emailApp(t)
  await ask(subject.browser)
  const { url } = await subject.mail()
  const scanner = testBrowser(subject.app)
  for (const browser of [scanner, subject.browser]) {
    for (let time = 0; time < 3; time++) t.equal((await browser.get(url)).statusCode, 200)
    t.equal(
      (await subject.app.inject({ method: 'HEAD', url: url.slice('http://localhost:3000'.length) })).statusCode,
      200
    )
    t.equal((await browser.get(url, { 'sec-purpose': 'prefetch' })).statusCode, 200)
    t.notOk(hasSession(browser))
  }
  const elsewhere = await scanner.get(url)
  t.match(elsewhere.body, /only in the browser where you asked for it/)
  t.notMatch(elsewhere.body, /<form/)
  t.notMatch(elsewhere.body, new RegExp(ANN), 'it does not say whose it is')
  const token = new URL(url).searchParams.get('token') ?? ''
  t.equal((await scanner.submit('/auth/email-link', { token })).statusCode, 200, 'pressed all the same')
  t.notOk(hasSession(scanner))
  const page = await subject.browser.get(url)
  t.match(page.headers['referrer-policy'], 'origin')
  t.match(page.body, /class="chip" title="ann@mail.example/)
  const done = await press(subject.browser, url)
  t.equal(done.statusCode, 303)
  t.equal(done.headers.location, '/')
  t.ok(hasSession(subject.browser))
  t.notOk((await subject.browser.get(url)).body.includes('<form'), 'and once')
})

t.test('shows no button in a browser that asked for another code', async (t) => {
  const subject = await emailApp(t)
  await ask(subject.browser)
  const { url } = await subject.mail()
  const victim = testBrowser(subject.app)
  await ask(victim, STRANGER)
  t.notMatch((await victim.get(url)).body, /<form/)
  t.equal(
    (await victim.submit('/auth/email-link', { token: new URL(url).searchParams.get('token') ?? '' })).statusCode,
    200
  )
  t.notOk(hasSession(victim))
})

for (const [what, token] of [
  ['made up', 'x'.repeat(64)],
  ['empty', ''],
  ['huge', 'x'.repeat(5000)],
  ['of another kind', 'v1.aaaaaaaa.bbbb.cccc']
] as const) {
  t.test(`shows an error page with a link to a new code for a link that is ${what}`, async (t) => {
    const subject = await emailApp(t)
    const reply = await subject.browser.get(`/auth/email-link?token=${token}`)
    t.equal(reply.statusCode, 400)
    t.match(reply.body, /href="\/auth\/email-code"/)
  })
}

t.test('expires a link with its code, or when a newer one is sent', async (t) => {
  const subject = await emailApp(t)
  await ask(subject.browser)
  const first = await subject.mail()
  await ask(subject.browser)
  const second = await subject.mail()
  t.notMatch((await subject.browser.get(first.url)).body, /<form/)
  t.match((await subject.browser.get(second.url)).body, /<form/)
  subject.clock.step(600_000)
  t.equal((await subject.browser.get(second.url)).statusCode, 400)
})

// covers ADV-GHSA-3529-5m8x-rpv3
t.test('builds the link with the issuer, regardless of the Host header', async (t) => {
  const subject = await emailApp(t)
  await subject.browser.submit(PAGE, { username: ANN }, { host: 'evil.example', 'x-forwarded-host': 'evil.example' })
  t.ok((await subject.mail()).url.startsWith('http://localhost:3000/auth/email-link?token='))
})

t.test('sends only a code when links are disabled', async (t) => {
  const subject = await emailApp(t, { emailSignIn: { link: false } })
  await ask(subject.browser)
  t.match(await subject.messages.next('sign_in_code'), { url: undefined, token: undefined })
})

async function oidcApp(t: Parameters<typeof emailApp>[0], options = {}): Promise<EmailApp> {
  return await emailApp(t, { clients: CLIENTS, keys: KEYS, ...options })
}

t.test('continues the authorization request of a client after a code and after a link', async (t) => {
  for (const by of ['code', 'link']) {
    const subject = await oidcApp(t)
    const { browser } = subject
    const login = await browser.follow(await browser.get(authorizePath({ ui_locales: 'de', nonce: 'n' })))
    t.match(login.reply.body, /formaction="\/auth\/email-code\?client_id=spa/)
    const query = new URL(login.url).search
    const asked = await ask(browser, ANN, query)
    t.equal(asked.headers.location, `${PAGE}${query}`)
    const { code, url } = await subject.mail()
    const page = await browser.get(by === 'code' ? `${PAGE}${query}` : url)
    t.match(page.headers['content-security-policy'], /form-action 'self' https:\/\/app.example/)
    t.match(page.body, /<html lang="de"/)
    const done = await browser.follow(by === 'code' ? await enter(browser, code, query) : await press(browser, url))
    t.ok(done.url.startsWith(CALLBACK), done.url)
    const tokens = (await redeem(subject.app, answerOf(done.url)['code'] ?? '')).json<{ id_token: string }>()
    const claims = JSON.parse(Buffer.from(tokens.id_token.split('.')[1] ?? '', 'base64url').toString()) as Record<
      string,
      unknown
    >
    t.match(claims, { sub: subject.sub, acr: 'email', amr: ['email'], nonce: 'n' })
  }
})

t.test('rejects the code of one authorization request in another', async (t) => {
  const subject = await oidcApp(t)
  const login = await subject.browser.follow(await subject.browser.get(authorizePath()))
  await ask(subject.browser, ANN, new URL(login.url).search)
  const { code } = await subject.mail()
  t.equal((await enter(subject.browser, code)).statusCode, 400)
  t.notOk(hasSession(subject.browser))
})

t.test('answers prompt=none without a page, and rejects an emailed code for acr_values=password', async (t) => {
  const subject = await oidcApp(t)
  const { browser } = subject
  t.equal(
    answerOf((await browser.follow(await browser.get(authorizePath({ prompt: 'none' })))).url)['error'],
    'login_required'
  )
  await ask(browser)
  await enter(browser, (await subject.mail()).code)
  t.ok(answerOf((await browser.follow(await browser.get(authorizePath({ prompt: 'none' })))).url)['code'])
  t.notOk(
    answerOf((await browser.follow(await browser.get(authorizePath({ prompt: 'none', acr_values: 'password' })))).url)[
      'code'
    ]
  )
})

// covers EC-10
t.test('sign-up: creates the account only after the correct code', async (t) => {
  const users = memoryUserStore()
  const subject = await emailApp(t, { users, emailSignIn: { signUp: true } })
  const { browser, app } = subject
  await ask(browser, STRANGER)
  const { code } = await subject.mail()
  t.equal(await users.findByUsername(STRANGER), null)
  await enter(browser, '00000000')
  t.equal(await users.findByUsername(STRANGER), null)
  const done = await enter(browser, code)
  t.equal(done.statusCode, 303)
  t.ok(hasSession(browser))
  t.match(await users.findByUsername(STRANGER), {
    username: STRANGER,
    email: STRANGER,
    emailVerified: true,
    passwordHash: null
  })
  t.match(subject.events.findLast(({ name }) => name === 'registered')?.payload, { username: STRANGER })
  const token = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: STRANGER, password: '' }
  })
  t.equal(token.statusCode, 400)
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: STRANGER, password: PASSWORD }
      })
    ).json<{ error: string }>().error,
    'invalid_grant'
  )
})

t.test('sign-up: asks for the required fields after the correct code, and creates one account', async (t) => {
  const users = memoryUserStore()
  const subject = await testApp({
    users,
    emailSignIn: { signUp: true },
    registration: {
      username: 'email',
      fields: Type.Object({ nickname: Type.Optional(Type.String()), age: Type.Integer({ minimum: 18 }) })
    }
  })
  t.teardown(subject.close)
  const browser = testBrowser(subject.app)
  await ask(browser, STRANGER)
  t.equal((await browser.submit(PAGE, { age: '20' })).statusCode, 400, 'before anything is proved')
  await enter(browser, (await subject.messages.next('sign_in_code')).code)
  t.notOk(hasSession(browser))
  t.equal(await users.findByUsername(STRANGER), null)
  const page = await browser.get(PAGE)
  t.match(page.body, /name="age" type="number"/)
  t.notMatch(page.body, /nickname|name="password"/)
  t.equal((await browser.submit(PAGE, { age: '17' })).statusCode, 400)
  const cookies = new Map(browser.cookies)
  const replies = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const one = testBrowser(subject.app)
      for (const [name, value] of cookies) one.cookies.set(name, value)
      return await one.submit(PAGE, { age: '18', emailVerified: 'true', id: 'x' })
    })
  )
  t.equal(replies.filter(({ statusCode }) => statusCode === 303).length, 1)
  t.match(await users.findByUsername(STRANGER), { age: 18, passwordHash: null, emailVerified: true })
  t.equal(
    (await browser.submit(PAGE, { age: '18' })).statusCode,
    400,
    'the proof makes no second account and no second session'
  )
  t.notOk(hasSession(browser))
})

t.test(
  'lets a user without a password delete the account after a fresh code, and a second factor if they have one',
  async (t) => {
    const subject = await emailApp(t, { emailSignIn: { signUp: true }, factors: memoryFactorStore() })
    const { browser, clock } = subject
    const signInAs = async (): Promise<LightMyRequestResponse> => {
      await ask(browser, STRANGER)
      return await enter(browser, (await subject.mail()).code)
    }
    await signInAs()
    const page = async (): Promise<string> => (await browser.get('/auth/account/remove')).body
    const { action } = formOf(await page())
    t.match(action, /^\/auth\/account\/remove/)
    t.match((await browser.get('/auth/account/password')).body, /Your account has no password/)
    clock.step(301_000)
    t.match(await page(), /It’s been a while/)
    t.equal((await browser.submit(action)).statusCode, 401)
    t.not(await subject.users.findByUsername(STRANGER), null)
    await signInAs()
    t.notMatch(await page(), /It’s been a while/)
    const { codes } = await secondFactorOf(subject, browser)
    clock.step(301_000)
    t.match(await page(), /It’s been a while/)
    t.equal((await signInAs()).headers.location, '/auth/second-factor')
    await browser.submit('/auth/second-factor', { recovery_code: codes[0] ?? '' })
    t.notMatch(await page(), /It’s been a while/)
    const removed = await browser.submit(formOf(await page()).action)
    t.ok([200, 303].includes(removed.statusCode), String(removed.statusCode))
    t.equal(await subject.users.findByUsername(STRANGER), null)
  }
)

t.test('starts a separate session for a code used while another user is signed in', async (t) => {
  const subject = await emailApp(t, { emailSignIn: { signUp: true } })
  await logIn(subject.browser, ANN)
  const former = subject.browser.cookies.get(cookieName('session'))
  await ask(subject.browser, STRANGER)
  t.equal(subject.browser.cookies.get(cookieName('session')), former, 'until the code was right Ann stays signed in')
  await enter(subject.browser, (await subject.mail()).code)
  t.not(subject.browser.cookies.get(cookieName('session')), former)
})
