/** Looks for common layout, focus and reload faults on all pages. */
import { setTimeout as wait } from 'node:timers/promises'
import t from '../support/tap.ts'
import type { Page } from 'playwright-core'
import { github, google, microsoft } from '../../lib/connections/index.ts'
import { memoryFactorStore } from '../../lib/index.ts'
import { withChromium } from './support/chromium.ts'
import { FACTOR_PAGES } from './support/factor-states.ts'
import { startProvider } from './support/provider.ts'
import { ALL_PAGES, PAGE_STATES } from './support/states.ts'

const PHONE = { width: 360, height: 640 }
/** The bottom edge of the screen of a usual phone. */
const FOLD = 740
/**
 * Pages that answer a form directly, so that a reload posts again: a new API key, a form for the client, and the
 * sign-out, which changes nothing when it is repeated.
 */
const ONCE = ['account-api-key', 'device-confirm', 'form-post', 'signed-out']

interface Place {
  x: number
  y: number
}

const chromium = await withChromium(t)
const provider = await startProvider(t, { ...ALL_PAGES, ...FACTOR_PAGES, pages: { title: 'Example Accounts' } })

/** Runs in the page. Returns the names of the classes of faults that it has, with the element. */
const FIND = `(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)]
  const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0
  const named = (element) => (element.innerText || element.name || element.id || element.localName).trim().slice(0, 40)
  const found = []
  const main = document.querySelector('main')
  const isError = document.querySelector('[role=alert]') !== null
  if (!isError && scrollY !== 0) found.push('opens scrolled: ' + scrollY)
  const probe = document.body.appendChild(document.createElement('i'))
  probe.style.color = 'var(--accent)'
  const accent = getComputedStyle(probe).color
  probe.remove()
  const controls = all('a, button, input:not([type=hidden]), select, summary').filter(seen)
  const primary = controls.filter((one) => main.contains(one) && getComputedStyle(one).backgroundColor === accent)
  if (primary.length > 1) found.push('primary buttons: ' + primary.map(named))
  for (const one of primary.slice(0, 1)) {
    const { bottom } = one.getBoundingClientRect()
    if (!isError && bottom + scrollY > ${FOLD} && document.querySelector('form:has(input:not([type=hidden]))') === null)
      found.push('below the fold: ' + named(one) + ' ' + bottom)
  }
  if (!controls.some((one) => main.contains(one))) found.push('no way on')
  for (const form of all('form:has([autocomplete$=-password])'))
    if (form.querySelector('[autocomplete^=username]') === null) found.push('a password without a username')
  const note = document.querySelector('.note[role=status]')
  if (note !== null && document.activeElement !== note) found.push('a note without the focus')
  for (const box of all('.field .wrong')) {
    const before = box.previousElementSibling
    if (!before.matches('input, select, textarea, .secret, .check, fieldset')) found.push('an error far from its field')
  }
  for (const one of controls) {
    const { width, height } = (one.matches('.check input') ? one.parentElement : one).getBoundingClientRect()
    const isInText = one.matches('p a') && !one.matches('.actions a, .links a')
    if (!isInText && (width < 24 || height < 24))
      found.push('a small target: ' + named(one) + ' ' + width + 'x' + height)
    if (one.matches('.links a, .rows a, .ways a, .ways button') && height < 43.5)
      found.push('a low target: ' + named(one) + ' ' + height)
  }
  for (const one of all('button, .button, .ways span, .codes code').filter(seen)) {
    const text = one.firstChild
    if (text === null || text.nodeType !== Node.TEXT_NODE) continue
    for (const { 0: word, index } of text.data.matchAll(/\\S+/g)) {
      const range = document.createRange()
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) found.push('a broken word: ' + word)
    }
  }
  const width = document.documentElement.scrollWidth
  if (width > innerWidth) found.push('scrolls sideways: ' + width)
  return found
})()`

