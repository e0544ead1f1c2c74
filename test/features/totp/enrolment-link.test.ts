/** The link of `startEnrolment`: a user who has lost every factor sets a new one up, and the link signs nobody in. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import {
  memoryFactorStore,
  memoryState,
  memoryUserStore,
  type AuthorityOptions,
  type UserStore
} from '../../../lib/index.ts'
import { delayed, softPasskey } from '../../../lib/testing/index.ts'
import { ISSUER, PASSWORD, signUp, testApp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { connectApp } from '../../http/connect/support.ts'
import {
  codeFor,
  enrol,
  factorApp,
  type FactorApp,
  formOf,
  logIn,
  signedInAnywhere,
  unsealed,
  codesIn,
  codesPage,
  makesCodes
} from '../../support/factors.ts'
import { answer, askingForm } from '../../support/passkey-pages.ts'

const SET_UP = '/auth/second-factor/set-up'
const DAY_MS = 86_400_000
const INVALID = { statusCode: 400, body: /Links work once and for a short time/ }
const NO_SESSION = { statusCode: 303, headers: { location: '/auth/login' } }

const bare = async (
  t: { teardown(close: () => Promise<void>): void },
  options: Partial<AuthorityOptions> = {}
): Promise<FactorApp> => await factorApp(t, options, { enrolled: false })
const linkOf = async ({ app, sub }: Pick<FactorApp, 'app' | 'sub'>, userId = sub): Promise<string> =>
  (await app.authority.startEnrolment(userId)).url
const tokenOf = (url: string): string => new URL(url).searchParams.get('token') ?? ''
const press = async (browser: TestBrowser, url: string, headers: Record<string, string> = {}) =>
  await browser.submit('/auth/second-factor/link', { token: tokenOf(url) }, headers)

async function setUp({ clock }: Pick<FactorApp, 'clock'>, browser: TestBrowser) {
  const { body } = await browser.get(SET_UP)
  const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
  const { action, fields } = formOf(body)
  return await browser.submit(action, { ...fields, code: codeFor(secret, clock.now()), name: '' })
}

// covers ASVS-6.4.6
t.test('lets a user who lost all factors set up a new one by a link and the password', async (t) => {
  const subject = await factorApp(t)
  const { app, sub, clock } = subject
  await t.rejects(
    app.authority.startEnrolment(sub),
    { error: 'invalid_request', message: /resetFactors/ },
    'it never stands in for a factor that there is'
  )
  t.equal(await app.authority.resetFactors(sub), 1)
  t.match(await subject.messages.next('factor_removed'), { factor: null, by: 'host' })
  subject.events.length = 0
  const { url, expiresAt } = await app.authority.startEnrolment(sub)
  t.equal(expiresAt.getTime(), clock.now() + DAY_MS)
  t.match(
    url,
    new RegExp(`^${ISSUER}/auth/second-factor/link\\?token=[\\w-]{91}$`),
    'a partition, 256 bits and two bindings'
  )
  t.same(
    subject.events
      .filter(({ name }) => name !== 'message_sent')
      .map(({ name, payload }) => [name, payload.userId, payload.requestId]),
    [['enrolment_link_made', sub, null]]
  )
  t.notMatch(JSON.stringify(subject.events), tokenOf(url))

  const browser = testBrowser(app)
  const page = await browser.get(url)
  t.equal(page.statusCode, 200)
  t.match(page.body, /<bdi>ann<\/bdi><\/b> sets up a new second step/)
  t.match([page.headers['cache-control'], page.headers['referrer-policy']], ['no-store', 'origin'])
  const { action, fields } = formOf(page.body)
  t.equal(action, '/auth/second-factor/link', 'the form has the token in its body alone')
  const pressed = await browser.submit(action, fields)
  t.match(pressed, NO_SESSION)
  t.match(
    String(pressed.headers['set-cookie']),
    /authority_enrolment_[\w-]{8}=[^;]+; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax/
  )
  t.same(await signedInAnywhere(browser), [], 'the link signs nobody in')
  t.match(await browser.get(SET_UP), NO_SESSION, 'and leads nowhere without the password')
  t.equal((await logIn(browser, 'ann', 'not the password')).statusCode, 400)
  t.equal((await logIn(browser)).headers.location, SET_UP, 'no session before the new factor, though none is required')
  t.same(await signedInAnywhere(browser), [])
  const done = await setUp(subject, browser)
  t.equal(codesIn(await codesPage(browser, done)).length, 10)
  t.notOk(browser.cookies.has(cookieName('enrolment')), 'the invitation is gone')
  t.equal((await browser.get('/auth/account')).statusCode, 200)
  t.match(await app.authority.factors(sub), { factors: [{ kind: 'totp' }], recoveryCodesLeft: 10 })
  t.same(
    [...new Set(subject.messages.messages.map(({ kind }) => kind))].toSorted(),
    ['factor_added', 'factor_removed'],
    'nothing is sent of the link: the host hands it over'
  )
  t.same(
    subject.events.map(({ name }) => name).filter((name) => name.startsWith('enrolment')),
    ['enrolment_link_made', 'enrolment_link_used', 'enrolment_required']
  )
  t.match(
    subject.events.find(({ name }) => name === 'authenticated')?.payload,
    { methods: ['password', 'otp'] },
    'the link is none of the proofs'
  )
})

// covers ADV-CVE-2026-37982
t.test('accepts one of fifty parallel uses of an enrolment link, and rejects later uses', async (t) => {
  const subject = await bare(t, { state: delayed(memoryState()), users: delayed(memoryUserStore()) })
  const { app } = subject
  const url = await linkOf(subject)
  const all = Array.from({ length: 50 }, () => testBrowser(app))
  const replies = await Promise.all(all.map(async (browser) => await press(browser, url)))
  t.equal(replies.filter(({ statusCode }) => statusCode === 303).length, 1)
  t.equal(replies.filter(({ statusCode }) => statusCode === 400).length, 49)
  t.equal(all.filter(({ cookies }) => cookies.has(cookieName('enrolment'))).length, 1)
  t.match(await press(testBrowser(app), url), INVALID)
  t.match(await testBrowser(app).get(url), INVALID)
  t.equal(subject.events.filter(({ name }) => name === 'enrolment_link_used').length, 1)
})

// covers ADV-CVE-2026-37982
t.test('accepts an enrolment cookie for one factor, and not again after a reset', async (t) => {
  const subject = await bare(t)
  const { app, sub } = subject
  const browser = testBrowser(app)
  await press(browser, await linkOf(subject))
  const invitation = browser.cookies.get(cookieName('enrolment')) ?? ''
  await logIn(browser)
  t.ok(makesCodes(await setUp(subject, browser)))
  const again = testBrowser(app)
  again.cookies.set(cookieName('enrolment'), invitation)
  t.equal((await logIn(again)).headers.location, '/auth/second-factor', 'the factor is asked for')
  t.match(await again.get(SET_UP), NO_SESSION)
  t.match(await app.authority.factors(sub), { factors: { length: 1 } })
  await app.authority.resetFactors(sub)
  t.equal((await logIn(again)).headers.location, '/', 'nor is it good after a reset')
})

// covers ADV-CVE-2026-32132
t.test('expires an enrolment link after a day and its cookie after an hour, to the millisecond', async (t) => {
  const subject = await bare(t)
  const { app, clock } = subject
  const url = await linkOf(subject)
  clock.step(DAY_MS - 1)
  t.equal((await testBrowser(app).get(url)).statusCode, 200)
  clock.step(1)
  t.match(await testBrowser(app).get(url), INVALID)
  t.match(await press(testBrowser(app), url), INVALID)
  const other = await linkOf(subject)
  clock.step(DAY_MS - 1)
  const browser = testBrowser(app)
  t.match(await press(browser, other), NO_SESSION)
  const invitation = browser.cookies.get(cookieName('enrolment')) ?? ''
  clock.step(3_599_999)
  t.equal((await logIn(browser)).headers.location, SET_UP)
  clock.step(1)
  const late = testBrowser(app)
  late.cookies.set(cookieName('enrolment'), invitation)
  t.equal((await logIn(late)).headers.location, '/', 'a sign-in as any other')
})

t.test('keeps an enrolment link valid after visits by scanners and requests from other sites', async (t) => {
  const subject = await bare(t)
  const { app } = subject
  const url = await linkOf(subject)
  const scanner = testBrowser(app)
  for (let n = 0; n < 3; n++) t.equal((await scanner.get(url)).statusCode, 200)
  t.equal((await app.inject({ method: 'HEAD', url })).statusCode, 200)
  t.equal((await scanner.get(url, { 'sec-purpose': 'prefetch' })).statusCode, 200)
  t.equal(scanner.cookies.size, 0)
  for (const headers of [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site', origin: 'http://other.localhost:3000' },
    { 'sec-fetch-site': '', origin: 'null' }
  ] as Array<Record<string, string>>)
    t.equal((await press(scanner, url, headers)).statusCode, 403, JSON.stringify(headers))
  t.match(await press(testBrowser(app), url), NO_SESSION)
})

t.test(
  'voids an enrolment link after a new link, password or factor, a reset, and for disabled or removed users',
  async (t) => {
    let now: object | null = {}
    const ends: Record<string, (subject: FactorApp) => Promise<unknown>> = {
      'another link': async ({ app, sub }) => await app.authority.startEnrolment(sub),
      'another password': async ({ app, sub }) => {
        await app.authority.changePassword(sub, 'a better horse battery')
      },
      'a factor that was set up meanwhile': async (subject) => {
        const browser = testBrowser(subject.app)
        await logIn(browser)
        await enrol(subject, browser)
      },
      'a factor that came and went': async (subject) => {
        await ends['a factor that was set up meanwhile']?.(subject)
        const [factor] = (await subject.app.authority.factors(subject.sub)).factors
        await subject.app.authority.removeFactor(subject.sub, factor?.id ?? '')
      },
      'a reset': async ({ app, sub }) => await app.authority.resetFactors(sub),
      'a disabled user': async () => {
        now = { disabled: true }
      },
      'a user who was disabled and enabled again': async ({ app, sub }) => {
        await app.authority.users.disable(sub)
        await app.authority.users.enable(sub)
      },
      'a removed user': async () => {
        now = null
      }
    }
    for (const [what, end] of Object.entries(ends)) {
      const subject = await bare(t, { users: withFields(() => now) })
      const { app } = subject
      const browser = testBrowser(app)
      const url = await linkOf(subject)
      await end(subject)
      t.match(await browser.get(url), INVALID, what)
      t.match(await press(browser, url), INVALID, what)
      t.equal(browser.cookies.size, 0)
      now = {}

      const other = await bare(t, { users: withFields(() => now) })
      const invited = testBrowser(other.app)
      t.match(await press(invited, await linkOf(other)), NO_SESSION)
      await end(other)
      t.not(
        (await logIn(invited, 'ann', what === 'another password' ? 'a better horse battery' : PASSWORD)).headers
          .location,
        SET_UP,
        `${what}, after the button`
      )
      now = {}
    }
  }
)

t.test('voids the enrolment after a new link or a reset between sign-in and set-up', async (t) => {
  for (const end of [
    async ({ app, sub }: FactorApp) => {
      await app.authority.startEnrolment(sub)
    },
    async ({ app, sub }: FactorApp) => {
      await app.authority.resetFactors(sub)
    }
  ]) {
    const subject = await bare(t, { users: withFields(UNCONFIRMED) })
    const browser = testBrowser(subject.app)
    await press(browser, await linkOf(subject))
    await logIn(browser)
    const { body } = await browser.get(SET_UP)
    const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
    t.not(secret, '')
    const { action, fields } = formOf(body)
    await end(subject)
    t.match(await browser.submit(action, { ...fields, code: codeFor(secret, subject.clock.now()) }), {
      statusCode: 400
    })
    t.match((await browser.get(SET_UP)).body, /isn’t confirmed yet/, 'nobody vouches for it any more')
    t.match(await subject.app.authority.factors(subject.sub), { factors: [] })
  }
})

/** Overrides of stored users; `null`: a missing user. */
function withFields(fields: object | null | (() => object | null)): ReturnType<typeof memoryUserStore> {
  return new Proxy(memoryUserStore(), {
    get(target, name: keyof UserStore) {
      const act = Reflect.get(target, name) as (...given: unknown[]) => Promise<object | null>
      if (name !== 'findById' && name !== 'findByUsername') return act
      return async (...given: unknown[]) => {
        const user = await act.apply(target, given)
        const now = typeof fields === 'function' ? fields() : fields
        return user === null || now === null ? null : { ...user, ...now }
      }
    }
  })
}
const UNCONFIRMED = { email: 'ann@mail.example', emailVerified: false }

