/** A remembered browser is not asked for the second factor, and its sign-in does not have that level. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import type { AuthorityOptions } from '../../../lib/index.ts'
import { PASSWORD, signUp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { enrol, factorApp, type FactorApp, formOf, logIn } from '../../support/factors.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const REDIRECT_URI = 'https://app.example.com/callback'
const remembering: Partial<AuthorityOptions> = {
  mfa: { rememberDevice: {} },
  clients: [
    { clientId: 'plain', redirectUris: [REDIRECT_URI], requirePkce: false, clientSecret: 'a'.repeat(32) },
    { clientId: 'bank', redirectUris: [REDIRECT_URI], requirePkce: false, clientSecret: 'a'.repeat(32), acr: 'mfa' }
  ]
}
const COOKIE = cookieName('trusted')

const setCookies = (reply: { headers: Record<string, unknown> }): string[] =>
  [reply.headers['set-cookie'] ?? []].flat().map(String)
const asksCode = (reply: { statusCode: number; headers: Record<string, unknown> }): boolean =>
  String(reply.headers.location).startsWith('/auth/second-factor')

/** Signs in with both factors, with the box ticked. */
async function remember(subject: FactorApp, browser: TestBrowser, name = 'ann', code = subject.code()) {
  const step = await logIn(browser, name)
  if (!asksCode(step)) throw new Error(`it was not asked for: ${step.statusCode}`)
  const page = await browser.get('/auth/second-factor')
  if (!/name="remember" type="checkbox" value="on"[^]*Don’t ask again on this device for 30 days/.test(page.body))
    throw new Error(page.body)
  const done = await browser.submit(formOf(page.body).action, { code, remember: 'on' })
  if (done.statusCode !== 303) throw new Error(done.body)
  subject.clock.step(30_000)
  return done
}
const authorize = (params: object): string =>
  `/auth/authorize?${new URLSearchParams({ client_id: 'plain', redirect_uri: REDIRECT_URI, response_type: 'code', scope: 'openid', state: 's', ...params }).toString()}`
const signOut = (browser: TestBrowser): void => {
  browser.cookies.delete(cookieName('session'))
}
/** True if the second factor is asked for, in a browser without a session. */
async function isAsked(browser: TestBrowser, query = '', name = 'ann', password = PASSWORD): Promise<boolean> {
  signOut(browser)
  const reply = await logIn(browser, name, password, query)
  if (reply.statusCode !== 303) throw new Error(`${query} ${reply.statusCode} ${reply.body}`)
  return asksCode(reply)
}

// covers TD-01 ADV-BA-9552 ADV-BA-2728
t.test('does not ask a remembered browser for the factor, and grants acr password', async (t) => {
  const subject = await factorApp(t, remembering, {
    before(app) {
      app.get(
        '/who',
        {
          onRequest: [
            (...args) => {
              app.authority.readSession(...args)
            }
          ]
        },
        async (request) => request.authSession
      )
    }
  })
  const browser = testBrowser(subject.app)
  const done = await remember(subject, browser)
  t.match(
    setCookies(done).find((cookie) => cookie.startsWith(`${COOKIE}=`)),
    /^authority_trusted_[\w-]{8}=[\w.-]+; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Lax$/
  )
  t.match(
    subject.events.filter(({ name }) => name === 'device_remembered').map(({ payload }) => payload),
    [{ userId: subject.sub, sid: String }]
  )
  t.match((await browser.get('/who')).json(), { acr: 'mfa' }, 'the sign-in itself had both')
  const given = browser.cookies.get(COOKIE)
  for (const round of [1, 2, 3]) {
    signOut(browser)
    const reply = await logIn(browser)
    t.match(reply, { statusCode: 303, headers: { location: '/' } }, `sign-in ${round}`)
    t.notOk(
      setCookies(reply).some((cookie) => cookie.startsWith(COOKIE)),
      'it is not made to last longer'
    )
    t.equal(browser.cookies.get(COOKIE), given)
    t.match(subject.events.filter(({ name }) => name === 'authenticated').at(-1)?.payload, {
      method: 'password',
      methods: ['password']
    })
    t.match((await browser.get('/who')).json(), { acr: 'password', amr: ['pwd'] })
    subject.clock.step(DAY_MS)
  }
  t.ok(asksCode(await logIn(testBrowser(subject.app))), 'another browser is')
})

