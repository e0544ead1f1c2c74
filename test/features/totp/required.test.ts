/** If the host requires a second factor, a user without one sets one up before any session, code or token. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import {
  memoryFactorStore,
  memoryUserStore,
  memoryState,
  type AuthorityOptions,
  type MfaOptions
} from '../../../lib/index.ts'
import { sessionAs } from '../../../lib/testing/index.ts'
import { altered } from '../../support/altered.ts'
import { bearer, PASSWORD, signUp, testApp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { connectApp } from '../../http/connect/support.ts'
import {
  codeFor,
  factorApp,
  type FactorApp,
  formOf,
  logIn,
  saveCodes,
  signedInAnywhere,
  codesIn,
  codesPage,
  makesCodes
} from '../../support/factors.ts'
import { answerOf, authorizePath, CLIENTS, KEYS, redeem } from '../../support/openid.ts'
import { decodeJwt } from '../../support/jwt.ts'

const SET_UP = '/auth/second-factor/set-up'
const OPTIONS: Partial<AuthorityOptions> = { keys: KEYS, clients: CLIENTS }
const cookies = (reply: { headers: Record<string, unknown> }): string[] =>
  [reply.headers['set-cookie'] ?? []].flat().map(String)
const bare = async (
  t: { teardown(close: () => Promise<void>): void },
  required: MfaOptions['required'] = true,
  options: Partial<AuthorityOptions> = {}
): Promise<FactorApp> => await factorApp(t, { ...OPTIONS, mfa: { required }, ...options }, { enrolled: false })
const grant = async ({ app }: Pick<FactorApp, 'app'>, payload: Record<string, string> = {}) =>
  await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD, ...payload }
  })

/** The content of a browser's page, and how to send its form with the code that the app shows. */
async function shown(subject: Pick<FactorApp, 'clock'>, browser: TestBrowser, url = SET_UP) {
  const page = await browser.get(url)
  const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(page.body)?.[1] ?? '').replaceAll(' ', '')
  const { action, fields } = formOf(page.body)
  return {
    page,
    secret,
    fields,
    action,
    send: async (over: Record<string, string> = {}, headers: Record<string, string> = {}) =>
      await browser.submit(
        action,
        { ...fields, code: codeFor(secret, subject.clock.now()), name: '', ...over },
        headers
      )
  }
}

// covers SF-01 ASVS-6.3.3
t.test('leads a sign-in to the set-up of a required factor, and begins no session before that', async (t) => {
  const subject = await bare(t)
  const { app, sub } = subject
  subject.events.length = 0
  const browser = testBrowser(app)
  const reply = await logIn(browser, 'ann', PASSWORD, '?return_to=/cart')
  t.equal(reply.headers.location, `${SET_UP}?return_to=%2Fcart`)
  t.notOk(
    cookies(reply).some((cookie) => cookie.startsWith(`${cookieName('session')}=`)),
    'no session'
  )
  t.same(await signedInAnywhere(browser), [])
  t.same(await app.authority.sessions(sub), [])
  t.same(
    subject.events.map(({ name }) => name),
    ['enrolment_required']
  )
  const other = testBrowser(app)
  other.cookies.set(cookieName('step'), browser.cookies.get(cookieName('step')) ?? '')
  t.match(
    await other.get('/auth/second-factor'),
    { statusCode: 303, headers: { location: '/auth/login' } },
    'its ticket is none of the other page'
  )
  t.match((await browser.get(authorizePath())).headers.location, /^\/auth\/login\?/)

  const { page, send } = await shown(subject, browser, `${SET_UP}?return_to=/cart`)
  t.match(page.body, 'Your account needs one to keep it safe.')
  t.match(page.headers['cache-control'], /no-store/)
  t.match(await send({ code: '000000' }), { statusCode: 400, body: /This code is wrong/ })
  t.match(
    await app.authority.factors(sub),
    { factors: [], recoveryCodesLeft: 0 },
    'nothing is stored before a code was right'
  )
  const done = await send()
  t.ok(makesCodes(done))
  t.ok(cookies(done).some((cookie) => cookie.startsWith(`${cookieName('session')}=`)))
  t.ok(cookies(done).some((cookie) => cookie.startsWith(`${cookieName('step')}=; Max-Age=0`)))
  t.match(subject.events.find(({ name }) => name === 'authenticated')?.payload, {
    method: 'password',
    methods: ['password', 'otp']
  })
  const made = await codesPage(browser, done)
  t.equal(codesIn(made).length, 10)
  t.same(codesIn((await send()).body), codesIn(made), 'the form makes no others')
  t.equal((await saveCodes(browser, made)).headers.location, '/cart')
  t.match(await app.authority.factors(sub), { factors: [{ kind: 'totp' }], recoveryCodesLeft: 10 })
  const { code = '' } = answerOf(String((await browser.get(authorizePath())).headers.location))
  t.match(decodeJwt((await redeem(app, code)).json<{ access_token: string }>().access_token).claims, {
    acr: 'mfa',
    amr: ['pwd', 'otp', 'mfa']
  })
})