t.test('lets the holder of an enrolment link set up a factor despite an unconfirmed address', async (t) => {
  for (const required of [false, true]) {
    const subject = await bare(t, { users: withFields(UNCONFIRMED), mfa: { required } })
    const { app, messages } = subject
    const browser = testBrowser(app)
    await press(browser, await linkOf(subject))
    await logIn(browser)
    const passkey = softPasskey({ origin: ISSUER })
    const other = testBrowser(app)
    await logIn(other)
    if (required) t.match((await other.get(SET_UP)).body, /isn’t confirmed yet/, 'another browser')
    const done = required
      ? await setUp(subject, browser)
      : await answer(browser, (await browser.get(SET_UP)).body, passkey)
    t.ok(makesCodes(done))
    t.match(await app.authority.factors(subject.sub), { factors: [{ kind: required ? 'totp' : 'passkey' }] })
    await messages.next('factor_added')
    if (!required)
      t.notOk(
        messages.messages.some(({ kind }) => kind === 'verify_email'),
        'no message to a mailbox that they may have lost'
      )
  }
})

t.test('applies an enrolment link only to its own user, in the browser that opened it', async (t) => {
  const subject = await bare(t)
  const { app } = subject
  await signUp(app, 'bob')
  const browser = testBrowser(app)
  await press(browser, await linkOf(subject))
  t.equal((await logIn(browser, 'bob')).headers.location, '/')
  t.equal((await logIn(browser)).headers.location, SET_UP)
  const elsewhere = testBrowser(app)
  t.equal((await logIn(elsewhere)).headers.location, '/', 'another browser of hers is not')
})

