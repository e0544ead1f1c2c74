/**
 * Second factors on the user's own pages and by JSON: each change, its required proof, and the sign-ins that it ends.
 */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import {
  codeFor,
  enrol,
  factorApp,
  formOf,
  logIn,
  saveCodes,
  signedInAnywhere,
  codesIn,
  codesPage,
  makesCodes
} from '../../support/factors.ts'

const cookies = (reply: { headers: Record<string, unknown> }): string[] =>
  [reply.headers['set-cookie'] ?? []].flat().map(String)

// covers SS-01 F11 TOTP-05 SS-04 ASVS-7.4.3
t.test('ends all other sessions at the first second factor, and shows ten recovery codes once', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, sub } = subject
  const browser = testBrowser(app)
  await logIn(browser)
  const thief = testBrowser(app)
  await logIn(thief)
  const tokens = await signIn(app)
  const secret = browser.cookies.get(cookieName('session'))
  const { codes, reply } = await enrol(subject, browser, ' My\u202e  phone ')
  t.ok(makesCodes(reply))
  t.match(reply.headers['cache-control'], /no-store/)
  t.equal(codes.length, 10)
  for (const code of codes) t.match(code, /^[0-9a-z]{4}(?:-[0-9a-z]{4}){3}$/)
  t.same(await signedInAnywhere(thief), [])
  t.equal((await app.inject({ url: '/me', headers: bearer(tokens.access_token) })).statusCode, 401)
  t.equal((await app.authority.sessions(sub)).length, 1)
  t.not(
    browser.cookies.get(cookieName('session')),
    secret,
    'the session that added it has a new secret, and is worth more'
  )
  t.match(await app.authority.factors(sub), {
    recoveryCodesLeft: 10,
    factors: [{ kind: 'totp', name: 'My phone', disabled: false, lastUsedAt: null }]
  })
  const page = await browser.get('/auth/security')
  t.match(page.body, 'My phone')
  t.match(page.body, 'Recovery codes left: 10')
  for (const code of codes) t.notMatch(page.body, code)
  t.match(await subject.messages.next('factor_added'), { factor: 'totp' })
  // covers TOTP-08
  const told = JSON.stringify([subject.events, subject.messages.messages])
  for (const never of [...codes, ...codes.map((code) => code.replaceAll('-', ''))]) t.notMatch(told, never)
})

t.test('raises the session to mfa with the first app if recovery codes are off', async (t) => {
  const subject = await factorApp(
    t,
    { mfa: { methods: ['totp'] } },
    {
      enrolled: false,
      before(host) {
        host.get(
          '/who',
          {
            onRequest: (...args) => {
              host.authority.readSession(...args)
            }
          },
          async (request) => ({ acr: request.authSession?.acr ?? null })
        )
      }
    }
  )
  const { browser } = subject
  await logIn(browser)
  t.same((await enrol(subject, browser)).codes, [])
  t.same((await browser.get('/who')).json(), { acr: 'mfa' })
})

// covers TOTP-09
t.test('stores no app before a right code, and keeps existing factors after an abandoned set-up', async (t) => {
  const subject = await factorApp(t)
  const { app, sub, browser } = subject
  const {
    factors: [former]
  } = await app.authority.factors(sub)
  const { body } = await browser.get('/auth/security/totp')
  const { action, fields } = formOf(body)
  const wrong = await browser.submit(action, { ...fields, code: '000000' })
  t.equal(wrong.statusCode, 400)
  t.match(wrong.body, 'This code is wrong')
  t.equal(
    /<code dir="ltr">[^<]+/.exec(wrong.body)?.[0],
    /<code dir="ltr">[^<]+/.exec(body)?.[0],
    'the same key again: the app has it already'
  )
  t.same((await app.authority.factors(sub)).factors, [former])
  subject.clock.step(600_000)
  const secret = (/<code dir="ltr">([A-Z2-7 ]+)</.exec(body)?.[1] ?? '').replaceAll(' ', '')
  const late = await browser.submit(action, { ...fields, code: codeFor(secret, subject.clock.now()) })
  t.equal(late.statusCode, 400, 'ten minutes later')
  t.equal((await app.authority.factors(sub)).factors.length, 1)
})

