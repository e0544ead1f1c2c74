/** "That wasn’t me": the links with which the owner of a mailbox undoes a change of the account. */
import t from '../support/tap.ts'
import { memoryState } from '../../lib/index.ts'
import { softPasskey } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signIn, signUp, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { logIn } from '../support/factors.ts'
import { fakeConnection, fakeUpstream, SECRET } from '../support/fake-upstream.ts'
import { addWith } from '../support/passkeys.ts'
import { giveSecondFactor, secondFactorOf } from '../support/second-factor.ts'
import { ANN, linkOf, NEXT, scene, THIEF } from './support/undo.ts'

const HOURS = 3_600_000

t.test('removes the second factor of a thief by the undo link, but not by a password reset', async (t) => {
  const test = await scene(t)
  const { app, sub, thief, press, token, reset, clock } = test
  const count = async (): Promise<number> => (await app.authority.factors(sub)).factors.length
  await logIn(thief, ANN)
  const { give } = await secondFactorOf(test, thief)
  const link = await linkOf(test, 'factor_added')
  await app.inject({ method: 'POST', url: '/auth/password-reset', payload: { username: ANN } })
  t.equal(await reset(NEXT), 204)
  t.match((await token(NEXT)).json(), { error: 'mfa_required' }, 'a reset ends no factor that is new')
  clock.step(400_000)
  // The thief changes the password and adds a second factor. Neither voids the link.
  await giveSecondFactor(test, sub)
  await logIn(thief, ANN, NEXT)
  t.equal((await give(thief)).statusCode, 303)
  const page = await testBrowser(app).get(`/auth/undo?token=${link}`)
  t.match(page, { statusCode: 200, body: /That wasn’t me/ })
  t.equal(await count(), 2, 'to open the page changes nothing')
  t.match(await press(link), { statusCode: 200, body: /The change is undone/ })
  t.equal(await count(), 0)
  t.equal((await thief.get('/auth/account')).statusCode, 303, 'the thief is signed out')
  t.match(await test.messages.next('factor_removed'), { user: { email: ANN } })
  t.equal(await reset(`${NEXT} again`), 204)
  t.equal((await token(`${NEXT} again`)).statusCode, 200)
  t.match(await press(link), { statusCode: 200, body: /The change is undone/ }, 'it tells what it did')
  t.equal((await token(`${NEXT} again`)).statusCode, 200, 'it acts once')
  clock.step(300_000)
  t.match(await press(link), { statusCode: 400 })
})

for (const what of ['factor_added', 'email_changed'] as const)
  t.test(`${what}: answers 50 uses of one undo link the same, and sends one message`, async (t) => {
    const test = await scene(t, { rateLimit: false })
    const { app, thief, messages, press, reset } = test
    if (what === 'email_changed') {
      const { access_token: accessToken } = await signIn(app, ANN)
      const payload = { email: THIEF }
      await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(accessToken), payload })
      const { token } = await messages.next('email_change')
      await app.inject({ method: 'POST', url: '/auth/email/verify', payload: { token } })
    } else {
      await logIn(thief, ANN)
      await secondFactorOf(test, thief)
    }
    const link = await linkOf(test, what)
    const answers = await Promise.all(Array.from({ length: 50 }, async () => await press(link)))
    t.same([...new Set(answers.map(({ statusCode }) => statusCode))], [200])
    t.match(await press(link), { statusCode: 200, body: /The change is undone/ })
    t.equal(await reset(NEXT), 204)
    await app.close()
    t.equal(messages.messages.filter(({ kind }) => kind === 'password_reset').length, 1)
  })

t.test('accepts the undo link after the thief replaced the first factor with another one', async (t) => {
  const test = await scene(t)
  const { app, sub, thief, press, token, reset, clock } = test
  await logIn(thief, ANN)
  await secondFactorOf(test, thief)
  const link = await linkOf(test, 'factor_added')
  const [first] = (await app.authority.factors(sub)).factors
  clock.step(400_000)
  await giveSecondFactor(test, sub)
  t.equal(await app.authority.removeFactor(sub, first?.id ?? ''), true)
  t.match(await press(link), { statusCode: 200, body: /The change is undone/ })
  t.same((await app.authority.factors(sub)).factors, [])
  t.equal(await reset(NEXT), 204)
  t.equal((await token(NEXT)).statusCode, 200)
})

t.test('expires the undo link of the first factor after 72 hours, and rejects an invalid one', async (t) => {
  const test = await scene(t)
  const { app, sub, thief, press, clock } = test
  await logIn(thief, ANN)
  await secondFactorOf(test, thief)
  const link = await linkOf(test, 'factor_added')
  clock.step(72 * HOURS)
  t.equal((await testBrowser(app).get(`/auth/undo?token=${link}`)).statusCode, 400)
  t.equal((await press(link)).statusCode, 400)
  t.equal((await app.authority.factors(sub)).factors.length, 1)
  for (const bad of ['x', `${link.slice(0, -1)}${link.endsWith('A') ? 'Q' : 'A'}`])
    t.equal((await press(bad)).statusCode, 400, bad)
})