t.test('refuses a missing, empty, wrong, huge, cut or foreign enrolment link', async (t) => {
  const subject = await bare(t)
  const { app, sub } = subject
  const token = tokenOf(await linkOf(subject))
  await app.authority.startPasswordReset(sub)
  const reset = tokenOf((await subject.messages.next('password_reset')).url)
  const browser = testBrowser(app)
  for (const bad of [
    '',
    'x',
    token.slice(0, -1),
    `${token}x`,
    token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    `${token.slice(0, 59)}${token.slice(75)}${token.slice(59, 75)}`,
    'x'.repeat(512),
    'x'.repeat(600),
    '\0',
    reset
  ]) {
    t.equal(
      (await browser.get(`/auth/second-factor/link?token=${encodeURIComponent(bad)}`)).statusCode,
      400,
      bad.slice(0, 20)
    )
    t.equal((await browser.submit('/auth/second-factor/link', { token: bad })).statusCode, 400, bad.slice(0, 20))
  }
  t.equal((await browser.get('/auth/second-factor/link')).statusCode, 400)
  t.equal((await browser.submit('/auth/second-factor/link', {})).statusCode, 400)
  t.equal((await browser.submit('/auth/second-factor/link', { token, x: '1' })).statusCode, 303, 'and the good one')
  for (const bad of [
    '',
    'x',
    'x'.repeat(4000),
    `${browser.cookies.get(cookieName('enrolment')) ?? ''}x`,
    browser.cookies.get(cookieName('step')) ?? 'none'
  ]) {
    const odd = testBrowser(app)
    odd.cookies.set(cookieName('enrolment'), bad)
    t.equal((await logIn(odd)).headers.location, '/', bad.slice(0, 20))
  }
  t.equal(
    (await browser.submit('/auth/reset-password', { token, password: 'a better horse battery' })).statusCode,
    400,
    'nor is it a link of any other page'
  )
})