// covers SS-03 TOTP-10
t.test('accepts the enrolment of an app once, from its own user and session', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, clock } = subject
  const [ann, again] = [testBrowser(app), testBrowser(app)]
  await signUp(app, 'bob')
  const bob = testBrowser(app)
  for (const [browser, name] of [
    [ann, 'ann'],
    [again, 'ann'],
    [bob, 'bob']
  ] as const)
    await logIn(browser, name)
  const { body } = await ann.get('/auth/security/totp')
  const { action, fields } = formOf(body)
  const code = codeFor((/<code dir="ltr">([A-Z2-7 ]+)</.exec(body)?.[1] ?? '').replaceAll(' ', ''), clock.now())
  for (const other of [again, bob]) {
    const { action: own } = formOf((await other.get('/auth/security/totp')).body)
    t.equal((await other.submit(own, { ...fields, code })).statusCode, 400)
  }
  t.equal((await ann.submit(action, { ...fields, enrolment: '', code })).statusCode, 400)
  t.ok(makesCodes(await ann.submit(action, { ...fields, code })))
  const { statusCode, body: reloaded } = await ann.submit(action, { ...fields, code })
  t.equal(statusCode, 200, 'a second press shows the codes again')
  await saveCodes(ann, reloaded)
  t.equal((await ann.submit(action, { ...fields, code })).statusCode, 400)
  t.equal((await app.authority.factors(subject.sub)).factors.length, 1)
})

// covers SS-02 ADV-CVE-2026-3429 ASVS-7.5.1 SS-05 ASVS-6.3.7
t.test('requires a sign-in with the second factor in the last five minutes to change factors', async (t) => {
  const subject = await factorApp(t)
  const { app, sub, clock, browser } = subject
  const {
    factors: [factor]
  } = await app.authority.factors(sub)
  const id = factor?.id ?? ''
  const { action } = formOf((await browser.get('/auth/security')).body)
  clock.step(300_001)
  const page = await browser.get('/auth/security')
  t.match(page.body, /href="\/auth\/reauthenticate\?return_to=%2Fauth%2Fsecurity"/)
  t.notMatch(page.body, /name="decision" value="(?!sign_out")/)
  t.notMatch((await browser.get('/auth/security/totp')).body, /<svg/)
  for (const form of [
    { factor: id, decision: 'remove' },
    { factor: id, decision: 'rename', name: 'x' },
    { decision: 'codes' }
  ])
    t.equal((await browser.submit(action, form)).statusCode, 401, form.decision)

  // A token with the password only, as the host may issue.
  const { access_token: token } = await app.authority.issueTokens(sub, { amr: ['pwd'] })
  for (const [method, url, payload] of [
    ['DELETE', `/auth/factors/${id}`, undefined],
    ['PATCH', `/auth/factors/${id}`, { name: 'x' }],
    ['POST', '/auth/factors/totp', undefined],
    ['POST', '/auth/factors/recovery-codes', undefined],
    ['POST', '/auth/email', { email: 'eve@mail.example', password: PASSWORD }],
    ['DELETE', '/auth/account', { password: PASSWORD }]
  ] as const) {
    const reply = await app.inject({
      method,
      url,
      headers: bearer(token),
      ...(payload === undefined ? {} : { payload })
    })
    t.match(
      reply,
      {
        statusCode: 401,
        headers: { 'www-authenticate': /error="insufficient_user_authentication".*acr_values="mfa", max_age="300"/ }
      },
      `${method} ${url}`
    )
  }
  t.same((await app.authority.factors(sub)).factors, [factor])

  await logIn(browser, 'ann', PASSWORD, '?return_to=/auth/security')
  t.equal(
    (await browser.submit('/auth/second-factor?return_to=/auth/security', { code: subject.code() })).headers.location,
    '/auth/security'
  )
  const fresh = formOf((await browser.get('/auth/security')).body)
  t.match(
    (await browser.submit(fresh.action, { ...fresh.fields, decision: 'rename', name: 'Work phone' })).headers.location,
    /done=factor_renamed/
  )
  t.match(
    (await browser.submit(fresh.action, { ...fresh.fields, decision: 'remove' })).headers.location,
    /done=factor_removed/
  )
  t.match(await app.authority.factors(sub), { factors: [], recoveryCodesLeft: 0 })
  t.equal((await logIn(testBrowser(app))).headers.location, '/', 'the password is enough again')
  t.match(await subject.messages.next('factor_removed'), { factor: 'totp', by: 'user' })
  t.match(subject.events.find(({ name }) => name === 'factor_removed')?.payload, { kind: 'totp', by: 'user' })
})

