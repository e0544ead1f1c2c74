/** The first factors that count if `mfa.required` asks for a second one, and the role of an unconfirmed address. */
import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { bearer, PASSWORD, signIn } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { codeFor, enrol, factorApp, logIn } from '../../support/factors.ts'
import { answerOf, authorizePath, CLIENTS, KEYS } from '../../support/openid.ts'
import { ANN, ask, emailApp, enter } from '../email-codes/support.ts'

const SET_UP = '/auth/second-factor/set-up'
const REQUIRED: Partial<AuthorityOptions> = { keys: KEYS, clients: CLIENTS, mfa: { required: true } }

// covers ADV-Capgo-2454
t.test('meets mfa.required by an email code and a recovery code, without acr mfa', async (t) => {
  let required = false
  const subject = await emailApp(t, { ...REQUIRED, factors: memoryFactorStore(), mfa: { required: () => required } })
  const { app, browser } = subject
  const owner = testBrowser(app)
  await logIn(owner, ANN)
  const { codes } = await enrol(subject, owner)
  required = true
  await ask(browser)
  await enter(browser, (await subject.mail()).code)
  t.equal((await browser.submit('/auth/second-factor', { recovery_code: codes[0] ?? '' })).statusCode, 303)
  t.ok(answerOf(String((await browser.get(authorizePath())).headers.location))['code'], 'nothing more is asked for')
  t.match(
    answerOf(String((await browser.get(authorizePath({ prompt: 'none', acr_values: 'mfa' }))).headers.location)),
    { error: 'login_required', code: undefined }
  )
})

t.test('leads a sign-in by the host to the set-up, unless it reports two factors', async (t) => {
  for (const [amr, led] of [
    [[], true],
    [['pwd'], true],
    [['fpt'], true],
    [['pwd', 'mfa'], false]
  ] as const) {
    const subject = await factorApp(t, REQUIRED, {
      enrolled: false,
      before(app) {
        app.post('/host', async (request, reply) => {
          await app.authority.signIn(request, reply, (request.body as { sub: string }).sub, { amr: [...amr] })
        })
      }
    })
    const browser = testBrowser(subject.app)
    const reply = await subject.app.inject({
      method: 'POST',
      url: '/host',
      headers: { host: 'localhost:3000', 'sec-fetch-site': 'same-origin' },
      payload: { sub: subject.sub }
    })
    for (const { name, value } of reply.cookies) browser.cookies.set(name, value)
    const { location } = (await browser.get(authorizePath())).headers
    if (led) t.match(location, new RegExp(`^${SET_UP}\\?`), JSON.stringify(amr))
    else t.ok(answerOf(String(location))['code'], JSON.stringify(amr))
  }
})

t.test('sends the confirmation message with the sign-in if the address must be confirmed first', async (t) => {
  for (const way of ['page', 'grant']) {
    const users = memoryUserStore()
    const { app, messages } = await factorApp(t, { ...REQUIRED, users }, { enrolled: false })
    const passwordHash = (await users.findByUsername('ann'))?.passwordHash ?? ''
    await users.create?.({ username: 'bob', email: 'bob@mail.example', emailVerified: false, passwordHash })
    await users.create?.({ username: 'cyd', email: 'cyd@mail.example', emailVerified: true, passwordHash })
    for (const username of ['cyd', 'bob']) {
      if (way === 'page') t.equal((await logIn(testBrowser(app), username)).headers.location, SET_UP)
      else
        t.match(
          (
            await app.inject({
              method: 'POST',
              url: '/auth/token',
              payload: { grant_type: 'password', username, password: PASSWORD }
            })
          ).json(),
          { error: 'mfa_enrollment_required' }
        )
    }
    t.match(await messages.next('verify_email'), { user: { username: 'bob' } }, way)
    t.same(
      messages.messages.map(({ kind }) => kind),
      ['verify_email'],
      'and none to an address that is confirmed'
    )
  }
})

t.test('rejects an app for an unconfirmed address by access token, also with an earlier enrolment', async (t) => {
  const users = memoryUserStore()
  const { app, clock, messages, store } = await factorApp(t, { users }, { enrolled: false })
  const passwordHash = (await users.findByUsername('ann'))?.passwordHash ?? ''
  const { id } = (await users.create?.({
    username: 'bob',
    email: 'bob@mail.example',
    emailVerified: false,
    passwordHash
  })) ?? { id: '' }
  const { access_token: token } = await signIn(app, 'bob')
  const post = async (url: string, payload: object = {}) =>
    await app.inject({ method: 'POST', url: `/auth/factors/totp${url}`, headers: bearer(token), payload })
  const refused = { statusCode: 403 }
  const asked = await post('')
  t.match(asked, refused)
  t.match(asked.json(), { error: 'access_denied', error_reason: 'email_not_verified' })
  t.match(await messages.next('verify_email'), { user: { username: 'bob' } }, 'the message for it is sent')
  await users.update?.(id, { emailVerified: true })
  const { enrolment, secret } = (await post('')).json<{ enrolment: string; secret: string }>()
  await users.update?.(id, { emailVerified: false })
  t.match(await post('/confirm', { enrolment, code: codeFor(secret, clock.now()) }), refused)
  t.same((await store.findFactors(id)).totp, [])
  await users.update?.(id, { emailVerified: true })
  t.match(await post('/confirm', { enrolment, code: codeFor(secret, clock.now()) }), { statusCode: 201 })
})

t.test('resends the confirmation message from the set-up page at most once in five minutes', async (t) => {
  const users = memoryUserStore()
  const { app, clock, messages } = await factorApp(t, { ...REQUIRED, users }, { enrolled: false })
  await users.create?.({
    username: 'bob',
    email: 'bob@mail.example',
    emailVerified: false,
    passwordHash: (await users.findByUsername('ann'))?.passwordHash ?? ''
  })
  const browser = testBrowser(app)
  await logIn(browser, 'bob')
  await messages.next('verify_email')
  const resend = async () => await browser.submit(SET_UP, { decision: 'resend' })
  t.match(await resend(), { statusCode: 200, body: /role="status"/ })
  clock.step(300_000)
  t.match(await resend(), { statusCode: 200, body: /role="status"/ })
  t.match(await messages.next('verify_email'), { user: { username: 'bob' } })
  t.equal(messages.messages.length, 2)
  t.notMatch((await browser.get(SET_UP)).body, /role="status"/)
})
