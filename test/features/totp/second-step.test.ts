/** After a right password, every sign-in asks for the second factor. Before that, nobody is signed in. */
import { cookieName } from '../../support/cookies.ts'
import type { FastifyInstance } from 'fastify'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { altered } from '../../support/altered.ts'
import { ISSUER, PASSWORD, signIn, signUp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { connectApp } from '../../http/connect/support.ts'
import { codeFor, enrol, factorApp, formOf, logIn, signedInAnywhere } from '../../support/factors.ts'

const NEXT = 'a better horse battery'
const STEP = /^authority_step_[\w-]{8}=/
function browserWith(app: FastifyInstance, ticket: string): TestBrowser {
  const browser = testBrowser(app)
  browser.cookies.set(cookieName('step'), ticket)
  return browser
}
const cookies = (reply: { headers: Record<string, unknown> }): string[] =>
  [reply.headers['set-cookie'] ?? []].flat().map(String)

t.test('keeps the pending second step after a visit from another site', async (t) => {
  const subject = await factorApp(t)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  for (const page of [
    '/auth/second-factor/set-up',
    '/auth/second-factor',
    '/auth/login',
    '/auth/email-code',
    '/auth/passkey-prompt',
    '/auth/reauthenticate',
    '/auth/security'
  ]) {
    const reply = await browser.get(page, { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })
    t.same(
      cookies(reply).filter((cookie) => STEP.test(cookie)),
      [],
      page
    )
  }
  t.equal((await browser.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
  t.ok(browser.cookies.has(cookieName('session')))
})

// covers SF-01 ADV-GHSA-xg6x-h9c9-2m83
t.test('begins no session and issues no code or token for the right password alone', async (t) => {
  const subject = await factorApp(t)
  subject.events.length = 0
  const browser = testBrowser(subject.app)
  const reply = await logIn(browser)
  t.equal(reply.statusCode, 303)
  t.equal(reply.headers.location, '/auth/second-factor')
  t.notOk(
    cookies(reply).some((cookie) => cookie.startsWith(cookieName('session'))),
    'no cookie of a session'
  )
  t.match(
    cookies(reply).find((cookie) => STEP.test(cookie)),
    /; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/
  )
  t.same(await signedInAnywhere(browser), [])
  t.same(
    subject.events.map(({ name }) => name).filter((name) => name !== 'message_sent'),
    ['second_factor_required']
  )
  t.same((await subject.app.authority.sessions(subject.sub)).length, 1, 'that of the browser in which it was set up')

  const page = await browser.get('/auth/second-factor')
  t.equal(page.statusCode, 200)
  t.match(page.body, /autocomplete="one-time-code" inputmode="numeric"/)
  t.match(page.headers['cache-control'], /no-store/)
  const done = await browser.submit(formOf(page.body).action, { code: subject.code() })
  t.equal(done.statusCode, 303)
  t.ok(cookies(done).some((cookie) => cookie.startsWith(`${cookieName('session')}=`)))
  t.ok(
    cookies(done).some((cookie) => cookie.startsWith(`${cookieName('step')}=; Max-Age=0`)),
    'the ticket is taken back'
  )
  t.same(
    subject.events.map(({ name }) => name).filter((name) => name !== 'message_sent'),
    ['second_factor_required', 'authenticated', 'new_sign_in']
  )
  t.match(subject.events.find(({ name }) => name === 'authenticated')?.payload, {
    method: 'password',
    methods: ['password', 'otp']
  })
  t.equal((await browser.get('/auth/account')).statusCode, 200)
})

// covers SF-02
t.test('accepts a pending second step for its own purpose, user and password, for ten minutes', async (t) => {
  const subject = await factorApp(t)
  const { app, clock } = subject
  const stepOf = async (): Promise<string> =>
    cookies(await logIn(testBrowser(app)))
      .find((cookie) => STEP.test(cookie))
      ?.split(';')[0]
      ?.slice(`${cookieName('step')}=`.length) ?? ''
  const give = async (ticket: string, fields: Record<string, string>) =>
    await browserWith(app, ticket).submit('/auth/second-factor', fields)
  const toLogin = { statusCode: 303, headers: { location: '/auth/login' } }

  const { json } = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  })
  const { mfa_token: grantTicket } = json<{ mfa_token: string }>()
  t.match(await give(grantTicket, { code: subject.code() }), toLogin, 'that of the token endpoint')
  const ticket = await stepOf()
  t.match(await give('', { code: subject.code() }), toLogin, 'none')
  t.match(await give(altered(ticket), { code: subject.code() }), toLogin, 'changed')
  t.match(await give(ticket.repeat(50), { code: subject.code() }), toLogin, 'huge')
  clock.step(599_999)
  t.match(await browserWith(app, ticket).get('/auth/second-factor'), { statusCode: 200 })
  clock.step(1)
  t.match(
    await browserWith(app, ticket).get('/auth/second-factor?return_to=/cart'),
    { statusCode: 303, headers: { location: '/auth/login?return_to=%2Fcart' } },
    'too old: the journey begins again'
  )
  t.match(await give(ticket, { code: subject.code() }), toLogin)

  const before = await stepOf()
  await app.authority.changePassword(subject.sub, NEXT)
  t.match(await give(before, { code: subject.code() }), toLogin, 'the password is another one')
  t.same(await app.authority.sessions(subject.sub), [])
})

t.test('limits the second step to the lifetime of the session, and does not use up a late code', async (t) => {
  const toLogin = { statusCode: 303, headers: { location: '/auth/login' } }
  const short = await factorApp(t, { session: { expiresIn: 120 } })
  const { app, clock } = short
  const browser = testBrowser(app)
  await logIn(browser)
  clock.step(119_999)
  t.equal((await browser.submit('/auth/second-factor', { code: short.code() })).statusCode, 303)
  t.not((await signedInAnywhere(browser)).length, 0, 'in the last moment')
  clock.step(1)
  t.same(await signedInAnywhere(browser), [])
  await logIn(browser)
  clock.step(90_000)
  t.equal((await browser.get('/auth/second-factor')).statusCode, 200)
  clock.step(30_000)
  const code = short.code()
  t.match(await browser.submit('/auth/second-factor', { code }), toLogin, 'it took too long')
  await logIn(browser)
  t.match(await browser.submit('/auth/second-factor', { code }), { statusCode: 303, headers: { location: '/' } })
  t.not((await signedInAnywhere(browser)).length, 0)

  const asked = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  })
  clock.step(599_999)
  const finished = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: {
      grant_type: 'urn:fastify-authority:grant-type:mfa',
      mfa_token: asked.json<{ mfa_token: string }>().mfa_token,
      otp: short.code()
    }
  })
  t.equal(finished.statusCode, 200, 'a token family has a time of its own')

  const owing = await factorApp(t, { session: { expiresIn: 120 }, mfa: { required: true } }, { enrolled: false })
  await logIn(owing.browser)
  owing.clock.step(119_999)
  t.equal((await owing.browser.get('/auth/second-factor/set-up')).statusCode, 200)
  owing.clock.step(1)
  t.match(await owing.browser.get('/auth/second-factor/set-up'), toLogin)
})