// covers SS-03
t.test("refuses changes of another user's factors", async (t) => {
  const subject = await factorApp(t)
  const { app, sub } = subject
  await signUp(app, 'bob')
  const bob = testBrowser(app)
  await logIn(bob, 'bob')
  const { codes } = await enrol(subject, bob)
  t.equal(codes.length, 10)
  const {
    factors: [annas]
  } = await app.authority.factors(sub)
  const { action } = formOf((await bob.get('/auth/security')).body)
  for (const factor of [annas?.id ?? '', 'nobodys', '\0', 'x'.repeat(500)])
    for (const decision of ['remove', 'rename'])
      t.equal((await bob.submit(action, { factor, decision, name: 'x' })).statusCode, 404)
  t.equal((await bob.submit(action, { factor: annas?.id ?? '', decision: 'else' })).statusCode, 400)
  t.same((await app.authority.factors(sub)).factors, [annas])
  t.equal(
    (
      await bob.submit(
        action,
        { decision: 'codes' },
        { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
      )
    ).statusCode,
    403
  )
})

// covers RC-04 RC-05 RC-06 ADV-GHSA-54qx-8p8w-xhg8
t.test('replaces all recovery codes, accepts each once, and creates none without a factor', async (t) => {
  const subject = await factorApp(t)
  const { app, sub, browser } = subject
  const { action } = formOf((await browser.get('/auth/security')).body)
  const codes = codesIn(await codesPage(browser, await browser.submit(action, { decision: 'codes' })))
  t.equal(codes.length, 10)
  await subject.messages.next('factor_added')
  t.match(
    await subject.messages.next('factor_added'),
    { factor: 'recovery_codes', user: { id: sub } },
    'the person is told'
  )
  const give = async (code: string): Promise<number> => {
    const other = testBrowser(app)
    await logIn(other)
    return (await other.submit('/auth/second-factor', { recovery_code: code })).statusCode
  }
  t.equal(await give(subject.codes[0] ?? ''), 400, 'one of before')
  t.equal(await give((codes[0] ?? '').toUpperCase().replaceAll('-', ' ')), 303)
  t.equal(await give(codes[0] ?? ''), 400)
  t.match(
    subject.events.filter(({ name }) => name === 'recovery_code_used'),
    [{ payload: { left: 9 } }]
  )
  t.equal((await app.authority.factors(sub)).recoveryCodesLeft, 9)
  t.ok(await subject.messages.next('recovery_code_used'))
  // covers RC-07
  t.match(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: codes[1] }
      })
    ).json(),
    { error: 'invalid_grant' },
    'and never the first factor'
  )

  await signUp(app, 'bob')
  const { access_token: token } = await signIn(app, 'bob')
  t.match(await app.inject({ method: 'POST', url: '/auth/factors/recovery-codes', headers: bearer(token) }), {
    statusCode: 409
  })
})

t.test('adds and lists an app by JSON with an access token, and refuses its removal without the app', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, clock, sub } = subject
  const { access_token: token } = await signIn(app)
  const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
    await app.inject({ method, url, headers: bearer(token), ...(payload === undefined ? {} : { payload }) })
  t.same((await call('GET', '/auth/factors')).json(), {
    factors: [],
    recovery_codes_left: 0,
    two_step: { on: false, because: null }
  })
  const begun = (await call('POST', '/auth/factors/totp')).json<{
    enrolment: string
    secret: string
    uri: string
    qr_svg: string
  }>()
  t.match(begun, { secret: /^[A-Z2-7]{32}$/, uri: /^otpauth:\/\/totp\/localhost:ann\?secret=/, qr_svg: /^<svg/ })
  t.same((await app.authority.factors(sub)).factors, [])
  t.match((await call('POST', '/auth/factors/totp/confirm', { enrolment: begun.enrolment, code: '000000' })).json(), {
    error: 'invalid_code'
  })
  t.match(await call('POST', '/auth/factors/totp/confirm', { enrolment: 'x', code: '000000' }), {
    statusCode: 400,
    body: /invalid_token/
  })
  for (const payload of [
    {},
    { enrolment: null, code: '000000' },
    { enrolment: begun.enrolment },
    { enrolment: begun.enrolment, code: 1 },
    { enrolment: begun.enrolment, code: '000000', more: 1 }
  ])
    t.match(await call('POST', '/auth/factors/totp/confirm', payload), { statusCode: 400, body: /invalid_request/ })
  const confirmed = await call('POST', '/auth/factors/totp/confirm', {
    enrolment: begun.enrolment,
    code: codeFor(begun.secret, clock.now()),
    name: 'Phone'
  })
  t.equal(confirmed.statusCode, 201)
  const { id, recovery_codes: codes } = confirmed.json<{ id: string; recovery_codes: string[] }>()
  t.equal(codes.length, 10)
  t.match((await call('GET', '/auth/factors')).json(), {
    factors: [{ id, kind: 'totp', name: 'Phone', last_used_at: null, disabled: false }],
    recovery_codes_left: 10
  })
  t.notMatch((await call('GET', '/auth/factors')).body, begun.secret)
  t.equal((await call('DELETE', `/auth/factors/${id}`)).statusCode, 401, 'this sign-in is one by the password alone')
})

