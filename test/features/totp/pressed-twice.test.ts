/** A double click posts the form twice before the first answer comes, and the browser drops that answer. */
import t, { type Test } from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import type { FactorStore } from '../../../lib/ports/factor-store.ts'
import { signUp, testApp } from '../../support/app.ts'
import { type TestBrowser, testBrowser } from '../../support/browser.ts'
import { codeFor, enrol, formOf, logIn, saveCodes, codesIn, codesPage, makesCodes } from '../../support/factors.ts'

/** A signed-in Ann, over a store that holds the first call of a method. */
async function scene(t: Test, options: Parameters<typeof testApp>[0] = {}) {
  const store = memoryFactorStore()
  const subject = await testApp({ users: memoryUserStore(), factors: store, ...options })
  t.teardown(subject.close)
  const { sub } = await signUp(subject.app)
  const browser = testBrowser(subject.app)
  await logIn(browser)
  return { ...subject, store, sub, browser }
}

/** The responses to two posts. The second arrives while the store holds the first. */
async function twice(
  { app, store, browser }: { app: Parameters<typeof testBrowser>[0]; store: FactorStore; browser: TestBrowser },
  method: 'replaceRecoveryCodes' | 'addTotp',
  { action, fields }: { action: string; fields: Record<string, string> }
) {
  const act = Reflect.get(store, method) as (...args: unknown[]) => Promise<unknown>
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
  }
  let goOn = (): void => {}
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let enter = (): void => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  Reflect.set(store, method, async (...args: unknown[]) => {
    Reflect.set(store, method, act)
    enter()
    await held
    return await act.apply(store, args)
  })
  const dropped = testBrowser(app)
  for (const [name, value] of browser.cookies) dropped.cookies.set(name, value)
  const first = dropped.submit(action, fields)
  await entered
  const second = browser.submit(action, fields)
  await turns()
  goOn()
  return await Promise.all([first, second])
}

t.test('creates one set of recovery codes for two presses of the button', async (t) => {
  const subject = await scene(t)
  const { app, browser, clock, sub, store, events } = subject
  await enrol(subject, browser)
  clock.step(30_000)
  const page = (await browser.get('/auth/security')).body
  const { action, fields } = formOf(page, page.indexOf('value="codes"') - 2000)
  let stored: readonly string[] = []
  const replace = store.replaceRecoveryCodes.bind(store)
  store.replaceRecoveryCodes = async (userId, digests) => {
    stored = digests
    return await replace(userId, digests)
  }
  const [first, second] = await twice(subject, 'replaceRecoveryCodes', {
    action,
    fields: { ...fields, decision: 'codes' }
  })
  t.ok(makesCodes(first) && makesCodes(second))
  t.equal(stored.length, 10)
  t.equal(events.filter(({ name }) => name === 'recovery_codes_replaced').length, 1)
  t.equal((await app.authority.factors(sub)).recoveryCodesLeft, 10)
  const other = testBrowser(app)
  await logIn(other)
  const [code = ''] = codesIn(await codesPage(browser, second))
  t.equal((await other.submit('/auth/second-factor', { recovery_code: code })).statusCode, 303, 'the codes count')
})

for (const [url, required] of [
  ['/auth/security/totp', false],
  ['/auth/second-factor/set-up', true]
] as const)
  t.test(`answers a second press of the set-up form like the first: ${url}`, async (t) => {
    const subject = await scene(t, required ? { mfa: { required: true } } : {})
    const { app, browser, clock, sub, events } = subject
    const { body } = await browser.get(url)
    const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(body)?.[1] ?? '').replaceAll(' ', '')
    const { action, fields } = formOf(body)
    const [first, second] = await twice(subject, 'addTotp', {
      action,
      fields: { ...fields, code: codeFor(secret, clock.now()) }
    })
    t.ok(makesCodes(first) && makesCodes(second))
    t.equal((await app.authority.factors(sub)).factors.length, 1)
    t.equal(events.filter(({ name }) => name === 'factor_added').length, 1)
    const page = await codesPage(browser, second)
    t.equal(codesIn(page).length, 10)
    await saveCodes(browser, page)
    t.equal((await browser.get('/auth/security')).statusCode, 200, 'the browser is signed in')
    const copy = await testBrowser(app).submit(action, { ...fields, code: codeFor(secret, clock.now()) })
    t.equal(copy.statusCode, 303, 'another browser gets nothing')
    t.match(copy.headers.location, '/auth/login')
  })
