/** A signed-in user authenticates again, with every proof that the account requires, and not as another user. */
import { cookieName } from '../support/cookies.ts'
import t from '../support/tap.ts'
import { REPLACED_SECRET_MS } from '../../lib/ports/session-store.ts'
import { memoryFactorStore, memoryUserStore } from '../../lib/index.ts'
import type { PasskeyRequestOptions } from '../../lib/protocol/webauthn-options.ts'
import { softPasskey } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { type TestBrowser, testBrowser } from '../support/browser.ts'
import { factorApp, formOf, logIn } from '../support/factors.ts'
import { type FakeUpstream, PROVIDER } from '../support/fake-upstream.ts'
import { answerOn, askingForm } from '../support/passkey-pages.ts'
import { addWith, asked, finish, passkeyApp, signInOptions, somebody } from '../support/passkeys.ts'
import { secondFactorOf } from '../support/second-factor.ts'
import { connectApp, SAME } from './connect/support.ts'
import { ANN, ask, emailApp, enter, otherThan, PAGE } from '../features/email-codes/support.ts'

const page = (returnTo: string): string => `/auth/reauthenticate?return_to=${encodeURIComponent(returnTo)}`
async function post(browser: TestBrowser, url: string, fields: Record<string, string>) {
  const { body } = await browser.get(url)
  return await browser.submit(formOf(body).action, fields)
}

// covers ASVS-7.5.1 ASVS-7.2.4
t.test('asks the signed-in user for the password, renews the session secret, and returns to the page', async (t) => {
  const subject = await testApp({}, {}, (app) => {
    app.get(
      '/pay',
      {
        onRequest: [
          (...args) => {
            app.authority.requireSession({ maxAge: 300 })(...args)
          }
        ]
      },
      async (request) => request.authSession
    )
  })
  t.teardown(subject.close)
  const { app, clock, events } = subject
  await signUp(app)
  await signUp(app, 'bob')
  const browser = testBrowser(app)
  t.match(
    await browser.get(page('/pay')),
    { statusCode: 303, headers: { location: '/auth/login?return_to=%2Fpay' } },
    'nobody is signed in'
  )
  await logIn(browser)
  clock.step(301_000)
  const led = await browser.get('/pay')
  t.match(led, { statusCode: 303, headers: { location: '/auth/reauthenticate?return_to=%2Fpay' } })
  const shown = await browser.get(String(led.headers.location))
  t.equal(shown.statusCode, 200)
  t.match(shown.body, /<bdi>ann<\/bdi>|>ann</)
  t.match(shown.body, /name="username" value="ann" autocomplete="username" readonly hidden>/, 'no name can be typed')
  const { action } = formOf(shown.body)
  t.match(await browser.submit(action, { current_password: 'wrong password' }), { statusCode: 400 })
  t.equal((await browser.get('/pay')).statusCode, 303)
  const before = browser.cookies.get(cookieName('session'))
  t.match(await browser.submit(action, { current_password: PASSWORD, username: 'bob' }), {
    statusCode: 303,
    headers: { location: '/pay' }
  })
  t.not(browser.cookies.get(cookieName('session')), before)
  const [sid] = (before ?? '').split('.')
  t.match(
    (await browser.get('/pay')).json(),
    { authenticatedAt: new Date(clock.now()).toISOString(), acr: 'password' },
    'still Ann'
  )
  t.match(
    events.filter(({ name }) => name === 'step_up').map(({ payload }) => payload),
    [{ methods: ['password'], sid: String }]
  )
  const old = testBrowser(app)
  old.cookies.set(cookieName('session'), before ?? '')
  clock.step(REPLACED_SECRET_MS)
  t.equal((await old.get('/auth/account')).statusCode, 303, 'the secret of before opens nothing')
  t.ok(sid)

  for (const elsewhere of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    ''
  ]) {
    t.match((await post(browser, page(elsewhere), { current_password: PASSWORD })).headers.location, /^\/$/, elsewhere)
  }
  const other = await browser.submit(
    action,
    { current_password: PASSWORD },
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  )
  t.equal(other.statusCode, 403)
  const { access_token: access } = await signIn(app)
  t.equal(
    (await app.inject({ url: '/auth/reauthenticate', headers: bearer(access) })).statusCode,
    303,
    'an access token is no browser'
  )
  await browser.submit('/auth/login?prompt=login', { username: 'bob', password: PASSWORD })
  t.match(
    await browser.submit(action, { current_password: PASSWORD }),
    { statusCode: 303, headers: { location: page('/pay') } },
    'shown to Ann, and Bob is signed in'
  )
})

