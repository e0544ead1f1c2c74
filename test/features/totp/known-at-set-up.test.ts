/** Browsers in which codes of a disabled app count, and the methods in mfa_required. */
import t from '../../support/tap.ts'
import { PASSWORD } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { codeFor, enrol, factorApp, logIn } from '../../support/factors.ts'

t.test('accepts codes of a disabled app in the browser that set it up', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { app, clock, store, sub, browser } = subject
  await logIn(browser)
  const { secret } = await enrol(subject, browser)
  clock.step(30_000)
  t.equal(await store.countFailure({ userId: sub, max: 1 }), 'disabled')
  for (const [who, statusCode] of [
    [browser, 303],
    [testBrowser(app), 400]
  ] as const) {
    await logIn(who, 'ann', PASSWORD, '?prompt=login')
    t.equal((await who.submit('/auth/second-factor', { code: codeFor(secret, clock.now()) })).statusCode, statusCode)
    clock.step(30_000)
  }
})

t.test('omits a disabled app from the methods of mfa_required', async (t) => {
  const subject = await factorApp(t)
  const { app, store, sub } = subject
  const methods = async (): Promise<string[]> => {
    const payload = { grant_type: 'password', username: 'ann', password: PASSWORD }
    return (await app.inject({ method: 'POST', url: '/auth/token', payload })).json<{ methods: string[] }>().methods
  }
  t.same(await methods(), ['totp', 'recovery_code'])
  await store.countFailure({ userId: sub, max: 1 })
  t.same(await methods(), ['recovery_code'])
})
