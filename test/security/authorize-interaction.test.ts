import { REPLACED_SECRET_MS } from '../../lib/ports/session-store.ts'
import { cookieName } from '../support/cookies.ts'
import { generateKeyPairSync } from 'node:crypto'
import t from '../support/tap.ts'
import { PASSWORD, signUp } from '../support/app.ts'
import { formAction, testBrowser } from '../support/browser.ts'
import { decodeJwt } from '../support/jwt.ts'
import {
  answerOf,
  authorizeAs,
  authorizePath,
  KEYS,
  openidApp,
  redeem,
  suitePath,
  tokensOf
} from '../support/openid.ts'
import { forgedJwt } from './support/forged-jwt.ts'
import { recordedState } from './support/recorded-state.ts'

const FOREIGN = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' })
const RS = { alg: 'RS256', kid: 'rs', typ: 'JWT' }
const THIRD = { client_id: 'third', redirect_uri: 'https://third.example/cb' }

// covers OIDC-3.1.2.1 OIDF-oidcc-prompt-none-not-logged-in
t.test('shows no page and changes nothing with prompt=none', async (t) => {
  const { state, writes } = recordedState()
  const { browser, clock, close } = await openidApp({ state })
  t.teardown(close)
  const silent = async (params = {}, headers = {}) => {
    writes.length = 0
    const reply = await browser.get(authorizePath({ prompt: 'none', state: 's'.repeat(128), ...params }), headers)
    t.equal(reply.statusCode, 303)
    t.equal(reply.headers['set-cookie'], undefined, 'no cookie comes or goes')
    return answerOf(String(reply.headers.location))
  }
  t.match(await silent(), { error: 'login_required', state: 's'.repeat(128) })
  t.match(
    await silent({}, { cookie: `${cookieName('session')}=${'A'.repeat(38)}.${'A'.repeat(43)}` }),
    { error: 'login_required' },
    "ASVS-7.2.4 a planted cookie is nobody's"
  )
  t.same(writes, [])
  await authorizeAs(browser, authorizePath())
  t.match(await silent(), { code: /./, state: 's'.repeat(128) })
  t.match(await silent(THIRD), { error: 'consent_required' })
  t.same(writes, [])
  clock.step(5000)
  t.match(await silent({ max_age: '5' }), { code: /./ })
  t.match(await silent({ max_age: '4' }), { error: 'login_required' })
  t.match(await silent({ max_age: '0' }), { error: 'login_required' })
  t.same(writes, [])
  clock.step(7_200_000)
  t.match(await silent(), { error: 'login_required' }, 'the session has idled out')
})

// covers OIDC-3.1.2.1 ASVS-7.6.1 OIDF-oidcc-max-age-1 OIDF-oidcc-max-age-10000
t.test('requires a new sign-in once max_age has passed, and reports auth_time', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, browser, clock } = subject
  const authTime = async (code: string | undefined): Promise<unknown> =>
    decodeJwt((await redeem(app, code ?? '')).json().id_token).claims['auth_time']
  const first = await authTime((await authorizeAs(browser, authorizePath({ max_age: '10000' })))['code'])
  t.equal(first, clock.now() / 1000)
  const rows: Array<[step: number, maxAge: string, asks: boolean]> = [
    [10_000, '10', false],
    [1, '10', true],
    [0, '0', false],
    [1, '0', true],
    [1000, '1', false],
    [6_998_999, '7000', false],
    [1001, '7000', true]
  ]
  for (const [step, maxAge, asks] of rows) {
    clock.step(step)
    const before = clock.now()
    const { url } = await browser.follow(await browser.get(authorizePath({ max_age: maxAge })))
    t.equal(url.includes('/auth/login?'), asks, `max_age ${maxAge} after ${step} ms`)
    const { code } = asks ? await authorizeAs(browser, authorizePath({ max_age: maxAge })) : answerOf(url)
    const time = await authTime(code)
    t.equal(Number.isInteger(time), true, 'auth_time is there')
    if (asks) t.equal(time, Math.floor(before / 1000), 'and new')
  }
})

