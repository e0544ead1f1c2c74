/** The step between the emailed code and the second factor. */
import t from '../../support/tap.ts'
import { memoryFactorStore } from '../../../lib/index.ts'
import { testBrowser } from '../../support/browser.ts'
import { codeFor, enrol, formOf, logIn, signedInAnywhere } from '../../support/factors.ts'
import { ANN, ask, emailApp, enter } from '../email-codes/support.ts'

const MOVED = 'ann@elsewhere.example'

t.test('rejects an email code of a former mailbox as the first factor', async (t) => {
  const subject = await emailApp(t, { factors: memoryFactorStore() })
  const { app, users, sub, clock } = subject
  const owner = testBrowser(app)
  await logIn(owner, ANN)
  const { secret } = await enrol(subject, owner)
  clock.step(30_000)
  const [former, other] = [testBrowser(app), testBrowser(app)]
  for (const browser of [former, other]) {
    await ask(browser)
    t.equal((await enter(browser, (await subject.mail()).code)).headers.location, '/auth/second-factor')
  }
  t.equal(
    (await other.submit('/auth/second-factor', { code: codeFor(secret, clock.now()) })).headers.location,
    '/',
    'it is the same mailbox'
  )
  clock.step(30_000)
  await users.update?.(sub, { username: MOVED, email: MOVED, emailVerified: true })
  t.equal(
    (await former.submit('/auth/second-factor', { code: codeFor(secret, clock.now()) })).headers.location,
    '/auth/login'
  )
  t.same(await signedInAnywhere(former), [])
})

t.test('sets up no second factor after an email code of a former mailbox', async (t) => {
  const subject = await emailApp(t, { factors: memoryFactorStore(), mfa: { required: true } })
  const { app, users, sub, clock, browser } = subject
  await ask(browser)
  t.equal((await enter(browser, (await subject.mail()).code)).headers.location, '/auth/second-factor/set-up')
  const { body } = await browser.get('/auth/second-factor/set-up')
  const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
  const { action, fields } = formOf(body)
  await users.update?.(sub, { username: MOVED, email: MOVED, emailVerified: true })
  t.equal(
    (await browser.submit(action, { ...fields, code: codeFor(secret, clock.now()) })).headers.location,
    '/auth/login'
  )
  t.same(await signedInAnywhere(browser), [])
  t.same((await app.authority.factors(sub)).factors, [])
})