// covers PG-06 PG-07
t.test(
  'issues no tokens by the password grant, and returns mfa_enrollment_required after a right password',
  async (t) => {
    const subject = await bare(t)
    for (const username of ['ann', 'nobody'])
      t.match((await grant(subject, { username, password: 'not the password' })).json(), { error: 'invalid_grant' })
    const reply = await grant(subject)
    t.equal(reply.statusCode, 400)
    t.match(reply.headers['cache-control'], /no-store/)
    t.same(reply.json(), {
      error: 'mfa_enrollment_required',
      error_description: 'A second factor has to be set up first. Sign in through the browser.'
    })
    t.same(await subject.app.authority.sessions(subject.sub), [])
  }
)

t.test('does not count a right password as a failed attempt if a factor must be set up first', async (t) => {
  const subject = await bare(t, true, { rateLimit: { login: { windowMs: 900_000, max: 2, count: 'failed' } } })
  for (let n = 0; n < 5; n++) t.equal((await grant(subject)).json<{ error: string }>().error, 'mfa_enrollment_required')
})

// covers SF-02
t.test('accepts a pending set-up only for its own user and password, for ten minutes', async (t) => {
  const subject = await bare(t)
  const { app, clock } = subject
  await signUp(app, 'bob')
  const toLogin = { statusCode: 303, headers: { location: '/auth/login' } }
  const [anns, bobs] = [testBrowser(app), testBrowser(app)]
  await logIn(anns)
  await logIn(bobs, 'bob')
  const ann = await shown(subject, anns)
  // Bob sends Ann's enrolment with his ticket, then with hers instead of his.
  t.equal((await bobs.submit(SET_UP, { ...ann.fields, code: codeFor(ann.secret, clock.now()) })).statusCode, 400)
  t.match(await app.authority.factors(subject.sub), { factors: [] })
  const ticket = anns.cookies.get(cookieName('step')) ?? ''
  for (const bad of ['', altered(ticket), ticket.repeat(50)]) {
    const browser = testBrowser(app)
    browser.cookies.set(cookieName('step'), bad)
    t.match(await browser.get(SET_UP), toLogin)
    t.match(await browser.submit(SET_UP, { ...ann.fields, code: codeFor(ann.secret, clock.now()) }), toLogin)
  }
  clock.step(599_999)
  t.equal((await anns.get(SET_UP)).statusCode, 200)
  clock.step(1)
  t.match(await anns.get(SET_UP), toLogin)
  await logIn(anns)
  const begun = await shown(subject, anns)
  await app.authority.changePassword(subject.sub, 'a better horse battery')
  t.match(await begun.send(), toLogin, 'another password')
  t.match(await app.authority.factors(subject.sub), { factors: [] })
})

