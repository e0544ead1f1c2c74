/** Navigation around the second step: the browser's own buttons, consent, a reset password, a sign-up. */
import { cookieName } from '../../support/cookies.ts'
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryState, memoryUserStore } from '../../../lib/index.ts'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { bearer, PASSWORD, signIn, signUp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { enrol, factorApp, formOf, logIn } from '../../support/factors.ts'
import { answerOf, authorizePath, CLIENTS, KEYS } from '../../support/openid.ts'

const NEXT = 'a better horse battery'

// covers SF-05
t.test('ignores a repeated form of the second step, and keeps the session', async (t) => {
  const subject = await factorApp(t)
  const { app, sub } = subject
  const browser = testBrowser(app)
  await logIn(browser)
  const ticket = browser.cookies.get(cookieName('step')) ?? ''
  const code = subject.code()
  const send = async (given: string) => await browser.submit('/auth/second-factor?return_to=/cart', { code: given })
  t.match(await send(code), { statusCode: 303, headers: { location: '/cart' } })
  const session = browser.cookies.get(cookieName('session'))
  const toLogin = { statusCode: 303, headers: { location: '/auth/login?return_to=%2Fcart' } }
  t.match(await browser.get('/auth/second-factor?return_to=/cart'), toLogin)
  t.match(await send(code), toLogin, 'and no guess')
  browser.cookies.set(cookieName('step'), ticket)
  t.match(await send(code), { statusCode: 400, body: /was used already/ }, 'with the ticket too')
  t.equal(browser.cookies.get(cookieName('session')), session)
  t.equal((await browser.get('/auth/account')).statusCode, 200)
  t.equal((await app.authority.sessions(sub)).length, 2)
})

// covers SF-07
t.test('restarts the sign-in after ten minutes, and continues the authorization request', async (t) => {
  const subject = await factorApp(t, { keys: KEYS, clients: CLIENTS })
  const browser = testBrowser(subject.app)
  const { url } = await browser.follow(await browser.get(authorizePath()))
  const asked = await logIn(browser, 'ann', PASSWORD, new URL(url).search)
  subject.clock.step(600_000)
  const again = await browser.submit(String(asked.headers.location), { code: subject.code() })
  t.match(again, { statusCode: 303, headers: { location: /^\/auth\/login\?client_id=spa/ } })
  const next = await browser.submit(String(again.headers.location), { username: 'ann', password: PASSWORD })
  const done = await browser.follow(await browser.submit(String(next.headers.location), { code: subject.code() }))
  t.ok(answerOf(done.url)['code'], done.url)
})

// covers SF-08
t.test('asks for consent after the second step', async (t) => {
  const subject = await factorApp(t, { keys: KEYS, clients: CLIENTS })
  const browser = testBrowser(subject.app)
  const { url } = await browser.follow(
    await browser.get(authorizePath({ client_id: 'third', redirect_uri: 'https://third.example/cb' }))
  )
  const asked = await logIn(browser, 'ann', PASSWORD, new URL(url).search)
  const done = await browser.follow(await browser.submit(String(asked.headers.location), { code: subject.code() }))
  t.match(done.url, /\/auth\/consent\?/)
  t.equal(done.reply.statusCode, 200)
  t.same(await subject.app.authority.consents(subject.sub), [])
})

// covers ADV-KC-12759 ASVS-6.4.3
t.test('keeps the second factor after a password reset', async (t) => {
  const subject = await factorApp(t)
  const { app, sub } = subject
  await app.authority.startPasswordReset(sub)
  const { token } = await subject.messages.next('password_reset')
  const browser = testBrowser(app)
  t.equal((await browser.submit('/auth/reset-password', { token: token ?? '', password: NEXT })).statusCode, 303)
  t.notOk(browser.cookies.has(cookieName('session')))
  t.equal((await logIn(browser, 'ann', NEXT)).headers.location, '/auth/second-factor')
  t.match(await app.authority.factors(sub), { factors: [{ kind: 'totp' }], recoveryCodesLeft: 10 })
  t.match(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/token',
        payload: { grant_type: 'password', username: 'ann', password: NEXT }
      })
    ).json(),
    { error: 'mfa_required' }
  )
})

// covers ADV-CVE-2026-27946
t.test('rejects registrations and profile updates that set emailVerified, factors or the passkey handle', async (t) => {
  const users = memoryUserStore()
  const subject = await factorApp(t, { users }, { enrolled: false })
  const { app } = subject
  const claimed: Record<string, unknown> = {
    emailVerified: true,
    email_verified: true,
    factors: [{ kind: 'totp' }],
    handle: 'x'.repeat(59),
    deviceEpoch: 7,
    passwordHash: 'x',
    disabled: false,
    id: subject.sub
  }
  const { access_token: token } = await signIn(app)
  for (const [name, value] of Object.entries(claimed)) {
    t.match(
      await app.inject({
        method: 'POST',
        url: '/auth/register',
        payload: { username: `eve ${name}`, password: PASSWORD, [name]: value }
      }),
      { statusCode: 400 },
      name
    )
    t.equal(await users.findByUsername(`eve ${name}`), null)
    t.not(
      (
        await app.inject({
          method: 'PATCH',
          url: '/auth/profile',
          headers: bearer(token),
          payload: { [name]: value }
        })
      ).statusCode,
      200,
      name
    )
  }
  const browser = testBrowser(app)
  await browser.submit('/auth/signup', {
    username: 'eve',
    password: PASSWORD,
    email_verified: 'true',
    emailVerified: 'true'
  })
  const { id = '', emailVerified } = (await users.findByUsername('eve')) ?? {}
  t.not(emailVerified, true)
  t.same((await app.authority.factors(id)).factors, [])
})

// covers ENUM-f1 ENUM-f2 ENUM-f3 ASVS-6.3.8
t.test('reveals neither accounts nor second factors before a right password', async (t) => {
  const calls: string[] = []
  const told = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get(target, name, receiver) {
        const found: unknown = Reflect.get(target, name, receiver)
        if (typeof found !== 'function') return found
        return (...args: unknown[]): unknown => {
          calls.push(String(name))
          return Reflect.apply(found, target, args)
        }
      }
    })
  const state = memoryState()
  const factors: FactorStore = told(memoryFactorStore())
  const subject = await factorApp(t, {
    users: told(memoryUserStore()),
    factors,
    state: {
      ...state,
      browserSessions: told(state.browserSessions),
      tokens: told(state.tokens),
      oneTimeTokens: told(state.oneTimeTokens)
    }
  })
  const { app } = subject
  await signUp(app, 'bob')
  const seen = async (username: string): Promise<unknown> => {
    calls.length = 0
    const browser: TestBrowser = testBrowser(app)
    const page = await browser.get(`/auth/login?login_hint=${username}`)
    const wrong = await browser.submit(formOf(page.body).action, { username, password: 'not the password' })
    const grant = await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username, password: 'not the password' }
    })
    return [page.statusCode, page.body, wrong.statusCode, wrong.body, grant.statusCode, grant.body, calls].map((part) =>
      JSON.stringify(part)
        .replaceAll(username, 'NAME')
        .replaceAll(/[\w-]{54,}/g, 'CHALLENGE')
    )
  }
  const ann = await seen('ann')
  t.same(await seen('bob'), ann, 'without a second factor')
  t.same(await seen('nobody7'), ann, 'without an account')
  const owner = testBrowser(app)
  await logIn(owner, 'bob')
  await enrol(subject, owner)
  t.same(await seen('bob'), ann)
})