t.test('asks for both factors, also in a remembered browser, before it renews the session', async (t) => {
  const subject = await factorApp(t, { mfa: { rememberDevice: {} } }, { enrolled: false })
  await logIn(subject.browser)
  const { kind, give } = await secondFactorOf(subject, subject.browser)
  subject.clock.step(30_000)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  await give(browser, '', { remember: 'on' })
  browser.cookies.delete(cookieName('session'))
  subject.clock.step(301_000)
  t.match((await logIn(browser)).headers.location, '/', 'the browser is remembered')
  const security = await browser.get('/auth/security')
  const url = (/href="(\/auth\/reauthenticate[^"]*)"/.exec(security.body)?.[1] ?? '').replaceAll('&amp;', '&')
  t.match(url, page('/auth/security'))
  const session = browser.cookies.get(cookieName('session'))
  const step = await post(browser, url, { current_password: PASSWORD })
  t.match(step, { statusCode: 303, headers: { location: '/auth/second-factor?return_to=%2Fauth%2Fsecurity' } })
  t.equal(browser.cookies.get(cookieName('session')), session, 'the session of now stays what it is')
  const done = await give(browser, '?return_to=%2Fauth%2Fsecurity')
  t.match(done, { statusCode: 303, headers: { location: '/auth/security' } })
  t.match((await browser.get('/auth/security')).body, /name="decision"/, 'and now it can be changed')
  t.match(subject.events.filter(({ name }) => name === 'step_up').at(-1)?.payload, {
    methods: ['password', kind === 'totp' ? 'otp' : kind]
  })
})

t.test('counts wrong passwords like a sign-in, and offers no page with a host sign-in page', async (t) => {
  const subject = await testApp({ rateLimit: { login: { max: 3 } } })
  t.teardown(subject.close)
  await signUp(subject.app)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  const { action } = formOf((await browser.get(page('/'))).body)
  const statuses = []
  for (let guess = 0; guess < 3; guess++)
    statuses.push((await browser.submit(action, { current_password: `wrong ${guess}` })).statusCode)
  statuses.push((await browser.submit(action, { current_password: PASSWORD })).statusCode)
  t.same(statuses, [400, 400, 429, 429])
  const own = await testApp({ pages: { loginUrl: '/sign-in' } })
  t.teardown(own.close)
  t.equal((await own.app.inject('/auth/reauthenticate')).statusCode, 404)
  t.ok(ISSUER)
})

/**
 * How each proof of a reauthentication rejects another user and a repeat:
 *
 * | way        | by another person                        | twice, or elsewhere                 |
 * | ---        | ---                                      | ---                                 |
 * | password   | no name can be typed                     |                                     |
 * | passkey    | refused, also one of the same id         | refused: one answer, one session    |
 * | connection | refused: nobody is signed in or made     | the session that began it, or none  |
 * | code       | the code is of this user                 | the browser and session that asked  |
 */
