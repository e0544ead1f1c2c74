/** Mails of every kind in Chromium, as wide as phones and as desktops, light and dark. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import t from 'tap'
import { type Message, renderMessage, type RenderMessageOptions } from '../../lib/index.ts'
import { LOCALES } from '../../lib/pages/texts.ts'
import { everyMessage } from '../support/messages.ts'
import { withChromium } from './support/chromium.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WIDTHS = [320, 390, 1280] as const
/** A mail is shown inside a page of the mail program, which has the landmarks. */
const OF_THE_PROGRAM = ['region', 'landmark-one-main']

const chromium = await withChromium(t)

async function open (page: Page, message: Message, options: RenderMessageOptions = {}): Promise<void> {
  await page.setContent(renderMessage(message, { title: 'Example Shop', ...options }).html)
}

async function violations (page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  const { violations: found } = await page.evaluate(async (off) => {
    const { axe } = globalThis as unknown as { axe: { run(options: unknown): Promise<AxeResults> } }
    return await axe.run({ preload: false, resultTypes: ['violations'], rules: { 'target-size': { enabled: true }, ...Object.fromEntries(off.map((id) => [id, { enabled: false }])) } })
  }, OF_THE_PROGRAM)
  return found.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`))
}

const overflow = async (page: Page): Promise<number> => await page.evaluate(`Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll('body *')].map((element) => Math.ceil(element.getBoundingClientRect().right))) - document.documentElement.clientWidth`)

for (const locale of LOCALES) {
  t.test(`every kind in ${locale}: no violation of axe, nothing to scroll sideways, and the button in sight`, async (t) => {
    const page = await chromium.newPage(t, { locale })
    for (const message of everyMessage(locale)) {
      await open(page, message)
      t.equal(await page.locator('html').getAttribute('lang'), locale)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        t.ok(await overflow(page) <= 0, `${message.kind}, ${width} pixels`)
        if (message.url === undefined) continue
        const box = await page.locator('a.on-button').boundingBox()
        t.ok(box !== null && box.height >= 44 && box.y + box.height < 600, `${message.kind}, ${width} pixels: a button of ${box?.height} pixels at ${box?.y}`)
      }
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        t.strictSame(await violations(page), [], `${message.kind}, ${colorScheme}`)
      }
    }
  })
}

t.test('whatever the accent colour, every text can be read', async (t) => {
  const page = await chromium.newPage(t, { viewport: { width: 390, height: 800 } })
  for (const accentColor of ['#000000', '#ffffff', '#ffcc00', '#777777', '#0f1115', '#ff00ff']) {
    for (const message of everyMessage('en').slice(0, 1)) {
      await open(page, message, { accentColor })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        t.strictSame(await violations(page), [], `${accentColor}, ${colorScheme}`)
      }
    }
  }
})

t.test('light and dark are really two, and without the style sheet, as in some mail programs, it is light and whole', async (t) => {
  const page = await chromium.newPage(t, { viewport: { width: 390, height: 800 } })
  const [message] = everyMessage('en')
  if (message === undefined) throw new Error('no message')
  await open(page, message)
  const colors = async (): Promise<unknown> => await page.evaluate(`[['body', 'backgroundColor'], ['.card', 'backgroundColor'], ['h1', 'color'], ['.quiet', 'color'], ['a.link', 'color']].map(([name, property]) => getComputedStyle(document.querySelector(name))[property])`)
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await colors() as string[]
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await colors() as string[]
  for (const [index, color] of light.entries()) t.not(dark[index], color)
  await page.evaluate("document.querySelector('style').remove()")
  t.strictSame(await colors(), light)
  t.strictSame(await violations(page), [])
  t.ok(await overflow(page) <= 0)
})

t.test('nothing is loaded but the logo, and what is hostile stays text', async (t) => {
  const page = await chromium.newPage(t, { viewport: { width: 320, height: 800 } })
  const asked: string[] = []
  await page.route('**/*', async (route) => { asked.push(route.request().url()); await route.fulfill({ contentType: 'image/svg+xml', body: '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="100"><rect width="2000" height="100"/></svg>' }) })
  const hostile = '\u202e<img src="https://evil.example/x.png"><a href="https://evil.example">x</a>" style="background:url(https://evil.example/y)"'
  for (const message of everyMessage('en')) {
    // Each another one, or the browser would have it already.
    const logoUrl = `https://shop.example/${message.kind}.svg`
    await open(page, { ...message, user: { ...message.user, username: hostile, emailVerified: true } } as Message, { title: hostile, logoUrl })
    await page.waitForLoadState('networkidle')
    t.strictSame(asked.splice(0), [logoUrl])
    t.equal(await page.locator('a[href*=evil]').count(), 0)
    t.ok(await overflow(page) <= 0, `${message.kind}: a wide logo and a long name`)
    t.strictSame(await violations(page), [])
    t.ok((await page.locator('img').getAttribute('alt') ?? '').startsWith(hostile.slice(1, 90)))
  }
})

t.test('a huge name and an address without a break stay inside', async (t) => {
  const page = await chromium.newPage(t, { viewport: { width: 320, height: 800 } })
  for (const message of everyMessage('en')) {
    const long = { ...message, user: { ...message.user, username: 'w'.repeat(10_000), emailVerified: true }, ...message.url === undefined ? {} : { url: `https://auth.example.com/${'a'.repeat(2000)}` } } as Message
    await open(page, long, { title: 'W'.repeat(100) })
    t.ok(await overflow(page) <= 0, message.kind)
  }
})