// covers TD-01
t.test('asks a remembered browser for the second factor if acr mfa or a new sign-in is required', async (t) => {
  const subject = await factorApp(t, remembering, {
    before(app) {
      app.get(
        '/pay',
        {
          onRequest: [
            (...args) => {
              app.authority.requireSession({ acr: 'mfa' })(...args)
            }
          ]
        },
        async () => 'paid'
      )
    }
  })
  const browser = testBrowser(subject.app)
  await remember(subject, browser)
  t.equal(await isAsked(browser, '?return_to=%2Fcart'), false)
  /** True if `url` leads through the sign-in page, with all fields of its form, to the second factor. */
  async function askedBy(url: string): Promise<boolean> {
    const { reply, url: at } = await browser.follow(await browser.get(url))
    // A signed-in user is asked for the missing factor, and for nothing else.
    if (at.includes('/auth/second-factor')) return true
    const { action } = formOf(reply.body)
    if (action === '') throw new Error(`${url}: ${reply.statusCode} ${reply.headers.location} ${reply.body}`)
    const done = await browser.submit(action, { username: 'ann', password: PASSWORD })
    t.equal(done.statusCode, 303, `${url} ${action}`)
    return asksCode(done)
  }
  for (const params of [
    { acr_values: 'mfa' },
    { prompt: 'login' },
    { max_age: '0' },
    { max_age: '86400' },
    { client_id: 'bank' },
    { claims: '{"id_token":{"acr":{"essential":true,"value":"mfa"}}}' }
  ]) {
    // A sign-in some time ago, for `max_age=86400`.
    subject.clock.step(1000)
    if ('max_age' in params && params.max_age !== '0') signOut(browser)
    t.equal(await askedBy(authorize(params)), true, JSON.stringify(params))
  }
  signOut(browser)
  t.equal(await askedBy(authorize({})), false, 'a client that asks for nothing')
  t.equal(await askedBy('/auth/login?prompt=login&return_to=%2Fcart'), true, 'a page of the host')
  t.match((await browser.get('/pay')).statusCode, 303, 'which the session is not enough for')
  const security = await browser.get('/auth/security')
  t.notMatch(
    security.body,
    /name="decision" value="(?!sign_out")/,
    'nothing of the factors can be changed by such a sign-in'
  )
  const token = await subject.app.inject({
    method: 'POST',
    url: '/auth/token',
    headers: { cookie: `${COOKIE}=${browser.cookies.get(COOKIE)}` },
    payload: { grant_type: 'password', username: 'ann', password: PASSWORD }
  })
  t.match([token.statusCode, token.json()], [400, { error: 'mfa_required' }], 'the token endpoint knows no browser')
})