// covers SF-02 ADV-CVE-2025-10908
t.test('rejects a disabled account at the second step', async (t) => {
  const users = memoryUserStore()
  let disabled = false
  const subject = await factorApp(t, {
    users: {
      ...users,
      findById: async (id) => {
        const user = await users.findById(id)
        return user === null ? null : { ...user, disabled }
      }
    }
  })
  const browser = testBrowser(subject.app)
  await logIn(browser)
  disabled = true
  t.match(await browser.submit('/auth/second-factor', { code: subject.code() }), {
    statusCode: 303,
    headers: { location: '/auth/login' }
  })
  t.same(await signedInAnywhere(browser), [])
})

// covers SF-02 ADV-YSA-2026-02 ADV-CVE-2025-64175 RC-03
t.test('rejects the factor of another user at the second step', async (t) => {
  const subject = await factorApp(t)
  const { app } = subject
  await signUp(app, 'bob')
  const bobs = testBrowser(app)
  await logIn(bobs, 'bob')
  const bob = await enrol(subject, bobs)
  subject.clock.step(30_000)
  const browser = testBrowser(app)
  await logIn(browser)
  t.match(await browser.submit('/auth/second-factor', { code: codeFor(bob.secret, subject.clock.now()) }), {
    statusCode: 400
  })
  t.match(await browser.submit('/auth/second-factor', { recovery_code: bob.codes[0] ?? '' }), { statusCode: 400 })
  t.same(await signedInAnywhere(browser), [])
  const own = testBrowser(app)
  await logIn(own, 'bob')
  t.equal(
    (await own.submit('/auth/second-factor', { recovery_code: bob.codes[0] ?? '' })).statusCode,
    303,
    'and is not used up by that'
  )
})