/** Runs in the page. Returns the times in UTC that the page script should have replaced. */
const FIND_TIMES = String.raw`document.body.innerText.split('\n')
  .filter((line) => /\bUTC\b/.test(line)).map((line) => 'a time in UTC: ' + line)`

/** The method and the status of the page's last document. */
function lastOf(page: Page): () => { method: string; status: number } {
  let last = { method: '', status: 0 }
  page.on('response', (response) => {
    const request = response.request()
    if (request.isNavigationRequest() && response.status() !== 303)
      last = { method: request.method(), status: response.status() }
  })
  return () => last
}

for (const javaScriptEnabled of [true, false])
  t.test(
    `shows all pages without layout, focus and reload faults, ${javaScriptEnabled ? 'with' : 'without'} scripts`,
    async (t) => {
      const page = await chromium.newPage(t, { viewport: PHONE, locale: 'en', javaScriptEnabled })
      const last = lastOf(page)
      const found: string[] = []
      for (const { name, open } of PAGE_STATES) {
        await page.context().clearCookies()
        // One state holds the script back.
        await page.unrouteAll()
        await open(page, provider)
        const faults = await page.evaluate<string[]>(FIND)
        if (javaScriptEnabled) {
          let late = await page.evaluate<string[]>(FIND_TIMES)
          for (let tries = 0; late.length > 0 && tries < 100; tries++) {
            await wait(25)
            late = await page.evaluate<string[]>(FIND_TIMES)
          }
          faults.push(...late)
        }
        const { method, status } = last()
        if (method === 'POST' && status < 400 && !ONCE.includes(name))
          faults.push(`a reload would post again: ${status}`)
        found.push(...faults.map((fault) => `${name}: ${fault}`))
      }
      t.same(found, [])
    }
  )

t.test('reports each layout fault that is planted on the sign-in page', async (t) => {
  const page = await chromium.newPage(t, { viewport: PHONE, locale: 'en' })
  const main = "document.querySelector('main')"
  for (const [plant, fault] of [
    [`${main}.style.paddingBottom = '2000px'; scrollTo(0, 500)`, /^opens scrolled/],
    [`${main}.append(document.querySelector('button[type=submit]').cloneNode(true))`, /^primary buttons/],
    [`${main}.replaceChildren()`, /^no way on/],
    ["document.querySelector('[autocomplete^=username]').remove()", /^a password without/],
    [`${main}.insertAdjacentHTML('beforeend', '<p class="note" role="status">Done</p>')`, /^a note without/],
    [
      "document.querySelector('.field').insertAdjacentHTML('beforeend', '<p>Hint</p><p class=wrong>Wrong</p>')",
      /^an error far/
    ],
    ["document.querySelector('button.plain').style.cssText = 'min-height:0;height:12px;padding:0'", /^a small target/],
    ["document.querySelector('.links a').style.cssText = 'display:block;height:30px;padding:0'", /^a low target/],
    ["document.querySelector('button[type=submit]').textContent = 'x'.repeat(80)", /^a broken word/],
    [`${main}.style.width = '900px'`, /^scrolls sideways/]
  ] as const) {
    await page.goto(`${provider.origin}/auth/login`)
    t.same(await page.evaluate(FIND), [])
    await page.evaluate(plant)
    t.match(await page.evaluate<string[]>(FIND), [fault], plant)
  }
})

/** Runs in the page. Returns the place of each control. */
const PLACES =
  "[...document.querySelectorAll('main a, main button:not(.reveal), main input:not([type=hidden])')]" +
  '.filter((one) => one.checkVisibility({ visibilityProperty: true }))' +
  ".map((one) => (one.id || one.innerText) + ' ' + Math.round(one.getBoundingClientRect().top))"

/** Runs in the page. True once everything but the scripts is there. */
const IS_DRAWN =
  "document.readyState === 'interactive' && getComputedStyle(document.querySelector('.page')).display === 'flex'"