// covers TD-02
t.test('forgets a browser after a change of the password or the factors, and on request', async (t) => {
  const NEXT = 'a better horse battery'
  const cases: Record<string, (subject: FactorApp, browser: TestBrowser) => Promise<unknown>> = {
    async 'the addition of another app'({ clock, browser }) {
      clock.step(1)
      return await enrol({ clock }, browser, 'second')
    },
    async 'the removal of one of two apps'({ app, clock, browser, sub }) {
      await enrol({ clock }, browser, 'second')
      const { factors } = await app.authority.factors(sub)
      return await app.authority.removeFactor(sub, factors.find(({ name }) => name === 'second')?.id ?? '')
    },
    'forgetDevices by the host': async ({ app, sub }) => {
      await app.authority.forgetDevices(sub)
    },
    async 'a request by the user'({ events }, browser) {
      const { body } = await browser.get('/auth/security')
      const { action } = formOf(body, body.indexOf('Remembered devices'))
      const reply = await browser.submit(action, { decision: 'forget' })
      t.match(
        (await browser.get(String(reply.headers.location), { 'sec-fetch-site': 'same-origin' })).body,
        /Every device is asked for a code again/
      )
      t.match(
        events.filter(({ name }) => name === 'devices_forgotten').map(({ payload }) => payload),
        [{ by: 'user', userId: String }]
      )
    },
    async 'a password change by the host'({ app, sub }) {
      await app.authority.changePassword(sub, NEXT)
      return NEXT
    },
    async 'a password change on the account page'(_subject, browser) {
      const { body } = await browser.get('/auth/account/password')
      const reply = await browser.submit(formOf(body).action, { current_password: PASSWORD, password: NEXT })
      t.equal(reply.statusCode, 303)
      return NEXT
    },
    async 'a password reset by a link'({ app, sub, messages }) {
      await app.authority.startPasswordReset(sub)
      const { token } = await messages.next('password_reset')
      const reply = await app.inject({
        method: 'POST',
        url: '/auth/password-reset/confirm',
        payload: { token, password: NEXT }
      })
      t.equal(reply.statusCode, 204)
      return NEXT
    }
  }
  for (const [cause, change] of Object.entries(cases)) {
    await t.test(`asks for the second factor again after ${cause}`, async (t) => {
      const subject = await factorApp(t, remembering)
      const browser = testBrowser(subject.app)
      await remember(subject, browser)
      const remembered = browser.cookies.get(COOKIE) ?? ''
      const other = testBrowser(subject.app)
      other.cookies.set(COOKIE, remembered)
      t.equal(await isAsked(other), false)
      const result = await change(subject, browser)
      const password = result === NEXT ? NEXT : PASSWORD
      other.cookies.set(COOKIE, remembered)
      t.equal(await isAsked(other, '', 'ann', password), true)
    })
  }
  await t.test('asks for the second factor again after a reset and a new enrolment', async (t) => {
    const subject = await factorApp(t, remembering)
    const browser = testBrowser(subject.app)
    await remember(subject, browser)
    await subject.app.authority.resetFactors(subject.sub)
    const another = testBrowser(subject.app)
    await logIn(another)
    await enrol(subject, another)
    t.equal(await isAsked(browser), true)
  })
})

// covers TD-02
t.test('asks for the factor in a browser that is forgotten during the sign-in', async (t) => {
  const subject = await factorApp(t, remembering)
  const browser = testBrowser(subject.app)
  await remember(subject, browser)
  signOut(browser)
  const { findFactors } = subject.store
  let looks = 0
  subject.store.findFactors = async (userId) => {
    // The factors are read during the password check, and again after the session was committed.
    if (++looks === 2) await subject.store.forgetDevices(userId)
    return await findFactors(userId)
  }
  const reply = await logIn(browser)
  t.equal(looks, 2)
  t.ok(asksCode(reply))
  t.notOk(
    setCookies(reply).some((cookie) => cookie.startsWith(`${cookieName('session')}=`) && !cookie.includes('Max-Age=0'))
  )
})

// covers TD-03 ADV-BA-9203
t.test('remembers four accounts in a browser, and forgets the oldest of five', async (t) => {
  const subject = await factorApp(t, remembering)
  const browser = testBrowser(subject.app)
  await remember(subject, browser)
  const codeOf = async (name: string): Promise<void> => {
    await signUp(subject.app, name)
    const own = testBrowser(subject.app)
    await logIn(own, name)
    const { secret } = await enrol(subject, own)
    subject.clock.step(30_000)
    const { codeFor } = await import('../../support/factors.ts')
    signOut(browser)
    await remember(subject, browser, name, codeFor(secret, subject.clock.now()))
  }
  await signUp(subject.app, 'eve')
  for (const name of ['bob', 'cyd', 'dan']) await codeOf(name)
  for (const name of ['ann', 'bob', 'cyd', 'dan']) t.equal(await isAsked(browser, '', name), false, name)
  await codeOf('fay')
  t.equal(await isAsked(browser, '', 'ann'), true, 'the one longest ago')
  for (const name of ['bob', 'cyd', 'dan', 'fay']) t.equal(await isAsked(browser, '', name), false, name)
})