t.test('answers 503 to an enrolment link while the store is down, and keeps the link valid', async (t) => {
  const subject = await bare(t)
  const { app, broken, sub } = subject
  const url = await linkOf(subject)
  const browser = testBrowser(app)
  broken.add('findFactors')
  t.equal((await browser.get(url)).statusCode, 503)
  t.equal((await press(browser, url)).statusCode, 503)
  await t.rejects(app.authority.startEnrolment(sub))
  broken.clear()
  t.match(await press(browser, url), NO_SESSION)
  broken.add('findFactors')
  t.equal((await logIn(browser)).statusCode, 503)
  t.same(await signedInAnywhere(browser), [])
  broken.clear()
  broken.add('forgetDevices')
  await t.rejects(app.authority.startEnrolment(sub))
})

t.test('creates no enrolment link for an invalid user or if the options exclude it', async (t) => {
  const subject = await bare(t)
  for (const bad of ['nobody', '', '\0', undefined, null, {}, 7])
    await t.rejects(subject.app.authority.startEnrolment(bad as string))
  await t.rejects(subject.app.authority.startEnrolment('nobody'), {
    error: 'invalid_grant',
    message: 'There is no such user.'
  })
  const off = await bare(t, { users: withFields({ disabled: true }) })
  await t.rejects(off.app.authority.startEnrolment(off.sub), {
    error: 'invalid_request',
    message: 'The user is disabled.'
  })
  for (const [options, error] of [
    [{}, { message: /without the option factors/ }],
    [
      { factors: memoryFactorStore(), pages: false },
      { code: 'FST_AUTHORITY_INVALID_OPTIONS', message: /startEnrolment needs the page/ }
    ],
    [
      { factors: memoryFactorStore(), passkeys: false, mfa: { methods: ['passkey'] } },
      { error: 'not_found', message: /not set up here/ }
    ]
  ] as const) {
    const without = await testApp(options as unknown as Partial<AuthorityOptions>)
    t.teardown(without.close)
    const { sub } = await signUp(without.app)
    await t.rejects(without.app.authority.startEnrolment(sub), error as { message: RegExp })
    if ('pages' in options || !('factors' in options))
      t.equal((await without.app.inject('/auth/second-factor/link?token=x')).statusCode, 404)
  }
})