t.test('rejects a set-up form with a missing, empty, wrong or oversized field, and stores nothing', async (t) => {
  const subject = await bare(t)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  const { fields, send } = await shown(subject, browser)
  for (const over of [
    { code: '' },
    { code: '12345' },
    { code: 'x'.repeat(5000) },
    { enrolment: '' },
    { enrolment: 'x' },
    { enrolment: 'x'.repeat(5000) }
  ])
    t.equal((await send(over)).statusCode, 400, JSON.stringify(over).slice(0, 40))
  t.equal((await browser.submit(SET_UP, {})).statusCode, 400)
  t.equal(
    (
      await browser.submit(
        SET_UP,
        { ...fields, code: '000000' },
        { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
      )
    ).statusCode,
    403
  )
  t.same(await signedInAnywhere(browser), [])
  t.match(await subject.app.authority.factors(subject.sub), { factors: [] })
})

// covers SF-03
t.test('stores one factor and signs at most one browser in for fifty parallel set-ups', async (t) => {
  const subject = await bare(t)
  const { app, sub } = subject
  const all = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const browser = testBrowser(app)
      await logIn(browser)
      return { browser, ...(await shown(subject, browser)) }
    })
  )
  const replies = await Promise.all(all.map(async ({ send }) => await send()))
  t.equal(replies.filter(makesCodes).length, 1)
  t.match(await app.authority.factors(sub), { factors: { length: 1 }, recoveryCodesLeft: 10 })
  const inside = await Promise.all(
    all.map(async ({ browser }) => (await browser.get('/auth/account')).statusCode === 200)
  )
  t.ok(inside.filter(Boolean).length <= 1)
  t.ok((await app.authority.sessions(sub)).length <= 1)
})

// covers SF-03
t.test('adds one factor for fifty parallel uses of one enrolment', async (t) => {
  const subject = await bare(t)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  const { send } = await shown(subject, browser)
  const replies = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => await send({}, { 'user-agent': `browser ${index}` }))
  )
  t.equal(replies.filter(makesCodes).length, 1)
  t.match(await subject.app.authority.factors(subject.sub), { factors: { length: 1 } })
})

// covers SF-03
t.test('removes the factor and begins no session if the password changes during the set-up', async (t) => {
  const subject = await bare(t)
  const { app, sub, store } = subject
  const browser = testBrowser(app)
  await logIn(browser)
  const { send } = await shown(subject, browser)
  const add = store.addTotp.bind(store)
  store.addTotp = async (addition) => {
    const added = await add(addition)
    await app.authority.changePassword(sub, 'a better horse battery')
    return added
  }
  const reply = await send()
  t.match(reply, { statusCode: 401, body: /login_required/ })
  t.match(await app.authority.factors(sub), { factors: { length: 0 }, recoveryCodesLeft: 0 })
  t.same(await signedInAnywhere(browser), [])
})

// covers SF-01 SU-09
t.test('ends browser sessions without a second factor under a new policy, but no refresh token family', async (t) => {
  let required = false
  const subject = await bare(t, () => required)
  const { app } = subject
  const browser = testBrowser(app)
  await logIn(browser)
  const { refresh_token: refresh } = (await grant(subject)).json<{ refresh_token: string }>()
  t.ok(answerOf(String((await browser.get(authorizePath())).headers.location))['code'])
  t.equal((await browser.get('/auth/account')).statusCode, 200)
  required = true
  t.match(await browser.get('/auth/account'), { statusCode: 303, headers: { location: /^\/auth\/login/ } })
  t.match((await browser.get(authorizePath())).headers.location, /^\/auth\/login\?/)
  t.match(answerOf(String((await browser.get(authorizePath({ prompt: 'none' }))).headers.location)), {
    error: 'login_required',
    code: undefined
  })
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })).statusCode,
    200,
    'a refresh asks for nothing'
  )
  t.match(await browser.get(SET_UP), { statusCode: 303, headers: { location: '/auth/login' } })
  const asked = await logIn(
    browser,
    'ann',
    PASSWORD,
    String((await browser.get(authorizePath())).headers.location).slice('/auth/login'.length)
  )
  t.match(asked.headers.location, /^\/auth\/second-factor\/set-up\?client_id=spa/)
  const { send } = await shown(subject, browser, String(asked.headers.location))
  const done = await send()
  const onward = String((await saveCodes(browser, await codesPage(browser, done))).headers.location)
  t.ok(answerOf(String((await browser.get(onward)).headers.location))['code'], 'the journey goes on')
  t.equal(
    (await app.inject({ method: 'POST', url: '/auth/refresh', headers: bearer(refresh) })).statusCode,
    401,
    'the first factor ends what was there'
  )
})