t.test('restores the former address by its undo link after a thief changed password, link and address', async (t) => {
  const test = await scene(t)
  const { app, sub, users, messages, press, reset, clock } = test
  const { access_token: thief } = await signIn(app, ANN)
  const change = async (email: string, accessToken: string): Promise<void> => {
    const asked = { method: 'POST', url: '/auth/email', headers: bearer(accessToken), payload: { email } } as const
    t.equal((await app.inject(asked)).statusCode, 202)
    const payload = { token: (await messages.next('email_change')).token }
    t.equal((await app.inject({ method: 'POST', url: '/auth/email/verify', payload })).statusCode, 204)
  }
  await change(THIEF, thief)
  const link = await linkOf(test, 'email_changed')
  const password = { current_password: PASSWORD, new_password: NEXT }
  const changed = { method: 'POST', url: '/auth/password', headers: bearer(thief), payload: password } as const
  t.equal((await app.inject(changed)).statusCode, 204)
  await users.linkIdentity(sub, {
    issuer: 'https://op.example',
    subject: 'thief',
    connection: 'op',
    linkedAt: clock.now(),
    lastUsedAt: 0
  })
  clock.step(1000)
  await change('other@evil.example', thief)
  const second = await messages.next('email_changed')
  t.match(second, { user: { email: THIEF } })
  t.equal(second.url, undefined, 'the mailbox of the thief gets no link')
  t.match((await testBrowser(app).get(`/auth/undo?token=${link}`)).body, 'other@evil.example')
  t.match(await press(link), { statusCode: 200, body: /The change is undone/ })
  t.match(await users.findById(sub), { username: ANN, email: ANN, emailVerified: true })
  t.strictSame(await users.listIdentities(sub), [])
  t.equal((await app.inject({ url: '/me', headers: bearer(thief) })).statusCode, 401)
  t.equal(await reset(`${NEXT} again`), 204)
  await signIn(app, ANN, `${NEXT} again`)
  clock.step(300_000)
  t.equal((await press(link)).statusCode, 400, 'it acts once')
})

t.test('the undo link of an email change removes second factors added since then, and keeps older ones', async (t) => {
  const test = await scene(t)
  const { app, sub, press, reset, clock, messages, token } = test
  const { access_token: thief } = await signIn(app, ANN)
  await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(thief), payload: { email: THIEF } })
  await giveSecondFactor(test, sub)
  const [own] = (await app.authority.factors(sub)).factors
  clock.step(1000)
  const payload = { token: (await messages.next('email_change')).token }
  await app.inject({ method: 'POST', url: '/auth/email/verify', payload })
  const link = await linkOf(test, 'email_changed')
  await giveSecondFactor(test, sub, 'KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU')
  t.equal((await app.authority.factors(sub)).factors.length, 2)
  t.equal((await press(link)).statusCode, 200)
  t.same((await app.authority.factors(sub)).factors, [own])
  t.match(await messages.next('factor_removed'), { user: { email: ANN } })
  t.equal(await reset(NEXT), 204)
  t.match((await token(NEXT)).json(), { error: 'mfa_required' })
})

t.test('rejects the undo link of an email change to a domain that a connection enforces since then', async (t) => {
  const shared = { state: memoryState(), secret: SECRET }
  const test = await scene(t, shared)
  const { app, sub, users, factors, press, clock } = test
  const { access_token: token } = await signIn(app, ANN)
  const asked = { email: 'ann@acme.example' }
  await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(token), payload: asked })
  const payload = { token: (await test.messages.next('email_change')).token }
  await app.inject({ method: 'POST', url: '/auth/email/verify', payload })
  const link = await linkOf(test, 'email_changed')

  const enforcing = await testApp({
    ...shared,
    users,
    factors,
    clock,
    registration: { username: 'email' },
    connections: [fakeConnection(fakeUpstream(), { domains: ['acme.example'], enforce: true })]
  })
  t.teardown(enforcing.close)
  const reply = await testBrowser(enforcing.app).submit('/auth/undo', { token: link })
  t.equal(reply.statusCode, 400)
  t.match(await users.findById(sub), { username: 'ann@acme.example', email: 'ann@acme.example' })
  t.equal((await press(link)).statusCode, 200, 'where the domain is not enforced it does')
})

t.test('restores the former address after a sign-up with it by another user', async (t) => {
  const test = await scene(t)
  const { app, sub, users, press } = test
  const { access_token: thief } = await signIn(app, ANN)
  await app.inject({ method: 'POST', url: '/auth/email', headers: bearer(thief), payload: { email: THIEF } })
  const payload = { token: (await test.messages.next('email_change')).token }
  await app.inject({ method: 'POST', url: '/auth/email/verify', payload })
  const link = await linkOf(test, 'email_changed')
  await signUp(app, ANN)
  t.equal((await press(link)).statusCode, 200)
  t.match(await users.findById(sub), { username: THIEF, email: ANN })
  t.match(await test.messages.next('password_reset'), { user: { id: sub, email: ANN } })
})

t.test('lets the reader of the new address refuse an email change, and tells the old address', async (t) => {
  const test = await scene(t)
  const { app, sub, users, messages } = test
  const { access_token: token } = await signIn(app, ANN)
  await app.inject({
    method: 'POST',
    url: '/auth/email',
    headers: bearer(token),
    payload: { email: 'new@example.com' }
  })
  const mail = await messages.next('email_change')
  const browser = testBrowser(app)
  t.match((await browser.get(mail.url)).body, /name="decision" value="not_me"/)
  const { reply: stopped } = await browser.follow(
    await browser.submit('/auth/verify-email', { token: mail.token, decision: 'not_me' })
  )
  t.match(stopped, { statusCode: 200, body: /The email stays as it was/ })
  t.match(await messages.next('email_change_refused'), { user: { email: ANN } })
  t.equal((await browser.submit('/auth/verify-email', { token: mail.token })).statusCode, 400, 'the link is used up')
  t.match(await users.findById(sub), { username: ANN })
  await signIn(app, ANN)
})

t.test('sends no undo link without pages', async (t) => {
  const test = await scene(t, { pages: false })
  const { access_token: token } = await signIn(test.app, ANN)
  await addWith(test, softPasskey({ origin: ISSUER }), token)
  t.equal((await test.messages.next('factor_added')).url, undefined)
  t.equal((await test.app.inject({ url: '/auth/undo?token=x' })).statusCode, 404)
})
