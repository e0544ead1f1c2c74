/** Recovery codes are shown again in the browser that made them, until the person has saved them. */
import t from '../../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../../lib/index.ts'
import { signUp, testApp } from '../../support/app.ts'
import { testBrowser } from '../../support/browser.ts'
import { cookieName } from '../../support/cookies.ts'
import { codeFor, enrol, factorApp, formOf, logIn, saveCodes, codesIn, codesPage } from '../../support/factors.ts'

const SECURITY = '/auth/security'

/** Makes new codes on the security page; `send` posts the form again, as a reload does. */
async function made(t: Parameters<typeof factorApp>[0]) {
  const subject = await factorApp(t)
  const { browser } = subject
  const page = (await browser.get(SECURITY)).body
  const { action, fields } = formOf(page, page.indexOf('value="codes"') - 2000)
  const send = async () => await browser.submit(action, { ...fields, decision: 'codes' })
  const reply = await send()
  const shown = await codesPage(browser, reply)
  return { ...subject, reply, shown, codes: codesIn(shown), send, action }
}

t.test('shows new recovery codes again after a reload of the form and on other factor pages', async (t) => {
  const { browser, codes, send, events } = await made(t)
  t.equal(codes.length, 10)
  t.same(codesIn((await send()).body), codes, 'the form makes no others')
  t.equal(events.filter(({ name }) => name === 'recovery_codes_replaced').length, 1)
  for (const url of [SECURITY, '/auth/security/totp', '/auth/second-factor/set-up'])
    t.same(codesIn((await browser.get(url)).body), codes, url)
})

t.test('keeps new recovery codes in a sealed cookie for ten minutes', async (t) => {
  const { browser, codes, reply, clock } = await made(t)
  const name = cookieName('codes')
  const set = [reply.headers['set-cookie']].flat().find((cookie) => String(cookie).startsWith(`${name}=`))
  t.match(set, /; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/)
  for (const code of codes) t.notMatch(set, code)
  t.ok(String(set).length < 600, `${String(set).length} bytes`)
  clock.step(599_999)
  t.same(codesIn((await browser.get(SECURITY)).body), codes)
  clock.step(1)
  t.same(codesIn((await browser.get(SECURITY)).body), [], 'a copy of the cookie shows nothing later')
})

t.test('hides new recovery codes once the user saves them, but not by a link of another site', async (t) => {
  const { browser, codes, shown } = await made(t)
  await saveCodes(browser, shown, 'cross-site')
  t.same(codesIn((await browser.get(SECURITY)).body), codes)
  t.same(codesIn((await saveCodes(browser, shown)).body), [])
  t.notOk(browser.cookies.get(cookieName('codes')))
  t.same(codesIn((await browser.get(SECURITY)).body), [])
})

t.test('shows no recovery codes after a sign-out, and none to another user', async (t) => {
  const { app, browser, codes } = await made(t)
  const cookie = browser.cookies.get(cookieName('codes')) ?? ''
  t.ok(cookie)
  t.equal(codes.length, 10)
  await browser.submit('/auth/logout', { decision: 'sign_out' })
  t.notOk(browser.cookies.get(cookieName('codes')))
  await signUp(app, 'bob')
  const other = testBrowser(app)
  other.cookies.set(cookieName('codes'), cookie)
  await logIn(other, 'bob')
  t.notOk(other.cookies.get(cookieName('codes')), 'what another user began goes')
  other.cookies.set(cookieName('codes'), cookie)
  const shown = await other.get(SECURITY)
  t.equal(shown.statusCode, 200)
  t.same(codesIn(shown.body), [])
})

t.test('continues the sign-in after the user saves the codes of a required second factor', async (t) => {
  const subject = await testApp({ users: memoryUserStore(), factors: memoryFactorStore(), mfa: { required: true } })
  t.teardown(subject.close)
  await signUp(subject.app)
  const browser = testBrowser(subject.app)
  t.match(await logIn(browser, 'ann', undefined, '?return_to=/cart'), {
    headers: { location: /^\/auth\/second-factor\/set-up\?/ }
  })
  const url = '/auth/second-factor/set-up?return_to=%2Fcart'
  const page = (await browser.get(url)).body
  const secret = (/<code dir="ltr">([A-Z2-7 ]+)<\/code>/.exec(page)?.[1] ?? '').replaceAll(' ', '')
  const { action, fields } = formOf(page)
  const reply = await browser.submit(action, { ...fields, code: codeFor(secret, subject.clock.now()) })
  t.match(reply, { statusCode: 303, headers: { location: url } })
  const shown = await codesPage(browser, reply)
  t.equal(codesIn(shown).length, 10)
  t.same(codesIn((await browser.get(url)).body), codesIn(shown))
  t.match(await saveCodes(browser, shown), { statusCode: 303, headers: { location: '/cart' } })
  t.notOk(browser.cookies.get(cookieName('codes')))
})

t.test('shows the recovery codes again after an app was set up', async (t) => {
  const subject = await factorApp(t, {}, { enrolled: false })
  const { browser } = subject
  await logIn(browser)
  const kept = new Map<string, string>()
  const submit = browser.submit.bind(browser)
  browser.submit = async (...given) => {
    const reply = await submit(...given)
    kept.set('codes', browser.cookies.get(cookieName('codes')) ?? '')
    return reply
  }
  const { codes } = await enrol(subject, browser)
  browser.cookies.set(cookieName('codes'), kept.get('codes') ?? '')
  t.same(codesIn((await browser.get(SECURITY)).body), codes)
})

t.test('shows no recovery codes after the last factor is removed', async (t) => {
  const { app, browser, codes, sub, action } = await made(t)
  t.equal(codes.length, 10)
  const [factor] = (await app.authority.factors(sub)).factors
  const reply = await browser.submit(action, { decision: 'remove', factor: factor?.id ?? '' })
  t.match(reply.headers.location, /done=factor_removed/)
  t.notOk(browser.cookies.get(cookieName('codes')))
  t.same(codesIn((await browser.get(SECURITY)).body), [])
})

t.test('shows no earlier recovery codes to a later sign-in of the same user in a browser', async (t) => {
  const { browser, code, clock } = await made(t)
  const cookie = browser.cookies.get(cookieName('codes')) ?? ''
  clock.step(30_000)
  browser.cookies.delete(cookieName('session'))
  await logIn(browser)
  t.equal((await browser.submit('/auth/second-factor', { code: code() })).statusCode, 303)
  browser.cookies.set(cookieName('codes'), cookie)
  const { statusCode, body } = await browser.get(SECURITY)
  t.equal(statusCode, 200)
  t.same(codesIn(body), [])
})

t.test('shows recovery codes in the reply itself if the browser has no room for a cookie', async (t) => {
  const subject = await factorApp(t)
  const { browser } = subject
  const { action } = formOf((await browser.get(SECURITY)).body)
  browser.cookies.set(cookieName('link'), 'x'.repeat(3700))
  const reply = await browser.submit(action, { decision: 'codes' })
  t.equal(reply.statusCode, 200)
  t.equal(codesIn(reply.body).length, 10)
})
