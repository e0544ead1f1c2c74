/** Two people at one browser, one after the other. */
import t from '../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../lib/index.ts'
import { PASSWORD, signUp, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { cookieName } from '../support/cookies.ts'
import { giveSecondFactor } from '../support/second-factor.ts'

t.test('removes the pending second step and email code of one user when another user signs in', async (t) => {
  const users = memoryUserStore()
  const test = await testApp({ users, factors: memoryFactorStore(), emailSignIn: {} })
  const { app } = test
  t.teardown(test.close)
  const { sub } = await signUp(app, 'ann@example.com')
  await users.setEmailVerified(sub, 'ann@example.com')
  await signUp(app, 'bob')
  await giveSecondFactor(test, sub)
  const browser = testBrowser(app)
  const logIn = async (username: string) => await browser.submit('/auth/login', { username, password: PASSWORD })
  await browser.submit('/auth/email-code', { username: 'ann@example.com' })
  await logIn('ann@example.com')
  for (const kind of ['step', 'waiting'] as const) t.ok(browser.cookies.has(cookieName(kind)), kind)
  t.equal((await logIn('bob')).headers.location, '/')
  for (const kind of ['step', 'waiting'] as const) t.notOk(browser.cookies.has(cookieName(kind)), kind)
})