t.test('accepts a passkey of the signed-in user only, for this session and once', async (t) => {
  const subject = await passkeyApp(t, {}, { synced: true })
  const bob = await somebody(subject, 'bob')
  const { browser, passkey } = subject
  await logIn(browser)
  t.match(await answerOn(browser, '/auth/second-factor', passkey), { statusCode: 303 })
  const session = browser.cookies.get(cookieName('session'))
  const shown = await browser.get(page('/pay'))
  t.match(shown.headers['content-security-policy'], /passkeys\.js/)
  t.match(shown.body, /name="current_password"/, 'or the password')
  const form = askingForm(shown.body)
  const options = form?.options as PasskeyRequestOptions
  const id = (await subject.store.findFactors(subject.sub)).passkeys[0]?.credentialId ?? ''
  t.match(options, { allowCredentials: [{ id }], userVerification: 'required' })
  const send = async (credential: unknown) =>
    await browser.submit(form?.action ?? '', { credential: JSON.stringify(credential) })
  const refusedOnes: Array<[string, unknown]> = [
    ["Bob's", bob.passkey.get({ ...options, allowCredentials: [] })],
    ["Bob's, under the id of hers", { ...bob.passkey.get({ ...options, allowCredentials: [] }), id, rawId: id }],
    ['of the sign-in page', passkey.get(await signInOptions(subject))],
    ['of the second factor', passkey.get((await asked(subject)).passkey_options)],
    ['that is no JSON', 'x'],
    ['that says nothing', {}]
  ]
  for (const [name, credential] of refusedOnes)
    t.match(await send(credential), { statusCode: 400 }, `an answer ${name}`)
  t.equal(browser.cookies.get(cookieName('session')), session, 'the session of now stays what it is')
  const other = testBrowser(subject.app)
  await logIn(other)
  await answerOn(other, '/auth/second-factor', passkey)
  const theirs = askingForm((await other.get(page('/pay'))).body)
  t.match(
    await send(passkey.get(theirs?.options as PasskeyRequestOptions)),
    { statusCode: 400 },
    'an answer to another session of hers'
  )

  subject.events.length = 0
  const credential = passkey.get(options)
  t.match(await send(credential), { statusCode: 303, headers: { location: '/pay' } })
  t.not(browser.cookies.get(cookieName('session')), session)
  t.match(
    subject.events
      .filter(({ name }) => ['step_up', 'authenticated'].includes(name))
      .map(({ name, payload }) => [name, payload['userId'], payload['methods']]),
    [
      ['authenticated', subject.sub, ['passkey']],
      ['step_up', subject.sub, ['passkey']]
    ]
  )
  t.match(await send(credential), { statusCode: 400 }, 'twice')
  await other.submit('/auth/login?prompt=login', { username: 'bob', password: PASSWORD })
  await subject.app.authority.removeFactor(subject.sub, subject.factorId)
  t.match(subject.events.find(({ name }) => name === 'factor_removed')?.payload, { kind: 'passkey', by: 'host' })
  t.notMatch((await browser.get(page('/pay'))).body, /data-passkey/, 'none is left')
})

t.test('renews no session with a passkey that was removed during its use', async (t) => {
  const store = memoryFactorStore()
  const race = { on: false }
  const subject = await passkeyApp(t, {
    factors: {
      ...store,
      async usePasskey(use) {
        const used = await store.usePasskey(use)
        if (race.on) await store.removeFactorsOfUser(use.userId)
        return used
      }
    }
  })
  const { browser } = subject
  await logIn(browser)
  await answerOn(browser, '/auth/second-factor', subject.passkey)
  const session = browser.cookies.get(cookieName('session'))
  race.on = true
  t.match(await answerOn(browser, page('/pay'), subject.passkey), {
    statusCode: 303,
    headers: { location: '/auth/login?return_to=%2Fpay' }
  })
  t.equal(browser.cookies.get(cookieName('session')), session)
  t.equal((await browser.get('/auth/account')).statusCode, 303, 'what was to be renewed has ended')
})

t.test('does not offer a security key without user verification', async (t) => {
  const key = await passkeyApp(t)
  const stick = softPasskey({ origin: ISSUER, verifiesUser: false })
  const { access_token: token } = (
    await finish(key, (await asked(key)).mfa_token, key.passkey.get((await asked(key)).passkey_options))
  ).json<{ access_token: string }>()
  await addWith(key, stick, token, 'security_key')
  await logIn(key.browser)
  await answerOn(key.browser, '/auth/second-factor', key.passkey)
  const form = askingForm((await key.browser.get(page('/pay'))).body)
  const { passkeys } = await key.store.findFactors(key.sub)
  t.same(
    form?.options.allowCredentials.map(({ id }) => id),
    passkeys.filter(({ uvInitialized }) => uvInitialized).map(({ credentialId }) => credentialId)
  )
  t.equal(passkeys.length, 2)
  const given = stick.get({
    ...(form?.options as PasskeyRequestOptions),
    userVerification: 'preferred',
    allowCredentials: passkeys.map(({ credentialId }) => ({ type: 'public-key', id: credentialId }))
  })
  t.match(await key.browser.submit(form?.action ?? '', { credential: JSON.stringify(given) }), { statusCode: 400 })
})

