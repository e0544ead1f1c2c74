/** Walks through the pages of the example server. */
import type { Page } from 'playwright-core'
import t, { type Test } from '../support/tap.ts'
import { example } from '../flow/support/example-server.ts'
import { freePort } from '../support/free-port.ts'
import { withChromium } from './support/chromium.ts'
import { press } from './support/journeys.ts'
import { ALL_RULES, BY_SIGHT, violationsOf } from './support/viewer.ts'

const ANN = { username: 'ann@example.com', password: 'seven green boats at dawn' }
const PHONE = { width: 390, height: 844 }
const NARROW = { width: 320, height: 568 }
const DESKTOP = { width: 1280, height: 800 }

const chromium = await withChromium(t)
const port = await freePort()
const server = await example(t).start(port)
const origin = `http://localhost:${port}`

/** No violation on a phone in the dark and on a desktop in the light, and nothing to scroll sideways. */
async function looksRight(t: Test, page: Page, name: string): Promise<void> {
  for (const [colorScheme, viewport, rules] of [
    ['dark', PHONE, ALL_RULES],
    ['light', DESKTOP, BY_SIGHT]
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize(viewport)
    t.strictSame(await violationsOf(page, rules), [], `${name}, ${colorScheme}`)
  }
  await page.setViewportSize(NARROW)
  const scrolled = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth'
  )
  t.ok(scrolled <= 0, `${name}: ${scrolled} to scroll`)
  await page.setViewportSize(DESKTOP)
}

/** Completes the page with the keyboard only. */
async function enter(page: Page, role: 'button' | 'link', name: string): Promise<void> {
  await page.getByRole(role, { name, exact: true }).first().focus()
  await page.keyboard.press('Enter')
}

const lines = async (page: Page): Promise<string[]> =>
  await page.evaluate(
    "[...document.querySelectorAll('#log li')].map(({ children }) => " +
      "[...children].slice(1).map(({ textContent }) => textContent).join(' '))"
  )

t.test('shows captured mails at the host name of the issuer, and answers 404 at 127.0.0.1', async (t) => {
  const page = await chromium.newPage(t, { locale: 'en', viewport: DESKTOP, allow: [/status of 404/] })
  await page.goto(`${origin}/dev/mails`)
  t.match(await page.locator('main').innerText(), /No mail yet/)
  await looksRight(t, page, 'no mails')
  const username = 'mia@example.com'
  for (const [path, body] of [
    ['/auth/register', { username, password: ANN.password }],
    ['/auth/password-reset', { username }]
  ] as const)
    await fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
  const mail = page.getByRole('link', { name: /^Choose a new password/ })
  while ((await mail.count()) === 0) await page.reload()
  await looksRight(t, page, 'the mails')
  await Promise.all([page.waitForURL(/\/dev\/mails\/\d+$/), mail.first().press('Enter')])
  t.match(await page.locator('h1').innerText(), 'Choose a new password')
  await Promise.all([
    page.waitForURL(/\/auth\/reset-password/),
    page.getByRole('link', { name: 'Choose a new password', exact: true }).press('Enter')
  ])
  await page.locator('[name=password]').waitFor()
  t.equal((await page.goto(`${origin}/dev/mails/999`))?.status(), 404)
  t.equal((await fetch(`http://127.0.0.1:${port}/dev/mails`)).status, 404, 'a name that is not the issuer\u2019s')
})