// covers TOTP-03 TOTP-04 TOTP-05 ADV-CVE-2026-27855
t.test('accepts a code once across the page and the token endpoint, and no earlier code', async (t) => {
  const subject = await factorApp(t)
  const give = async (code: string): Promise<number> => {
    const browser = testBrowser(subject.app)
    await logIn(browser)
    return (await browser.submit('/auth/second-factor', { code })).statusCode
  }
  t.equal(await give(subject.code(-1)), 400, 'that of the enrolment')
  t.match(subject.events.at(-1), { name: 'second_factor_failed', payload: { reason: 'replayed' } })
  const code = subject.code()
  t.equal(await give(subject.code(1)), 400, 'one of the next step')
  subject.clock.step(30_000)
  t.equal(await give(subject.code()), 303)
  t.equal(await give(subject.code()), 400)
  t.equal(await give(code), 400, 'and one of before it')
  const { mfa_token: mfaToken } = (
    await subject.app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
    })
  ).json<{ mfa_token: string }>()
  t.match(
    (
      await subject.app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'urn:fastify-authority:grant-type:mfa', mfa_token: mfaToken, otp: subject.code() }
      })
    ).json(),
    { error: 'invalid_grant' }
  )
})

// covers TOTP-06 RC-02 ADV-GHSA-4hf6-3x24-c9m8 ADV-CVE-2026-31875 ADV-KC-26106 ASVS-6.5.1 ASVS-2.3.4
t.test('accepts one of fifty parallel uses of an app code and of a recovery code', async (t) => {
  const subject = await factorApp(t)
  const race = async (fields: Record<string, string>): Promise<number> => {
    const browsers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const browser = testBrowser(subject.app)
        await logIn(browser)
        return browser
      })
    )
    const replies = await Promise.all(
      browsers.map(async (browser) => await browser.submit('/auth/second-factor', fields))
    )
    return replies.filter(({ statusCode }) => statusCode === 303).length
  }
  t.equal(await race({ code: subject.code() }), 1)
  t.equal(await race({ recovery_code: subject.codes[0] ?? '' }), 1)
  t.equal((await subject.app.authority.sessions(subject.sub)).length, 3)
})

// covers TOTP-07 SF-01
t.test('answers 503 during a store outage, and signs nobody in without the factor', async (t) => {
  const subject = await factorApp(t)
  const { app, broken } = subject
  const late = testBrowser(app)
  await logIn(late)
  broken.add('findFactors')
  for (const username of ['ann', 'nobody']) {
    const browser = testBrowser(app)
    t.equal((await logIn(browser, username)).statusCode, 503, username)
    t.equal((await logIn(browser, username, 'not the password')).statusCode, 503, 'whatever the password is')
    t.same(await signedInAnywhere(browser), [])
    t.match(
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username, password: PASSWORD }
      }),
      { statusCode: 503 }
    )
  }
  t.equal((await late.submit('/auth/second-factor', { code: subject.code() })).statusCode, 503)
  broken.clear()
  broken.add('useTotp').add('useRecoveryCode')
  t.equal((await late.submit('/auth/second-factor', { code: subject.code() })).statusCode, 503)
  t.equal((await late.submit('/auth/second-factor', { recovery_code: subject.codes[0] ?? '' })).statusCode, 503)
  broken.clear()
  t.same(await signedInAnywhere(late), [])
  t.equal(
    (await late.submit('/auth/second-factor', { code: subject.code() })).statusCode,
    303,
    'the code is as good as before'
  )
})

// covers SF-03
t.test('asks for the second factor in a password sign-in that races its set-up', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, store } = subject
  const owner = testBrowser(app)
  await logIn(owner)
  // The owner adds a factor after the thief's request has read that there is none.
  const thief = testBrowser(app)
  const answered = store.findFactors.bind(store)
  let hold: (() => Promise<void>) | null = async () => {
    hold = null
    await enrol(subject, owner)
  }
  store.findFactors = async (userId) => {
    const found = await answered(userId)
    await hold?.()
    return found
  }
  const reply = await logIn(thief)
  t.equal(reply.headers.location, '/auth/second-factor')
  t.notOk(
    cookies(reply).some((cookie) => cookie.startsWith(`${cookieName('session')}=`)),
    'no session'
  )
  t.same(await signedInAnywhere(thief), [])
  t.equal((await app.authority.sessions(subject.sub)).length, 1)
})

// covers SF-03
t.test('begins no session if the factors are reset after a code was accepted', async (t) => {
  const subject = await factorApp(t)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  const use = subject.store.useTotp.bind(subject.store)
  subject.store.useTotp = async (given) => {
    const used = await use(given)
    await subject.store.removeFactorsOfUser(subject.sub)
    return used
  }
  t.match(await browser.submit('/auth/second-factor', { code: subject.code() }), {
    statusCode: 303,
    headers: { location: '/auth/login' }
  })
  t.same(await signedInAnywhere(browser), [])
})

