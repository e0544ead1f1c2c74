/** The entries `popup` and `silent` of the browser client in Chromium. */
import type { Page } from 'playwright-core'
import t from '../support/tap.ts'
import { clientSubject, intercept, signIn, type Subject } from './support/client-app.ts'
import { withChromium } from './support/chromium.ts'
import { fill, signInOn, USERNAME } from './support/journeys.ts'
import { PASSWORD } from '../support/app.ts'

const POPUP = `
  import { answerPopup, loginWithPopup } from '/client/popup.ts'
  Object.assign(globalThis, { loginWithPopup, popupUri: location.origin + '/popup' })
  if (location.pathname === '/popup') globalThis.started = settle(() => answerPopup())
`
/** The hidden frame returns to a page of the tests. Chromium reports that its script does not run. */
const NO_SCRIPT = { allow: [/Blocked script execution/] }
const SILENT = "import { loginSilently } from '/client/silent.ts'; Object.assign(globalThis, { loginSilently })"

const chromium = await withChromium(t)

/** Clicks "Sign in". Resolves to the opened window and the result of the sign-in. */
async function click(
  page: Page,
  { app }: Subject,
  options = '{}'
): Promise<{ popup: Page; outcome: ReturnType<Subject['app']['call']> }> {
  const opened = page.waitForEvent('popup')
  const outcome = app.call(page, `loginWithPopup(auth, { redirectUri: popupUri, ...(${options}) })`)
  return { popup: await opened, outcome }
}

/** The last step of the sign-in, which closes the window. */
async function signInAndClose(popup: Page): Promise<void> {
  await popup.waitForURL((url) => url.pathname === '/auth/login')
  const closed = popup.waitForEvent('close')
  await fill(popup, { [USERNAME]: 'ann', Password: PASSWORD })
  await popup.getByRole('button', { name: 'Sign in', exact: true }).click()
  await closed
}

t.test('signs in by a popup although the provider pages isolate it from its opener, and closes it', async (t) => {
  for (const storage of ['local', 'memory']) {
    const subject = await clientSubject(t, { script: POPUP, client: `{ storage: '${storage}' }` })
    const { app, provider } = subject
    const page = await chromium.newPage(t)
    await page.goto(`${app.origin}/`)
    const { popup, outcome } = await click(page, subject, "{ appState: { from: '/cart' } }")
    await signInAndClose(popup)
    t.same(await outcome, { value: { appState: { from: '/cart' } } }, storage)
    t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
    t.equal(page.url(), `${app.origin}/`)

    const again = await click(page, subject)
    t.match(await again.outcome, { value: {} }, 'without a page where the browser is signed in')
  }
})

t.test('completes parallel popup sign-ins of two tabs, each with its own appState', async (t) => {
  const subject = await clientSubject(t, { script: POPUP })
  const page = await chromium.newPage(t)
  const other = await page.context().newPage()
  for (const tab of [page, other]) await tab.goto(`${subject.app.origin}/`)
  const first = await click(page, subject, "{ appState: 'one' }")
  const second = await click(other, subject, "{ appState: 'two' }")
  await signInAndClose(second.popup)
  t.same(await second.outcome, { value: { appState: 'two' } })
  await signInAndClose(first.popup)
  t.same(await first.outcome, { value: { appState: 'one' } })
})