t.test('counts invalid enrolment links toward the rate limit, but accepts a valid link beyond it', async (t) => {
  const subject = await bare(t, { rateLimit: { refresh: { windowMs: 60_000, max: 2 } } })
  const browser = testBrowser(subject.app)
  const statuses = []
  for (let n = 0; n < 4; n++)
    statuses.push((await browser.submit('/auth/second-factor/link', { token: 'x'.repeat(91) })).statusCode)
  t.same(statuses, [400, 400, 429, 429])
  t.match(
    await press(testBrowser(subject.app), await linkOf(subject)),
    NO_SESSION,
    'one that is good is never refused for it'
  )
})

t.test('leads from an enrolment link to the set-up by a provider sign-in or a custom sign-in page', async (t) => {
  const subject = await connectApp(t, { factors: memoryFactorStore() })
  await subject.through()
  const sub = (await subject.who()) ?? ''
  await press(subject.browser, await linkOf({ app: subject.app, sub }))
  const reply = await subject.through()
  t.match(`${reply.headers.location ?? ''} ${reply.headers.refresh ?? ''} ${reply.body}`, 'second-factor/set-up')

  const own = await factorApp(
    t,
    { users: withFields(UNCONFIRMED), pages: { loginUrl: '/own' } },
    {
      enrolled: false,
      before: (app) =>
        app.post('/own', async (request, reply) => {
          await app.authority.signIn(request, reply, own.sub)
          return {}
        })
    }
  )
  const browser = testBrowser(own.app)
  const asked = new URLSearchParams({ return_to: SET_UP, prompt: 'login' }).toString()
  t.equal((await press(browser, await linkOf(own))).headers.location, `/auth/login?${asked}`)
  t.equal(
    (await browser.get(`/auth/login?${asked}`)).headers.location,
    `/own?${new URLSearchParams({ return_to: SET_UP }).toString()}`
  )
  await own.app.inject({ method: 'POST', url: '/own' }).then(({ cookies }) => {
    for (const { name, value } of cookies) browser.cookies.set(name, value)
  })
  t.ok(makesCodes(await setUp(own, browser)), 'in the session of just now, with an address that is not confirmed')
  t.match(await own.app.authority.factors(own.sub), { factors: [{ kind: 'totp' }] })
})