// covers OIDC-3.1.2.1 OIDF-oidcc-prompt-login ADV-CVE-2023-6787 ASVS-7.2.4
t.test('asks a signed-in user to sign in again with prompt=login', async (t) => {
  const { app, ann, browser, clock, close } = await openidApp()
  t.teardown(close)
  const bob = await signUp(app, 'bob')
  const subOf = async (answer: Record<string, string>): Promise<unknown> =>
    decodeJwt((await redeem(app, answer['code'] ?? '')).json().id_token).claims['sub']
  await authorizeAs(browser, authorizePath())
  const [[name, value] = ['', '']] = [...browser.cookies]
  clock.step(60_000)
  for (const prompt of ['login', 'select_account', 'login consent']) {
    const { reply, url } = await browser.follow(await browser.get(authorizePath({ prompt })))
    t.match(url, '/auth/login?', prompt)
    t.equal(reply.statusCode, 200)
    const wrong = await browser.submit(url, { username: 'bob', password: 'wrong' })
    t.notOk('location' in wrong.headers)
    t.equal(wrong.headers['set-cookie'], undefined, 'a wrong password touches no cookie')
  }
  t.equal(await subOf(await authorizeAs(browser, authorizePath({ prompt: 'none' }))), ann.sub, 'ann is still the one')
  t.equal(browser.cookies.get(name), value)
  const again = await authorizeAs(browser, authorizePath({ prompt: 'login' }))
  t.equal(await subOf(again), ann.sub)
  t.not(browser.cookies.get(name), value, 'a new cookie')
  const old = testBrowser(app)
  old.cookies.set(name, value)
  clock.step(REPLACED_SECRET_MS)
  t.match(
    await authorizeAs(old, authorizePath({ prompt: 'none' })),
    { error: 'login_required' },
    'and the old one is dead'
  )
  t.equal(
    await subOf(await authorizeAs(browser, authorizePath({ prompt: 'login' }), { username: 'bob' })),
    bob.sub,
    'who signs in is who it is'
  )
  t.equal(await subOf(await authorizeAs(browser, authorizePath({ prompt: 'none' }))), bob.sub)
})