t.test('moves no control of the sign-in pages when a late script arrives', async (t) => {
  const page = await chromium.newPage(t, { viewport: PHONE, locale: 'en' })
  const last = lastOf(page)
  const found: string[] = []
  for (const { name, open } of PAGE_STATES) {
    await page.unrouteAll()
    await page.context().clearCookies()
    await open(page, provider)
    if (last().method !== 'GET' || (await page.locator('.page:not(.wide)').count()) === 0 || name === 'form-post')
      continue
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await page.route(/\/auth\/(?:pages|passkeys)\.js/, async (route) => {
      await held
      await route.continue()
    })
    await page.reload({ waitUntil: 'commit' })
    while (!(await page.evaluate<boolean>(IS_DRAWN))) await wait(25)
    const before = await page.evaluate<string[]>(PLACES)
    release()
    await page.waitForLoadState('load')
    const after = await page.evaluate<string[]>(PLACES)
    found.push(...before.filter((place) => !after.includes(place)).map((place) => `${name}: ${place}`))
  }
  t.same(found, [])
})

t.test('draws an invalid field differently from a valid one in forced colors', async (t) => {
  const page = await chromium.newPage(t, { viewport: PHONE, locale: 'en' })
  await page.emulateMedia({ forcedColors: 'active' })
  await page.goto(`${provider.origin}/auth/login`)
  const field = page.locator('#password')
  const picture = async (): Promise<string> => (await field.screenshot({ caret: 'hide' })).toString('base64')
  const right = await picture()
  t.equal(await picture(), right)
  await field.evaluate((input) => {
    ;(input as unknown as { setAttribute(name: string, value: string): void }).setAttribute('aria-invalid', 'true')
  })
  t.not(await picture(), right)
})

for (const state of ['consent', 'device-confirm'])
  t.test(`shows Allow above Cancel on a phone, and next to it on a wider screen: ${state}`, async (t) => {
    const page = await chromium.newPage(t, { viewport: PHONE, locale: 'en' })
    await PAGE_STATES.find(({ name }) => name === state)?.open(page, provider)
    const placesAt = async (width: number): Promise<[allow: Place, cancel: Place]> => {
      await page.setViewportSize({ width, height: 800 })
      const placeOf = async (name: string): Promise<Place> => {
        const { x = 0, y = 0 } = (await page.getByRole('button', { name, exact: true }).boundingBox()) ?? {}
        return { x, y }
      }
      return [await placeOf('Allow'), await placeOf('Cancel')]
    }
    for (const width of [320, PHONE.width]) {
      const [allow, cancel] = await placesAt(width)
      t.ok(allow.x === cancel.x && allow.y < cancel.y, `above, ${width} pixels`)
    }
    for (const width of [480, 768, 1280]) {
      const [allow, cancel] = await placesAt(width)
      t.ok(allow.y === cancel.y && allow.x > cancel.x, `on the right, ${width} pixels`)
    }
  })

for (const order of ['password-first', 'providers-first'] as const)
  t.test(`shows all ways to sign in above the fold with three providers, ${order}`, async (t) => {
    const client = { clientId: 'us', clientSecret: 'a secret of ours' }
    const many = await startProvider(t, {
      ...ALL_PAGES,
      ...FACTOR_PAGES,
      factors: memoryFactorStore(),
      secret: 'a secret of the tests with 32 bytes or more',
      connections: [google(client), github(client), microsoft({ ...client, tenant: 'organizations' })],
      pages: { title: 'Example Accounts', order }
    })
    const page = await chromium.newPage(t, { viewport: PHONE, locale: 'en' })
    await PAGE_STATES.find(({ name }) => name === 'login')?.open(page, many)
    const ways = page.locator('.ways :is(a, button), [data-passkey] button')
    t.equal(await ways.count(), 5)
    for (const way of await ways.all()) {
      const { y, height } = (await way.boundingBox()) ?? { y: 0, height: 0 }
      t.ok(y > 0 && y + height <= FOLD, `${await way.textContent()} ends at ${y + height}`)
      t.ok(height <= 48, `${await way.textContent()} has one line`)
    }
  })