t.test('through a provider, requires the same user and otherwise changes nothing', async (t) => {
  const users = memoryUserStore()
  const test = await connectApp(t, { users, registration: { username: 'any' } })
  const { app, browser, fake, clock } = test
  const ann = (await signUp(app, 'ann@example.com')).sub
  const bob = (await signUp(app, 'bob@example.com')).sub
  for (const [id, subject] of [
    [ann, 'ann-1'],
    [bob, 'bob-1']
  ] as const)
    await users.linkIdentity(id, { issuer: PROVIDER, subject, connection: 'acme', linkedAt: 0, lastUsedAt: 0 })
  await browser.submit('/auth/login', { username: 'ann@example.com', password: PASSWORD })
  clock.step(301_000)
  const button = async () =>
    (/href="(\/auth\/connect\/acme[^"]*)"/.exec((await browser.get(page('/pay'))).body)?.[1] ?? '').replaceAll(
      '&amp;',
      '&'
    )
  const begin = async (url: string) => new URL(String((await browser.get(url, SAME)).headers.location), ISSUER)
  const through = async (person: FakeUpstream['person']) => {
    fake.person = person
    return await test.back((await begin(await button())).searchParams.get('state') ?? '')
  }
  const session = browser.cookies.get(cookieName('session'))
  for (const person of [
    { subject: 'bob-1' },
    { subject: 'nobody-1', email: 'new@example.com', emailVerified: true },
    { subject: 'nobody-2', email: 'ann@example.com' }
  ]) {
    const reply = await through(person)
    t.match(reply, { statusCode: 403, body: /You can(’|&rsquo;)t sign in this way/ }, person.subject)
    t.match(reply.body, /href="\/auth\/reauthenticate\?return_to=%2Fpay"/, 'another way to prove it')
    t.equal(await test.who(), ann)
    t.equal(browser.cookies.get(cookieName('session')), session, 'still hers, and no younger')
  }
  t.equal(await users.findByUsername('new@example.com'), null, 'nobody is registered')
  t.match(
    test.payloads('connection_failed').map(({ reason }) => reason),
    ['mismatch', 'mismatch', 'mismatch']
  )
  t.match(await through({ subject: 'ann-1' }), { statusCode: 303, headers: { location: '/pay' } })
  t.equal(await test.who(), ann)
  t.not(browser.cookies.get(cookieName('session')), session)

  fake.person = { subject: 'ann-1' }
  const begun = (await begin(await button())).searchParams.get('state') ?? ''
  const shown = await button()
  await browser.submit('/auth/login?prompt=login', { username: 'bob@example.com', password: PASSWORD })
  t.match(await test.back(begun), { statusCode: 400 }, 'somebody else is signed in by then')
  t.equal(await test.who(), bob)
  t.equal((await begin(shown)).pathname, '/auth/reauthenticate', 'a button that was shown to Ann')
  await browser.submit('/auth/logout', { decision: 'sign_out' })
  t.equal((await begin(shown)).pathname, '/auth/reauthenticate')
})