// covers OIDC-3.1.2.2 OIDF-oidcc-id-token-hint ASVS-6.8.2
t.test('gives no code when a valid id_token_hint names another user, and ignores an invalid hint', async (t) => {
  const subject = await openidApp()
  t.teardown(subject.close)
  const { app, ann, browser, clock } = subject
  const bob = await signUp(app, 'bob')
  const { id_token: ofAnn = '', access_token: access } = await tokensOf(subject)
  const { claims } = decodeJwt(ofAnn)
  const bobs = testBrowser(app)
  const { code = '' } = await authorizeAs(bobs, authorizePath(), { username: 'bob' })
  const { id_token: hintOfBob } = (await redeem(app, code)).json()
  t.equal(decodeJwt(hintOfBob).claims['sub'], bob.sub)
  clock.step(901_000)
  // A hint that can't be verified counts as none: its key may be gone.
  const rows: Array<[what: string, hint: string, error: string | undefined]> = [
    ["ann's, expired", ofAnn, undefined],
    ["bob's", hintOfBob, 'login_required'],
    ["another client's", forgedJwt(KEYS[1] ?? null, RS, { ...claims, aud: 'web' }), undefined],
    ['a foreign key', forgedJwt(FOREIGN, RS, claims), undefined],
    ['an unknown kid', forgedJwt(KEYS[1] ?? null, { ...RS, kid: 'x' }, claims), undefined],
    ['no kid', forgedJwt(KEYS[1] ?? null, { alg: 'RS256', typ: 'JWT' }, claims), undefined],
    ['alg none', forgedJwt(null, { ...RS, alg: 'none' }, claims), undefined],
    ['no signature', forgedJwt(null, RS, claims), undefined],
    ['another issuer', forgedJwt(KEYS[1] ?? null, RS, { ...claims, iss: 'https://evil.example' }), undefined],
    ['a list of issuers', forgedJwt(KEYS[1] ?? null, RS, { ...claims, iss: [claims['iss']] }), undefined],
    ['no subject', forgedJwt(KEYS[1] ?? null, RS, { ...claims, sub: undefined }), undefined],
    [
      'edited',
      ofAnn.replace(/\.[^.]+\./, `.${Buffer.from(JSON.stringify({ ...claims, sub: bob.sub })).toString('base64url')}.`),
      undefined
    ],
    ['ASVS-9.2.2 an access token', access, undefined],
    [
      'ASVS-9.2.2 a logout token',
      forgedJwt(KEYS[1] ?? null, { ...RS, typ: 'logout+jwt' }, { ...claims, events: {} }),
      undefined
    ],
    [
      'ASVS-9.2.2 an access token signed like an ID token',
      forgedJwt(KEYS[1] ?? null, { ...RS, typ: 'at+jwt' }, claims),
      undefined
    ],
    ['nonsense', '..', undefined],
    ['five parts', `${ofAnn}.a.b`, undefined],
    ['8 kB', 'a'.repeat(7000), undefined]
  ]
  for (const [what, hint, error] of rows) {
    for (const prompt of [undefined, 'none']) {
      const { headers } = await browser.get(authorizePath({ id_token_hint: hint, prompt }))
      const answer = answerOf(String(headers.location))
      t.equal(answer['error'], error, `${what}, prompt ${prompt}`)
      t.equal('code' in answer, error === undefined, what)
    }
  }
  t.match(
    await authorizeAs(testBrowser(app), authorizePath({ id_token_hint: ofAnn }), { username: 'bob' }),
    { error: 'login_required', code: undefined },
    'another one than the hinted signs in'
  )
  t.match(await authorizeAs(testBrowser(app), authorizePath({ id_token_hint: ofAnn })), { code: /./ })
  for (const [sub, error] of [
    [ann.sub, undefined],
    [bob.sub, 'login_required'],
    ['', 'login_required'],
    [ann.sub.toUpperCase() === ann.sub ? ann.sub.toLowerCase() : ann.sub.toUpperCase(), 'login_required']
  ] as const) {
    const { headers } = await browser.get(
      authorizePath({ claims: JSON.stringify({ id_token: { sub: { value: sub } } }) })
    )
    t.equal(answerOf(String(headers.location))['error'], error, `OIDC-5.5.1 sub ${sub}`)
  }
})

// covers OIDC-3.1.2.1 OIDF-oidcc-login-hint ENUM-login
t.test('shows the same sign-in page for the login_hint of a known and an unknown user', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  await signUp(app, 'known.name')
  const page = async (hint: string): Promise<string> =>
    (await browser.follow(await browser.get(authorizePath({ login_hint: hint })))).reply.body.replaceAll(hint, '*')
  t.equal(await page('known.name'), await page('other.name'))
})

// covers R6749-10.12 OIDC-3.1.2.3 ASVS-3.5.1 ASVS-7.6.2
t.test('refuses sign-in and consent forms that another site posts', async (t) => {
  const { state, writes } = recordedState()
  const { app, browser, events, close } = await openidApp({ state })
  t.teardown(close)
  const path = authorizePath(THIRD)
  const login = (await browser.get(path)).headers.location as string
  const consent = await browser.follow(await browser.submit(login, { username: 'ann', password: PASSWORD }))
  t.match(consent.url, '/auth/consent?')
  const forms: Array<[string, Record<string, string>]> = [
    [login, { username: 'ann', password: PASSWORD }],
    [formAction(consent.reply.body), { decision: 'allow' }],
    [formAction(consent.reply.body), { decision: 'deny' }]
  ]
  const origins: Array<Record<string, string>> = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site', origin: 'http://evil.localhost:3000' },
    { 'sec-fetch-site': 'cross-site', origin: 'null' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://localhost:3000' },
    { 'sec-fetch-site': '', origin: 'null' },
    { 'sec-fetch-site': '', origin: 'http://localhost:3000.evil.example' },
    { 'sec-fetch-site': '', origin: 'https://localhost:3000' },
    { 'sec-fetch-site': '', origin: 'http://localhost' }
  ]
  writes.length = events.length = 0
  for (const [url, form] of forms) {
    for (const headers of origins) {
      const reply = await browser.submit(url, form, headers)
      t.equal(reply.statusCode, 403, JSON.stringify(headers))
      t.equal(reply.headers.location ?? reply.headers['set-cookie'], undefined)
    }
    const bare = await app.inject({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', host: 'localhost:3000' },
      payload: new URLSearchParams(form).toString()
    })
    t.equal(bare.statusCode, 403, 'neither header')
  }
  for (const [url, form] of forms) {
    const query = new URLSearchParams(form).toString()
    const reply = await browser.get(`${url}&${query}`)
    t.notMatch(reply.headers.location ?? '', 'code=', 'ASVS-3.5.3 nor does a GET')
  }
  t.same([writes, events], [[], []])
  t.match(await authorizeAs(browser, authorizePath({ ...THIRD, prompt: 'none' })), { error: 'consent_required' })
})

