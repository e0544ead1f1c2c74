/** Sign-in by an emailed code for a user with an authenticator app. */
import { memoryFactorStore, memoryUserStore, type User, type UserStore } from '../../../lib/index.ts'
import { softPasskey, totpCode } from '../../../lib/testing/index.ts'
import { ISSUER, PASSWORD, signIn } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { cookieName } from '../../support/cookies.ts'
import { codeFor, enrol, logIn } from '../../support/factors.ts'
import { answerOn } from '../../support/passkey-pages.ts'
import t from '../../support/tap.ts'
import { ANN, ask, emailApp, enter, hasSession } from '../email-codes/support.ts'

t.test('signs a user with an imported app in by an emailed code only after a code of the app', async (t) => {
  const factors = memoryFactorStore()
  const subject = await emailApp(t, { factors }, { verified: false })
  const { app, sub, users, clock, browser } = subject
  const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
  await app.authority.importTotp(sub, { secret })
  const before = await users.findById(sub)
  await ask(browser)
  const reply = await enter(browser, (await subject.mail()).code)
  t.equal(reply.headers.location, '/auth/second-factor')
  t.notOk(hasSession(browser))
  t.strictSame(await users.findById(sub), before, 'nothing is removed')
  t.equal((await factors.findFactors(sub)).totp.length, 1)
  const done = await browser.submit('/auth/second-factor', { code: totpCode(secret, clock.now()) })
  t.equal(done.statusCode, 303)
  t.ok(hasSession(browser))
  t.equal((await factors.findFactors(sub)).totp.length, 1, 'the app stays')
  t.equal((await users.findById(sub))?.emailVerified, true)
  await t.rejects(signIn(app, ANN, PASSWORD), /invalid_grant/, 'the password of the sign-up no longer works')
  t.equal((await browser.get('/auth/account')).statusCode, 200)
})

t.test('rejects the removal of a factor after an emailed code if the user has a password or a passkey', async (t) => {
  for (const [what, hasPassword, hasPasskey] of [
    ['a password', true, false],
    ['a passkey', false, true]
  ] as const) {
    const known = memoryUserStore()
    let isPast = false
    const past = <Found extends User | null>(user: Found): Found =>
      user === null || !isPast || hasPassword ? user : { ...user, passwordHash: null }
    const users: UserStore = {
      ...known,
      findById: async (id) => past(await known.findById(id)),
      findByUsername: async (username) => past(await known.findByUsername(username))
    }
    const subject = await emailApp(t, { users, factors: memoryFactorStore() })
    const { app, browser, sub } = subject
    const owner = testBrowser(app)
    await logIn(owner, ANN)
    const { secret } = await enrol(subject, owner)
    if (hasPasskey)
      t.equal((await answerOn(owner, '/auth/security/passkeys', softPasskey({ origin: ISSUER }))).statusCode, 303)
    isPast = true
    await ask(browser)
    await enter(browser, (await subject.mail()).code)
    subject.clock.step(30_000)
    t.equal(
      (await browser.submit('/auth/second-factor', { code: codeFor(secret, subject.clock.now()) })).statusCode,
      303
    )
    t.notMatch((await browser.get('/auth/security')).body, /name="decision" value="(?!sign_out")/, what)
    const {
      factors: [factor]
    } = await app.authority.factors(sub)
    const reply = await app.inject({
      method: 'DELETE',
      url: `/auth/factors/${factor?.id ?? ''}`,
      headers: {
        'sec-fetch-site': 'same-origin',
        cookie: `${cookieName('session')}=${browser.cookies.get(cookieName('session')) ?? ''}`
      }
    })
    t.match([reply.statusCode, reply.json()], [401, { error: 'insufficient_user_authentication' }], what)
    t.equal((await app.authority.factors(sub)).factors.length, hasPasskey ? 2 : 1)
  }
})
