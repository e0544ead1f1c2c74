/**
 * Second factors and emailed codes in a browser without scripts, from the client and back, and the history of the
 * browser after sign-out.
 */
import t from '../support/tap.ts'
import type { Page } from 'playwright-core'
import { testBrowser } from '../support/browser.ts'
import { codeFor, enrol, logIn } from '../support/factors.ts'
import { withChromium } from './support/chromium.ts'
import { FACTOR_PAGES } from './support/factor-states.ts'
import { alerts, fill, heading, press, signInOn, userAt, USERNAME, keepCodes } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const { newPage } = await withChromium(t)
const provider = await startProvider(t, FACTOR_PAGES)
const { app, clock, messages, origin } = provider
const page = await newPage(t, { locale: 'en', javaScriptEnabled: false })
const keyOn = async (shown: Page): Promise<string> =>
  ((await shown.locator('.key code').textContent()) ?? '').replaceAll(' ', '')

/** Starts a sign-in without a session, in a browser that keeps its other cookies. */
async function begin(): Promise<void> {
  await page.context().clearCookies({ name: /^authority_session_/ })
  // Steps the clock, so that the app shows a new code.
  clock.step(30_000)
  await page.goto(provider.authorizeUrl())
}

// covers EC-02 EC-03
t.test('accepts an email code only in the browser that asked for it', async (t) => {
  const { id } = await provider.addUser('mail@example.com')
  await page.goto(provider.authorizeUrl())
  await press(page, 'Email me a code')
  await fill(page, { [USERNAME]: 'mail@example.com' })
  await press(page, 'Send code')
  const { code, url = '' } = await messages.next('sign_in_code')

  const other = await newPage(t, { locale: 'en', javaScriptEnabled: false })
  await other.goto(url)
  t.match(await other.locator('main').innerText(), 'This link works only in the browser where you asked for it.')
  t.equal(await other.getByRole('button').count(), 0)
  t.equal(await other.getByRole('main').getByRole('link').count(), 1, 'a way on')
  await other.goto(`${origin}/auth/email-code`)
  t.equal(await other.getByLabel('8-digit code').count(), 0, 'no place to type it')

  await fill(page, { '8-digit code': code.endsWith('0') ? '12345671' : '12345670' })
  t.equal((await press(page, 'Continue')).status(), 400)
  t.strictSame(await alerts(page), ['This code is wrong.'])
  t.equal(
    await page
      .getByLabel('8-digit code')
      .evaluate(
        (field) =>
          field === (field as unknown as { ownerDocument: { activeElement: unknown } }).ownerDocument.activeElement
      ),
    true,
    'the field has the focus'
  )
  await fill(page, { '8-digit code': code })
  await press(page, 'Continue')
  t.equal(await userAt(page, provider), id)
  await other.goto(url)
  t.equal(await other.getByRole('button').count(), 0)
  t.equal(await other.getByRole('main').getByRole('link').count(), 1, 'a way on')
})