t.test('sets up a factor without another sign-in in a fresh session that the host began', async (t) => {
  const subject = await bare(t)
  const signedInByHost = async (): Promise<TestBrowser> => {
    const { cookie } = await sessionAs(subject.app, { id: subject.sub }, { amr: ['pwd'] })
    const browser = testBrowser(subject.app)
    browser.cookies.set(cookieName('session'), cookie.slice(cookie.indexOf('=') + 1))
    return browser
  }
  const older = await signedInByHost()
  t.match(answerOf(String((await older.get(authorizePath({ prompt: 'none' }))).headers.location)), {
    error: 'interaction_required'
  })
  subject.clock.step(300_001)
  t.match(
    (await older.get(authorizePath())).headers.location,
    /^\/auth\/login\?/,
    'an older sign-in is no reason to add a factor'
  )
  const browser = await signedInByHost()
  const { send } = await shown(subject, browser, String((await browser.get(authorizePath())).headers.location))
  const done = await send()
  t.ok(makesCodes(done))
  t.ok(answerOf(String((await browser.get(authorizePath())).headers.location))['code'])
})

// covers SU-03
t.test('asks a signed-in user with a second factor to use it, and rejects another username', async (t) => {
  const subject = await factorApp(t, { ...OPTIONS, mfa: { required: true } }, { enrolled: false })
  const { app, sub, clock } = subject
  const first = testBrowser(app)
  await logIn(first)
  const { secret, send } = await shown(subject, first)
  await send()
  clock.step(30_000)
  const browser = testBrowser(app)
  // A session made by the host.
  const { cookie } = await sessionAs(app, { id: sub }, { amr: ['pwd'] })
  browser.cookies.set(cookieName('session'), cookie.slice(cookie.indexOf('=') + 1))
  t.match(answerOf(String((await browser.get(authorizePath({ prompt: 'none' }))).headers.location)), {
    error: 'login_required'
  })
  const location = String((await browser.get(authorizePath())).headers.location)
  t.match(location, /^\/auth\/second-factor\?client_id=spa/)
  const page = await browser.get(location)
  t.notMatch(page.body, 'name="username"')
  t.equal((await browser.submit(formOf(page.body).action, { code: '000000' })).statusCode, 400)
  const done = await browser.follow(
    await browser.submit(formOf(page.body).action, { code: codeFor(secret, clock.now()) })
  )
  t.ok(answerOf(done.url)['code'], done.url)
  t.match(subject.events.find(({ name }) => name === 'step_up')?.payload, { userId: sub, methods: ['password', 'otp'] })
  t.match(
    subject.events.filter(({ name }) => name === 'second_factor_failed').map(({ payload }) => payload),
    [{ userId: sub, reason: 'wrong', clientId: 'spa' }],
    'for the client that it is asked for'
  )
})

t.test('asks mfa.required for each user and client, and applies the answer', async (t) => {
  const asked: unknown[] = []
  const subject = await bare(t, (user, { client, clientId }) => {
    asked.push([user.username, client?.name ?? null, clientId])
    return clientId === 'web'
  })
  const { app } = subject
  const browser = testBrowser(app)
  t.equal((await logIn(browser)).headers.location, '/')
  t.ok(answerOf(String((await browser.get(authorizePath())).headers.location))['code'])
  t.match((await browser.get(authorizePath({ client_id: 'web' }))).headers.location, /set-up/)
  t.equal((await grant(subject)).statusCode, 200)
  t.same(
    asked,
    [
      ['ann', null, null],
      ['ann', null, null],
      ['ann', 'The App', 'spa'],
      ['ann', null, null],
      ['ann', 'The Site', 'web'],
      ['ann', null, null]
    ],
    'at each sign-in and each look at a session of the user without a client, and for a client before its code'
  )
})

t.test('keeps a session that began for a client for which no second factor is required', async (t) => {
  const subject = await bare(t, (_user, { clientId }) => clientId !== 'spa')
  const browser = testBrowser(subject.app)
  const query = authorizePath().slice('/auth/authorize'.length)
  const onward = String((await logIn(browser, 'ann', PASSWORD, query)).headers.location)
  t.ok(answerOf(String((await browser.get(onward)).headers.location))['code'], 'and leads nobody in a circle')
  t.equal((await browser.get('/auth/account')).statusCode, 200)
  t.match((await browser.get(authorizePath({ client_id: 'web' }))).headers.location, /set-up/)
})