t.test('rejects an enrolment cookie of another issuer with the same stores and secret', async (t) => {
  const { claimFor: _claimFor, ...state } = memoryState()
  const shared = {
    users: memoryUserStore(),
    state,
    factors: unsealed(memoryFactorStore()),
    secret: 'a secret of thirty-two bytes and more'
  }
  const invited = async (issuer: string): Promise<string | undefined> => {
    const one = await testApp(shared)
    const other = await testApp({ ...shared, issuer, clock: one.clock })
    t.teardown(one.close)
    t.teardown(other.close)
    const sub = (await shared.users.findByUsername('ann'))?.id ?? (await signUp(one.app)).sub
    const browser = testBrowser(one.app)
    await press(browser, await linkOf({ app: one.app, sub }))
    const elsewhere = testBrowser(other.app)
    elsewhere.cookies.set(cookieName('enrolment'), browser.cookies.get(cookieName('enrolment')) ?? '')
    return (await elsewhere.submit('/auth/login', { username: 'ann', password: PASSWORD }, { origin: issuer })).headers
      .location
  }
  t.equal(await invited('http://localhost:4000'), '/')
  t.equal(await invited(ISSUER), SET_UP)
})

t.test('accepts enrolment links and cookies of another instance', async (t) => {
  const [users, state, factors, secret] = [
    memoryUserStore(),
    memoryState(),
    memoryFactorStore(),
    'a secret of thirty-two bytes and more'
  ]
  const one = await testApp({ users, state, factors, secret })
  const two = await testApp({ users, state, factors, secret, clock: one.clock })
  t.teardown(one.close)
  t.teardown(two.close)
  const { sub } = await signUp(one.app)
  const browser = testBrowser(two.app)
  t.match(await press(browser, await linkOf({ app: one.app, sub })), NO_SESSION)
  const elsewhere = testBrowser(one.app)
  elsewhere.cookies.set(cookieName('enrolment'), browser.cookies.get(cookieName('enrolment')) ?? '')
  t.equal((await logIn(elsewhere)).headers.location, SET_UP)
})

t.test('offers only a passkey at the set-up if mfa.methods does not list apps', async (t) => {
  const subject = await bare(t, { mfa: { methods: ['passkey', 'recovery_code'] } })
  const browser = testBrowser(subject.app)
  await press(browser, await linkOf(subject))
  await logIn(browser)
  const { body } = await browser.get(SET_UP)
  t.ok(askingForm(body))
  t.notMatch(body, 'name="code"')
  t.equal((await browser.submit(SET_UP, { code: '123456', enrolment: 'x' })).statusCode, 400)
  t.match(await browser.submit(SET_UP, { credential: '{}' }), { statusCode: 400, body: /The passkey was not accepted/ })
  t.ok(makesCodes(await answer(browser, body, softPasskey({ origin: ISSUER }))))
})