t.test('sends a user without a password a code to the account address, valid only for them', async (t) => {
  const subject = await emailApp(t)
  const { app, browser, users, clock } = subject
  const hers = 'zoe@mail.example'
  await users.create?.({ username: hers, email: hers, emailVerified: true, passwordHash: null })
  await ask(browser, hers)
  await enter(browser, (await subject.mail()).code)
  clock.step(301_000)
  const shown = await browser.get(page('/pay'))
  t.match(shown.body, /name="decision" value="email"/)
  t.notMatch(shown.body, /name="(?:username|current_password)"/)
  const { action } = formOf(shown.body)
  const askHere = async (): Promise<{ code: string; url: string }> => {
    t.match(await browser.submit(action, { decision: 'email', username: ANN }), {
      statusCode: 303,
      headers: { location: `${PAGE}?return_to=%2Fpay` }
    })
    t.equal(subject.sent().at(-1)?.user.email, hers, 'to no other address')
    return await subject.mail()
  }
  const elsewhere = (): TestBrowser => {
    const other = testBrowser(app)
    for (const [name, value] of browser.cookies) other.cookies.set(name, value)
    return other
  }
  const here = '?return_to=%2Fpay'
  const { code } = await askHere()
  t.match(await enter(browser, otherThan(code), here), { statusCode: 400 })
  const signedOut = elsewhere()
  signedOut.cookies.delete(cookieName('session'))
  t.match(await enter(signedOut, code, here), { statusCode: 400 }, 'nobody is signed in by then')
  t.notOk(signedOut.cookies.has(cookieName('session')))
  const session = browser.cookies.get(cookieName('session'))
  t.match(await enter(browser, code, here), { statusCode: 303, headers: { location: '/pay' } })
  t.not(browser.cookies.get(cookieName('session')), session)
  t.match(
    subject.events.filter(({ name }) => name === 'step_up').map(({ payload }) => payload['methods']),
    [['email']]
  )
  t.match(await enter(browser, code, here), { statusCode: 400 }, 'twice')

  const { url } = await askHere()
  const link = url.slice(url.indexOf('/auth/'))
  const token = new URLSearchParams(link.slice(link.indexOf('?') + 1)).get('token') ?? ''
  const stranger = elsewhere()
  stranger.cookies.delete(cookieName('session'))
  await stranger.submit(link, { token })
  t.notOk(stranger.cookies.has(cookieName('session')), 'nor by the link')
  t.match(await browser.submit(link, { token }), { statusCode: 303, headers: { location: '/pay' } })
  await askHere()
  t.match(
    await browser.submit(`${PAGE}${here}`, { decision: 'other' }),
    { statusCode: 303, headers: { location: page('/pay') } },
    'there is no other address'
  )

  const freed = await askHere()
  const { id } = (await users.findByUsername(hers)) ?? { id: '' }
  await users.update?.(id, { username: 'zoe2@mail.example', email: 'zoe2@mail.example' })
  const { id: namesake } = (await users.create?.({
    username: hers,
    email: hers,
    emailVerified: true,
    passwordHash: null
  })) ?? { id: '' }
  t.match(
    await enter(browser, freed.code, here),
    { statusCode: 400 },
    "the name and the address are somebody else's by then"
  )
  t.same(await app.authority.sessions(namesake), [])
  await users.remove?.(namesake)
  await users.update?.(id, { username: hers, email: hers })

  const last = await askHere()
  await browser.submit('/auth/login?prompt=login', { username: ANN, password: PASSWORD })
  const anns = browser.cookies.get(cookieName('session'))
  t.match(await enter(browser, last.code, here), { statusCode: 400 }, 'Ann is signed in by then')
  t.equal(browser.cookies.get(cookieName('session')), anns, 'and stays so')
  const withPassword = formOf((await browser.get(page('/pay'))).body).action
  t.notMatch((await browser.get(page('/pay'))).body, /value="email"/)
  t.match(
    await browser.submit(withPassword, { decision: 'email' }),
    { statusCode: 400 },
    'who has a password gives that'
  )
})

t.test('rejects a proof that the user does not have, without a server error', async (t) => {
  for (const options of [{}, { factors: memoryFactorStore() }]) {
    const subject = await testApp(options)
    t.teardown(subject.close)
    await signUp(subject.app)
    const browser = testBrowser(subject.app)
    await logIn(browser)
    const before = browser.cookies.get(cookieName('session'))
    const { action } = formOf((await browser.get(page('/cart'))).body)
    for (const fields of [{ credential: '{}' }, { decision: 'email' }] as Array<Record<string, string>>)
      t.equal((await browser.submit(action, fields)).statusCode, 400, JSON.stringify(fields))
    t.equal(browser.cookies.get(cookieName('session')), before)
  }
})