// covers TD-01 TD-02 TD-05
t.test('sets up a required second factor during sign-in, and remembers a browser until it is forgotten', async (t) => {
  const username = 'must-have@example.com'
  const { id } = await provider.addUser(username)
  await begin()
  await signInOn(page, { username })
  t.equal(await heading(page), 'Add a second step')
  await page.locator('summary', { hasText: 'Authenticator app' }).click()
  t.strictSame(
    provider.client.visits.filter(({ params }) => params.code !== undefined).length,
    1,
    'nothing for the client yet'
  )
  const secret = await keyOn(page)
  const typed = page.getByLabel('6-digit code', { exact: true })
  await typed.fill('000 000')
  t.equal((await press(page, 'Turn on')).status(), 400)
  t.equal(await keyOn(page), secret, 'the same key: the app has it')
  await fill(page, { '6-digit code': codeFor(secret, clock.now()).replace(/^.../, '$& ') })
  await press(page, 'Turn on')
  t.equal(await heading(page), 'Save your recovery codes')
  const [recoveryCode = ''] = await page.locator('.codes code').allInnerTexts()
  await keepCodes(page)
  t.equal(await userAt(page, provider), id)

  await begin()
  await signInOn(page, { username })
  t.equal(await heading(page), 'Confirm it’s you')
  t.equal(await page.locator('input[name=remember]').isChecked(), false, 'never by itself')
  await page.locator('input[name=remember]').check()
  await fill(page, { '6-digit code': codeFor(secret, clock.now()) })
  await press(page, 'Continue')
  t.equal(await userAt(page, provider), id)

  for (const time of ['second', 'third']) {
    await begin()
    await signInOn(page, { username })
    t.equal(await userAt(page, provider), id, `${time} time: it is not asked for`)
  }

  await page.goto(`${origin}/auth/security`)
  await page.getByRole('link', { name: /sign in again/i }).click()
  await page.waitForURL((url) => url.pathname !== '/auth/security')
  t.equal(await page.locator('input[name=username]:not([readonly])').count(), 0, 'nobody else can be named')
  await fill(page, { 'Current password': 'not this one' })
  t.equal((await press(page, 'Continue')).status(), 400)
  await fill(page, { 'Current password': 'correct horse battery' })
  await press(page, 'Continue')
  t.equal(await heading(page), 'Confirm it’s you', 'a browser that is remembered is no proof')
  await page.getByRole('link', { name: 'Recovery code' }).click()
  await page.waitForURL(/way=recovery_code/)
  await fill(page, { 'Recovery code': recoveryCode.toUpperCase().replaceAll('-', ' ') })
  await Promise.all([page.waitForEvent('load'), page.getByLabel('Recovery code', { exact: true }).press('Enter')])
  t.equal(new URL(page.url()).pathname, '/auth/security', 'back where it was asked for')
  await press(page, 'Forget all devices')
  t.match(await page.locator('main').innerText(), 'Every device is asked for a code again.')
  await begin()
  await signInOn(page, { username })
  t.equal(await heading(page), 'Confirm it’s you')
})

t.test('hides recovery codes from the back button after the sign-out', async (t) => {
  const shown = await newPage(t, { locale: 'en', allow: [/ERR_CACHE_MISS/] })
  const { username } = await provider.addUser('leaves@example.com')
  await shown.goto(`${origin}/auth/login`)
  await signInOn(shown, { username })
  await shown.goto(`${origin}/auth/security/totp`)
  await fill(shown, { '6-digit code': codeFor(await keyOn(shown), clock.now()) })
  await press(shown, 'Turn on')
  const secrets = await shown.locator('.codes code').allInnerTexts()
  t.equal(secrets.length, 10)
  await shown.goto(`${origin}/auth/logout`)
  await press(shown, 'Sign out')
  for (let steps = 0; steps < 4; steps++) {
    // The result page of a form is no longer in the history.
    await shown.goBack().catch(async () => {
      await shown.waitForURL(/^chrome-error:/)
    })
    const text = await shown.content()
    t.notOk(secrets.some((code) => text.includes(code)) || text.includes('class="qr"'), `${steps}: ${shown.url()}`)
  }
})

// covers A15
t.test('enables the Remove button only after half a second', async (t) => {
  const { username } = await provider.addUser('two@example.com')
  const browser = testBrowser(app, origin)
  await logIn(browser, username)
  await enrol(provider, browser)
  clock.step(30_000)
  await enrol(provider, browser)
  const shown = await newPage(t, { locale: 'en' })
  await shown.clock.install()
  await shown.context().addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url: origin })))
  await shown.goto(`${origin}/auth/security`)
  await shown.getByText('Change').first().click()
  await Promise.all([shown.waitForEvent('load'), shown.locator('.change a').first().click()])
  await shown.clock.pauseAt(Date.now() + 3_600_000)
  await shown.evaluate("dispatchEvent(new Event('focus'))")
  const removals = shown.getByRole('button', { name: 'Remove' })
  t.equal(await removals.isDisabled(), true)
  await shown.clock.runFor(500)
  t.equal(await removals.isEnabled(), true)
})