t.test('leads a sign-up to the set-up of a required second factor', async (t) => {
  const subject = await bare(t)
  const browser = testBrowser(subject.app)
  const reply = await browser.submit('/auth/signup?return_to=/cart', { username: 'eve', password: PASSWORD })
  t.equal(reply.headers.location, `${SET_UP}?return_to=%2Fcart`)
  t.same(await signedInAnywhere(browser), [])
  const { send } = await shown(subject, browser, String(reply.headers.location))
  t.equal((await saveCodes(browser, await codesPage(browser, await send()))).headers.location, '/cart')
  t.equal((await browser.get('/auth/account')).statusCode, 200)
})

t.test('leads a provider sign-in to the set-up of a required factor, unless it reports acr mfa', async (t) => {
  for (const [acr, led] of [
    [undefined, true],
    ['password', true],
    ['mfa', false]
  ] as const) {
    const subject = await connectApp(t, {
      factors: memoryFactorStore(),
      mfa: { required: true },
      ...(acr === undefined ? {} : { connection: { assurance: () => ({ acr }) } })
    })
    const reply = await subject.through()
    t.equal(
      /set-up/.test(`${reply.headers.location ?? ''} ${reply.headers.refresh ?? ''} ${reply.body}`),
      led,
      `acr ${acr ?? 'none'}`
    )
    t.equal((await subject.who()) === null, led)
  }
})

// covers TOTP-07
t.test('signs nobody in while mfa.required or the factor store fails', async (t) => {
  for (const required of [
    () => {
      throw new Error('down')
    },
    async () => {
      throw new Error('down')
    }
  ]) {
    const subject = await bare(t, required)
    const browser = testBrowser(subject.app)
    t.equal((await logIn(browser)).statusCode, 503)
    t.equal((await grant(subject)).statusCode, 503)
    t.equal(
      (await testBrowser(subject.app).submit('/auth/signup', { username: 'eve', password: PASSWORD })).headers.location,
      '/auth/login'
    )
    t.same(await signedInAnywhere(browser), [])
    t.same(await subject.app.authority.sessions(subject.sub), [])
  }
  const subject = await bare(t)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  const { send } = await shown(subject, browser)
  for (const broken of ['findFactors', 'addTotp'] as const) {
    subject.broken.add(broken)
    t.equal((await send()).statusCode, 503, broken)
    t.same(await signedInAnywhere(browser), [])
    subject.broken.clear()
  }
  t.ok(makesCodes(await send()), 'and then goes on')
})

t.test('answers temporarily_unavailable or 503 when mfa.required hangs for five seconds', async (t) => {
  let answer: boolean | null = false
  const subject = await bare(t, async () => answer ?? (await new Promise<boolean>(() => {})))
  const browser = testBrowser(subject.app)
  await logIn(browser)
  answer = null
  const asked = browser.get(authorizePath())
  const granted = grant(subject)
  for (let n = 0; n < 200; n++)
    await new Promise((resolve) => {
      setImmediate(resolve)
    })
  subject.clock.step(5000)
  t.match(answerOf(String((await asked).headers.location)), { error: 'temporarily_unavailable', code: undefined })
  t.equal((await granted).statusCode, 503)
})

t.test('accepts at one instance a set-up that began at another', async (t) => {
  const [users, state, factors, secret] = [
    memoryUserStore(),
    memoryState(),
    memoryFactorStore(),
    'a secret of thirty-two bytes and more'
  ]
  const options = { users, state, factors, secret, mfa: { required: true } }
  const one = await testApp(options)
  const two = await testApp({ ...options, clock: one.clock })
  t.teardown(one.close)
  t.teardown(two.close)
  await signUp(one.app)
  const browser = testBrowser(one.app)
  await logIn(browser)
  const elsewhere = testBrowser(two.app)
  for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value)
  const { fields, secret: key } = await shown(one, browser)
  const reply = await elsewhere.submit(SET_UP, { ...fields, code: codeFor(key, one.clock.now()) })
  t.ok(makesCodes(reply))
  t.equal((await elsewhere.get('/auth/account')).statusCode, 200)
})