// covers SS-08 ASVS-6.4.4 ASVS-6.5.6
t.test('ends all sessions and notifies the user when the host resets the factors', async (t) => {
  const subject = await factorApp(t)
  const { app, sub, browser } = subject
  t.equal(await app.authority.removeFactor(sub, 'nobodys'), false)
  t.equal(await app.authority.resetFactors(sub), 1)
  t.same(await signedInAnywhere(browser), [])
  t.match(await app.authority.factors(sub), { factors: [], recoveryCodesLeft: 0 })
  t.match(subject.events.find(({ name }) => name === 'factor_removed')?.payload, {
    by: 'host',
    factorId: null,
    kind: null,
    requestId: null
  })
  t.equal((await logIn(testBrowser(app))).headers.location, '/')
  const told = (): number =>
    subject.events.filter(({ name }) => name === 'factor_removed').length +
    subject.messages.messages.filter(({ kind }) => kind === 'factor_removed').length
  const before = told()
  t.equal(await app.authority.resetFactors(sub), 0)
  t.equal(told(), before, 'of a second one there is nothing to tell')
  await t.rejects(app.authority.resetFactors('nobody'), { message: 'There is no such user.' })
  const { factors } = await app.authority.factors('nobody')
  t.same(factors, [])
  t.ok(ISSUER)
  t.same(cookies(await browser.get('/auth/login')), [])
})

t.test('rejects an enrolment that began before the first factor was added', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, clock, sub } = subject
  const { access_token: token } = await signIn(app)
  const post = async (url: string, payload: object = {}) =>
    await app.inject({ method: 'POST', url, headers: bearer(token), payload })
  const begin = async () => (await post('/auth/factors/totp')).json<{ enrolment: string; secret: string }>()
  const stolen = await begin()
  const own = await begin()
  t.equal(
    (await post('/auth/factors/totp/confirm', { enrolment: own.enrolment, code: codeFor(own.secret, clock.now()) }))
      .statusCode,
    201
  )
  t.match(
    await post('/auth/factors/totp/confirm', {
      enrolment: stolen.enrolment,
      code: codeFor(stolen.secret, clock.now())
    }),
    { statusCode: 400, body: /invalid_token/ }
  )
  t.equal((await app.authority.factors(sub)).factors.length, 1)
})

t.test('removes the factors with the account, and the account also if the factors stay', async (t) => {
  const subject = await factorApp(t)
  const { app, browser, broken } = subject
  await logIn(browser)
  await browser.submit('/auth/second-factor', { code: subject.code() })
  broken.add('removeFactorsOfUser')
  const headers = {
    origin: ISSUER,
    'sec-fetch-site': 'same-origin',
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }
  t.equal(
    (await app.inject({ method: 'DELETE', url: '/auth/account', headers })).statusCode,
    204,
    'an outage is no failure of the removal'
  )

  const again = await factorApp(t)
  await logIn(again.browser)
  await again.browser.submit('/auth/second-factor', { code: again.code() })
  t.equal(
    (
      await again.app.inject({
        method: 'DELETE',
        url: '/auth/account',
        headers: {
          ...headers,
          cookie: [...again.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
        }
      })
    ).statusCode,
    204
  )
  t.match(await again.store.findFactors(again.sub), { totp: [], recoveryCodesLeft: 0 })
})