// covers TD-04
t.test('rejects a forged, moved or expired cookie of a remembered browser', async (t) => {
  const subject = await factorApp(t, remembering)
  const browser = testBrowser(subject.app)
  await remember(subject, browser)
  const token = browser.cookies.get(COOKIE) ?? ''
  const withToken = (value: string): TestBrowser => {
    const other = testBrowser(subject.app)
    other.cookies.set(COOKIE, value)
    return other
  }
  t.equal(await isAsked(withToken(token)), false)
  const [deviceId = '', entry = ''] = token.split('.')
  const wrong = (text: string, at: number): string =>
    text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
  const forged = {
    'another device': `${wrong(deviceId, 3)}.${entry}`,
    'another account': `${deviceId}.${wrong(entry, 2)}`,
    'a later time': `${deviceId}.${entry.slice(0, 8)}zzzzzzzz${entry.slice(16)}`,
    'another MAC': `${deviceId}.${wrong(entry, 20)}`,
    none: deviceId,
    five: [deviceId, ...new Array(5).fill(entry)].join('.'),
    huge: token.repeat(200),
    empty: ''
  }
  for (const [what, value] of Object.entries(forged)) t.equal(await isAsked(withToken(value)), true, what)
  const twice = await subject.app.inject({
    method: 'POST',
    url: '/auth/login',
    headers: {
      cookie: `${COOKIE}=${token}; ${COOKIE}=${token}`,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded'
    },
    payload: `username=ann&password=${encodeURIComponent(PASSWORD)}`
  })
  t.ok(asksCode(twice), 'two of that name: one was put there')
  subject.clock.step(30 * DAY_MS - 30_000 - 1000)
  t.equal(await isAsked(withToken(token)), false, 'the last second')
  subject.clock.step(1000)
  t.equal(await isAsked(withToken(token)), true)
})

// covers TD-05
t.test('remembers no browser without mfa.rememberDevice or without the ticked box', async (t) => {
  const off = await factorApp(t)
  const browser = testBrowser(off.app)
  await logIn(browser)
  const page = await browser.get('/auth/second-factor')
  t.notMatch(page.body, /name="remember"/)
  const done = await browser.submit(formOf(page.body).action, { code: off.code(), remember: 'on' })
  t.equal(done.statusCode, 303)
  t.notOk(setCookies(done).some((cookie) => cookie.startsWith(COOKIE)))
  t.notMatch((await browser.get('/auth/security')).body, /Remembered devices/)

  const subject = await factorApp(t, remembering)
  const unticked = testBrowser(subject.app)
  await logIn(unticked)
  await unticked.submit('/auth/second-factor', { code: subject.code() })
  subject.clock.step(30_000)
  t.equal(await isAsked(unticked), true)
  const refused = testBrowser(subject.app)
  await logIn(refused)
  t.notOk(
    setCookies(await refused.submit('/auth/second-factor', { code: '000000', remember: 'on' })).some((cookie) =>
      cookie.startsWith(COOKIE)
    ),
    'a wrong code has nothing remembered'
  )
  await t.rejects(subject.app.authority.forgetDevices('nobody'), /There is no such user/)
  await t.rejects(factorApp(t, { mfa: { rememberDevice: { expiresIn: 0 } } }), {
    code: 'FST_AUTHORITY_INVALID_OPTIONS'
  })
  await t.rejects(factorApp(t, { mfa: { rememberDevice: true as never } }), /mfa\.rememberDevice/)
})