t.test('opens the demos from the start page, and runs the demo app', async (t) => {
  const page = await chromium.newPage(t, {
    locale: 'en',
    viewport: DESKTOP,
    colorScheme: 'light',
    reducedMotion: 'reduce',
    allow: [/status of 401/]
  })
  const requests: string[] = []
  page.on('request', (request) => {
    requests.push(request.url())
  })

  await page.goto(origin)
  await looksRight(t, page, 'the start page')
  t.match(
    await page.locator('.facts').innerText(),
    /SQLite file[\s\S]*the log of the server[\s\S]*leave this machine alone, outside production/
  )
  for (const name of ['Getting started', 'Options', 'Endpoints', 'Deployment'])
    t.ok(await page.getByRole('link', { name, exact: true }).isVisible(), name)
  t.ok(
    await page.evaluate(
      "[...document.querySelectorAll('pre')].every((panel) => getComputedStyle(panel).overflowX === 'auto')"
    ),
    'code scrolls inside its panel'
  )
  await Promise.all([page.waitForURL(/\/auth\/signup/), enter(page, 'link', 'Create an account')])
  for (const [name, value] of Object.entries(ANN)) await page.locator(`[name=${name}]`).fill(value)
  await press(page, 'Create account')
  t.equal(page.url(), `${origin}/`)
  t.match(await page.locator('.hero').innerText(), `Signed in as ${ANN.username}`)
  await looksRight(t, page, 'the start page, signed in')

  await Promise.all([page.waitForURL(/\/app$/), enter(page, 'link', 'Open the demo app')])
  await page.locator('#signed-out').waitFor()
  await looksRight(t, page, 'the demo app, signed out')
  await enter(page, 'button', 'Sign in')
  await page.locator('#sessions li').nth(1).waitFor()
  t.equal(page.url(), `${origin}/app`, 'nobody had to sign in again, and the code is out of the address')
  t.equal(await page.locator('h1:visible').innerText(), ANN.username)
  t.strictSame(
    (await lines(page)).toReversed().map((line) => line.replace(/ in \d+ ms$/, '')),
    [
      'The browser came back with a code in the address, which the client redeems',
      `authenticated ${ANN.username}`,
      'GET /auth/sessions 200'
    ]
  )
  t.match(await page.locator('#expires').innerText(), /^It expires in 1[45]:\d\d\.$/)

  await enter(page, 'button', 'Call with the token')
  await page.locator('#answer-status', { hasText: '200' }).waitFor()
  t.match(JSON.parse(await page.locator('#me').innerText()), {
    username: ANN.username,
    scope: 'openid profile email offline_access'
  })
  await enter(page, 'button', 'Call without')
  await page.locator('#answer-status', { hasText: '401' }).waitFor()
  t.match(await page.locator('#me').innerText(), 'WWW-Authenticate: Bearer')
  const former = await page.locator('#claims').textContent()
  await enter(page, 'button', 'Refresh now')
  await page.locator('#log li', { hasText: 'token_refreshed' }).waitFor()
  await page.waitForFunction(`document.getElementById('claims').textContent !== ${JSON.stringify(former)}`)

  const elsewhere = await fetch(`${origin}/auth/token`, {
    method: 'POST',
    headers: { 'user-agent': 'curl/8.0' },
    body: new URLSearchParams({ grant_type: 'password', ...ANN })
  })
  t.equal(elsewhere.status, 200)
  await enter(page, 'button', 'Look again')
  await page.locator('#sessions li').nth(2).waitFor()
  await enter(page, 'button', 'End: App without a client, curl')
  await page.locator('#sessions li').nth(2).waitFor({ state: 'detached' })
  const { refresh_token: ended } = (await elsewhere.json()) as { refresh_token: string }
  t.equal(
    (await fetch(`${origin}/auth/refresh`, { method: 'POST', headers: { authorization: `Bearer ${ended}` } })).status,
    401
  )

  for (const summary of await page.locator('summary').all()) await summary.press('Enter')
  t.match(await page.locator('#profile').innerText(), /email_verified\s+false/)
  t.match(await page.locator('#claims').innerText(), /client_id\s+example-spa/)
  await looksRight(t, page, 'the demo app')
  t.notMatch(await page.locator('body').textContent(), /eyJ/, 'no token is on the page')

  await enter(page, 'button', 'Sign out')
  await page.locator('#signed-out').waitFor()
  await Promise.all([page.waitForURL(/\/third-party$/), enter(page, 'link', 'Third-party demo')])
  t.equal(await page.locator('.switch [aria-current=page]').innerText(), 'Third-party demo')
  await looksRight(t, page, 'the third-party demo')
  t.strictSame(
    requests.filter((url) => !url.startsWith(`${origin}/`)),
    [],
    'nothing comes from elsewhere'
  )

  await page.goto(`http://127.0.0.1:${port}/app`)
  t.match(
    await page.locator('#status', { hasText: 'This app is at' }).innerText(),
    `${origin}/app`,
    'at another address it says where it is'
  )
})

t.test('tells visitors without JavaScript that the demo app needs it', async (t) => {
  const page = await chromium.newPage(t, { javaScriptEnabled: false, viewport: PHONE })
  await page.goto(`${origin}/app`)
  t.match(await page.locator('main').innerText(), 'This app needs JavaScript')
  t.notOk(await page.getByRole('button', { name: 'Sign in' }).isVisible())
})

t.test('shows the administration pages to the demo user after the address is confirmed', async (t) => {
  const page = await chromium.newPage(t, { locale: 'en', viewport: DESKTOP, allow: [/status of 404/] })
  await page.goto(`${origin}/auth/login?return_to=/`)
  for (const [name, value] of Object.entries(ANN)) await page.locator(`[name=${name}]`).fill(value)
  await press(page, 'Sign in')
  t.equal((await page.goto(`${origin}/auth/admin`))?.status(), 404, 'a name alone proves nothing')
  await page.goto(`${origin}/dev/mails`)
  await page
    .getByRole('link', { name: /confirm/i })
    .first()
    .press('Enter')
  await page.waitForURL(/\/dev\/mails\/\d+$/)
  await page.locator('a[href*="/auth/verify-email"]').first().press('Enter')
  await page.waitForURL(/\/auth\/verify-email/)
  await page.locator('main form button[type=submit]').first().click()
  await page.waitForURL((at) => !at.searchParams.has('token'))
  await page.goto(origin)
  await Promise.all([page.waitForURL(/\/auth\/admin$/), enter(page, 'link', 'Administration')])
  t.equal(await page.locator('h1').innerText(), 'People')
})

t.test('stops on SIGTERM', async (t) => {
  t.equal(await server.kill('SIGTERM'), 0)
})