// covers SF-04
t.test('gives the session a new secret after the second step if another user was signed in', async (t) => {
  const subject = await factorApp(t)
  const { app } = subject
  await signUp(app, 'bob')
  const browser = testBrowser(app)
  await logIn(browser, 'bob')
  const former = browser.cookies.get(cookieName('session'))
  await logIn(browser)
  t.equal(browser.cookies.get(cookieName('session')), former, 'BA-9203: until it is done, the former session goes on')
  t.match((await browser.get('/auth/account')).body, /bob/)
  await browser.submit('/auth/second-factor', { code: subject.code() })
  t.not(browser.cookies.get(cookieName('session')), former)
  t.match((await browser.get('/auth/account')).body, /ann/)
})

// covers SF-06 TOTP-13
t.test('continues to return_to after the second step, and shows mistakes on its page', async (t) => {
  const subject = await factorApp(t)
  const browser = testBrowser(subject.app)
  t.equal(
    (await logIn(browser, 'ann', PASSWORD, '?return_to=/cart&ui_locales=de')).headers.location,
    '/auth/second-factor?return_to=%2Fcart&ui_locales=de'
  )
  const page = await browser.get('/auth/second-factor?return_to=/cart')
  const { action } = formOf(page.body)
  for (const [fields, text] of [
    [{}, 'Please fill in this field.'],
    [{ code: '12345' }, 'The code has 6 digits.'],
    [{ recovery_code: 'abc' }, 'This recovery code is wrong'],
    [{ code: '000000' }, 'This code is wrong.']
  ] as const) {
    const reply = await browser.submit(action, fields)
    t.equal(reply.statusCode, 400)
    t.match(reply.body, text)
  }
  const code = subject.code()
  t.match(await browser.submit(action, { code: ` ${code.slice(0, 3)} ${code.slice(3)}` }), {
    statusCode: 303,
    headers: { location: '/cart' }
  })
})

t.test('rejects second-step forms of another site without counting them as guesses', async (t) => {
  const subject = await factorApp(t, { rateLimit: {} })
  const browser = testBrowser(subject.app)
  await logIn(browser)
  for (let n = 0; n < 9; n++)
    t.equal(
      (
        await browser.submit(
          '/auth/second-factor',
          { code: '000000' },
          { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
        )
      ).statusCode,
      403
    )
  t.equal((await browser.submit('/auth/second-factor', { code: subject.code() })).statusCode, 303)
})

t.test('issues tokens to the host without a second factor, and claims only the amr that it passed', async (t) => {
  const subject = await factorApp(t)
  const { access_token: token } = await subject.app.authority.issueTokens(subject.sub, { amr: ['pwd'] })
  t.match(await subject.app.authority.verify(token), { acr: 'password', amr: ['pwd'] })
  t.ok(await subject.app.authority.verifyPassword('ann', PASSWORD), 'a password is looked at alone')
})

t.test('registers no pages and signs in by the password alone without the factors option', async (t) => {
  const subject = await factorApp(t, { factors: undefined }, { enrolled: false })
  t.equal((await subject.app.inject('/auth/second-factor')).statusCode, 404)
  t.equal((await subject.app.inject('/auth/security')).statusCode, 404)
  t.ok(await signIn(subject.app))
  t.notMatch((await testBrowser(subject.app).get('/auth/login')).body, /second/)
  t.equal(new URL(ISSUER).protocol, 'http:')
})

t.test('begins no session if the identity link is removed between the provider and the second step', async (t) => {
  const subject = await connectApp(t, { factors: memoryFactorStore() })
  const { app, clock, browser } = subject
  await subject.through()
  const sub = (await subject.who()) ?? ''
  const { secret } = await enrol(subject, browser)
  await app.authority.changePassword(sub, NEXT)
  for (const isThere of [true, false]) {
    clock.step(30_000)
    const other = testBrowser(app)
    await subject.through('', other)
    t.equal(await subject.who(other), null)
    if (!isThere)
      t.equal(await app.authority.unlinkIdentity(sub, (await app.authority.identities(sub))[0]?.id ?? ''), 'unlinked')
    const reply = await other.submit('/auth/second-factor', { code: codeFor(secret, clock.now()) })
    t.equal(await subject.who(other), isThere ? sub : null)
    t.equal(String(reply.headers.location).startsWith('/auth/login'), !isThere)
  }
})