t.test('rejects with a typed error if the popup is blocked, closed or late, or the provider refuses', async (t) => {
  const subject = await clientSubject(t, { script: POPUP })
  const { app, provider } = subject
  const page = await chromium.newPage(t)
  await page.clock.install()
  await page.goto(`${app.origin}/`)
  const late = await click(page, subject, '{ timeoutMs: 1 }')
  t.match(await late.outcome, { error: 'timeout', retryable: true, typed: true })

  const refused = await click(page, subject, "{ authorizationParams: { prompt: 'none' }, appState: 'a' }")
  t.match(await refused.outcome, { error: 'login_required', typed: true, appState: 'a' })

  // Imitates a provider whose pages keep the link to their opener.
  const authorize = await intercept(page, `${provider.origin}/auth/authorize`)
  authorize.answer = async (route) => {
    await route.fulfill({ contentType: 'text/html', body: '<link rel="icon" href="data:,"><title>Sign in</title>' })
  }
  const left = await click(page, subject)
  await left.popup.waitForURL((url) => url.pathname === '/auth/authorize')
  await page.clock.runFor(1500)
  await left.popup.close()
  t.match(await left.outcome, { error: 'popup_closed', retryable: false, typed: true })

  const discovery = await intercept(page, `${provider.origin}/.well-known/openid-configuration`)
  discovery.answer = async () => {}
  await page.reload()
  const early = await click(page, subject)
  await early.popup.close()
  t.match(await early.outcome, { error: 'popup_closed', typed: true })

  await page.evaluate('globalThis.open = () => null')
  t.match(await app.call(page, 'loginWithPopup(auth)'), { error: 'popup_blocked', retryable: false, typed: true })
})

t.test('leaves the callback to the page if no opener waits for a popup', async (t) => {
  const subject = await clientSubject(t, { script: POPUP })
  const { app } = subject
  const page = await chromium.newPage(t)
  await page.goto(`${app.origin}/`)
  await app.leave(page, "auth.loginWithRedirect({ redirectUri: popupUri, appState: 'a' })")
  await page.waitForURL((url) => url.pathname === '/auth/login')
  await signInOn(page)
  await page.waitForURL((url) => url.pathname === '/popup')
  t.same(await page.evaluate('started'), { value: false })
  t.same(await app.call(page, 'auth.handleRedirectCallback()'), { value: { appState: 'a' } })
})

t.test('signs in silently if the browser has a session at a provider of the same site', async (t) => {
  const subject = await clientSubject(t, { script: SILENT, host: 'localhost' })
  const { app, provider } = subject
  const page = await chromium.newPage(t, NO_SCRIPT)
  await page.goto(`${app.origin}/`)
  t.match(await app.call(page, "loginSilently(auth, { appState: 'a' })"), {
    error: 'login_required',
    retryable: false,
    typed: true,
    appState: 'a'
  })
  await signIn(page, subject)
  await app.value(page, 'auth.logout({ returnTo: false })')
  await page.goto(`${app.origin}/`)
  t.same(await app.call(page, "loginSilently(auth, { appState: 'a' })"), { value: { appState: 'a' } })
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id })
  t.equal(await page.locator('iframe').count(), 0)
})

t.test('rejects a silent sign-in at once from another site, and after a timeout if it hangs', async (t) => {
  const subject = await clientSubject(t, { script: SILENT })
  const { app, provider } = subject
  const page = await chromium.newPage(t, NO_SCRIPT)
  await page.clock.install()
  await signIn(page, subject)
  await page.goto(`${app.origin}/`)
  // Stops the clock, so that the result can't be a timeout.
  await page.clock.pauseAt(Date.now() + 60_000)
  t.match(await app.call(page, 'loginSilently(auth)'), { error: 'login_required', typed: true })
  const authorize = await intercept(page, `${provider.origin}/auth/authorize`)
  authorize.answer = async (route) => {
    await route.fulfill({ contentType: 'text/html', body: '<title>Sign in</title>' })
  }
  t.match(
    await app.call(page, 'loginSilently(auth)'),
    { error: 'login_required', typed: true },
    'a page instead of an answer'
  )
  authorize.answer = async () => {}
  const hung = page.waitForRequest((request) => request.url().startsWith(`${provider.origin}/auth/authorize`))
  const late = app.call(page, 'loginSilently(auth, { timeoutMs: 200 })')
  await hung
  await page.clock.runFor(200)
  t.match(await late, { error: 'timeout', retryable: true, typed: true })
  t.match(await app.value(page, 'auth.getUser()'), { sub: provider.ann.id }, 'nobody was signed out')
  t.equal(await page.locator('iframe').count(), 0)
})