// covers SS-07
t.test('keeps the last required factor, unless the host removes it', async (t) => {
  const subject = await bare(t)
  const { app, sub, clock } = subject
  const browser = testBrowser(app)
  await logIn(browser)
  await saveCodes(browser, await codesPage(browser, await (await shown(subject, browser)).send()))
  const [factor] = (await app.authority.factors(sub)).factors
  const id = factor?.id ?? ''
  const own = { 'sec-fetch-site': 'same-origin' }
  const removal = async () =>
    await app.inject({
      method: 'DELETE',
      url: `/auth/factors/${id}`,
      headers: { ...own, cookie: `${cookieName('session')}=${browser.cookies.get(cookieName('session')) ?? ''}` }
    })
  t.match((await removal()).json(), { error: 'last_factor' })
  t.equal((await removal()).statusCode, 409)
  const page = await browser.get('/auth/security')
  t.notMatch(page.body, 'your password alone is enough again')
  const { action, fields } = formOf(page.body)
  t.match(await browser.submit(action, { ...fields, factor: id, decision: 'remove' }), {
    statusCode: 409,
    body: /your account needs one/
  })
  t.match(await app.authority.factors(sub), { factors: { length: 1 } })
  clock.step(30_000)
  t.equal(await app.authority.resetFactors(sub), 1)
  t.match((await logIn(testBrowser(app))).headers.location, /set-up/, 'the way back is the way in')
})

t.test('stops the start for invalid or contradictory mfa options', async (t) => {
  for (const [options, message] of [
    [{ mfa: { required: 'yes' } }, /mfa\.required": got "yes"; it takes true, false or a function/],
    [{ mfa: { required: null } }, /mfa\.required/],
    [{ mfa: { methods: ['sms'] } }, /mfa\.methods/],
    [{ mfa: { methods: ['recovery_code'] } }, /mfa\.methods.*recovery codes stand in/],
    [{ mfa: { methods: ['passkey'], required: true } }, /mfa\.methods/],
    [{ mfa: { required: true }, pages: false }, /mfa\.required.*pages is false/],
    [{ mfa: { required: true }, factors: undefined }, /"mfa": .*factors is not set/]
  ] as const)
    await t.rejects(
      testApp({ factors: memoryFactorStore(), ...(options as unknown as Partial<AuthorityOptions>) }),
      { code: 'FST_AUTHORITY_INVALID_OPTIONS', message },
      JSON.stringify(options)
    )
})

t.test('creates no recovery codes if mfa.methods does not list them', async (t) => {
  const subject = await bare(t, true, { mfa: { required: true, methods: ['totp'] } })
  const browser = testBrowser(subject.app)
  await logIn(browser)
  t.match(await (await shown(subject, browser)).send(), { statusCode: 303, headers: { location: '/' } })
  t.match(await subject.app.authority.factors(subject.sub), { factors: { length: 1 }, recoveryCodesLeft: 0 })
})

t.test('does not ask a remembered browser for a required factor, but asks once its cookie is gone', async (t) => {
  const subject = await bare(t, true, { mfa: { required: true, rememberDevice: { expiresIn: 86_400 } } })
  const { app, clock } = subject
  const browser = testBrowser(app)
  await logIn(browser)
  const { secret, send } = await shown(subject, browser)
  await send()
  clock.step(30_000)
  await logIn(browser)
  await browser.submit('/auth/second-factor', { code: codeFor(secret, clock.now()), remember: 'on' })
  t.equal((await logIn(browser, 'ann', PASSWORD, '?return_to=/cart')).headers.location, '/cart', 'remembered')
  t.ok(answerOf(String((await browser.get(authorizePath())).headers.location))['code'])
  browser.cookies.delete(cookieName('trusted'))
  t.match(
    (await browser.get(authorizePath())).headers.location,
    /^\/auth\/second-factor\?/,
    'elsewhere that session is not enough'
  )
})