// covers ASVS-2.3.1 R9700-4.11.2
t.test('requires sign-in and consent before a code', async (t) => {
  const { state, writes } = recordedState()
  const { browser, close } = await openidApp({ state })
  t.teardown(close)
  const query = authorizePath(THIRD).split('?')[1] ?? ''
  const early = await browser.submit(`/auth/consent?${query}`, { decision: 'allow' })
  t.match(early.headers.location, '/auth/login?', 'no consent before a sign-in')
  t.same(writes, [])
  const consent = await browser.follow(
    await browser.submit(early.headers.location as string, { username: 'ann', password: PASSWORD })
  )
  const action = formAction(consent.reply.body)
  writes.length = 0
  for (const form of [{}, { decision: '' }, { decision: 'yes' }, { decision: 'allowed' }] as Array<
    Record<string, string>
  >)
    t.equal((await browser.submit(action, form)).statusCode, 200, 'asked again')
  const widened = action.replace('scope=openid', 'scope=openid+email')
  t.equal(
    (await browser.submit(action.replace(/session=[^&]+/, 'session=other'), { decision: 'allow' })).statusCode,
    200,
    'of another session: asked again'
  )
  t.same(writes, [])
  t.equal((await browser.submit(action, { decision: 'allow' })).statusCode, 303)
  t.match(
    (await browser.follow(await browser.get(widened.replace('/consent?', '/authorize?')))).url,
    '/auth/consent?',
    'more scope is asked for again'
  )
  t.match(await authorizeAs(browser, authorizePath(THIRD)), { code: /./ })
  t.match(
    (await browser.get(`/auth/consent?${query}`)).headers.location,
    /^https:\/\/third\.example\/cb\?code=/,
    'an old consent page leads on'
  )
})

// covers OIDC-15.1 OIDF-oidcc-display-page OIDF-oidcc-display-popup OIDF-oidcc-ui-locales OIDF-oidcc-claims-locales
// OIDF-oidcc-ensure-request-with-acr-values-succeeds
t.test('issues a code for known and unknown values of optional parameters such as display', async (t) => {
  const { app, browser, close } = await openidApp()
  t.teardown(close)
  await authorizeAs(browser, suitePath())
  for (const params of [
    { display: 'page' },
    { display: 'popup' },
    { display: 'touch' },
    { display: 'nonsense' },
    { ui_locales: 'se' },
    { ui_locales: '<x> ../..' },
    { claims_locales: 'se' },
    { acr_values: '1 2' },
    { login_hint: 'nobody' },
    { claims: '{"id_token":{"acr":{"value":"1"}}}' }
  ] as Array<Record<string, string>>) {
    const { code = '' } = await authorizeAs(browser, authorizePath({ ...params, prompt: 'none' }))
    const { id_token: idToken } = (await redeem(app, code)).json()
    t.match(decodeJwt(idToken).claims, { acr: 'password', amr: ['pwd'] }, JSON.stringify(params))
  }
})
