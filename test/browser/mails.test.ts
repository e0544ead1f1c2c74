/** Mails of every kind in Chromium, as wide as phones and as desktops, light and dark. */
import t, { type Test } from 'tap'
import { type Message, renderMessage, type RenderMessageOptions } from '../../lib/index.ts'
import { LOCALES } from '../../lib/pages/texts.ts'
import { everyMessage } from '../support/messages.ts'
import { withChromium } from './support/chromium.ts'
import { ALL_RULES, BUT_COLORS, viewerIn } from './support/viewer.ts'

const WIDTHS = [320, 390, 1280] as const
/** A mail is shown inside a page of the mail program, which has the landmarks. */
const OF_THE_PROGRAM = { region: { enabled: false }, 'landmark-one-main': { enabled: false } }
const ALL = { rules: { ...ALL_RULES.rules, ...OF_THE_PROGRAM } }
const BUT = { rules: { ...BUT_COLORS.rules, ...OF_THE_PROGRAM } }

const chromium = await withChromium(t)
const viewer = await viewerIn(await chromium.newPage(t))

const htmlOf = (message: Message, options: RenderMessageOptions = {}): string => renderMessage(message, { title: 'Example Shop', ...options }).html

/** Side, direction, font and what goes with a script are in attributes of a mail, and differ with the language. */
const butScript = (parts: string[]): string[] => parts.map((part) => part.replace(/ (?:dir|align)=(?:ltr|rtl|left|right)(?= )|(?:font-family|text-align|line-height|word-break):[^;]*?(?=;| true| false)/g, '')).sort()

/** The elements of the English mails. */
let english: string[][] = []

for (const locale of LOCALES) {
  t.test(`every kind in ${locale}: the elements of the English one, no violation of axe, nothing to scroll sideways, and the button in sight`, async (t) => {
    const messages = everyMessage(locale)
    const documents = messages.map((message) => htmlOf(message))
    for (const width of WIDTHS) {
      await viewer.page.setViewportSize({ width, height: 800 })
      const sights = await viewer.look(documents, { textSizes: [100], measure: 'a.on-button', axe: width === 1280 ? BUT : undefined })
      if (locale === 'en') english = sights.map(({ parts }) => parts)
      for (const [index, { lang, overflow: [over = 1], boxes: [box], parts, violations }] of sights.entries()) {
        const name = `${messages[index]?.kind}, ${width} pixels`
        t.equal(lang, locale, name)
        // Where they are, so are their colours.
        t.strictSame(butScript(parts), butScript(english[index] ?? []), name)
        t.strictSame(violations, [], name)
        t.ok(over <= 0, `${name}: ${over} to scroll`)
        if (messages[index]?.url !== undefined) t.ok(box !== undefined && box.height >= 44 && box.y + box.height < 600, `${name}: a button of ${box?.height} pixels at ${box?.y}`)
      }
    }
  })
}

async function checkColors (t: Test, documents: string[], name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await viewer.page.emulateMedia({ colorScheme })
    for (const { violations } of await viewer.look(documents, { axe: ALL })) t.strictSame(violations, [], `${name}, ${colorScheme}`)
  }
}

t.test('every kind, light and dark: every text can be read', async (t) => {
  await viewer.page.setViewportSize({ width: 1280, height: 800 })
  await checkColors(t, everyMessage('en').map((message) => htmlOf(message)), 'blue')
})

t.test('whatever the accent colour, every text can be read', async (t) => {
  await viewer.page.setViewportSize({ width: 390, height: 800 })
  for (const accentColor of ['#000000', '#ffffff', '#ffcc00', '#777777', '#0f1115', '#ff00ff']) {
    await checkColors(t, everyMessage('en').slice(0, 1).map((message) => htmlOf(message, { accentColor })), accentColor)
  }
})

t.test('light and dark are really two, and without the style sheet, as in some mail programs, it is light and whole', async (t) => {
  const page = await chromium.newPage(t, { viewport: { width: 390, height: 800 } })
  const [message] = everyMessage('en')
  if (message === undefined) throw new Error('no message')
  await page.setContent(htmlOf(message))
  const colors = async (): Promise<unknown> => await page.evaluate(`[['body', 'backgroundColor'], ['.card', 'backgroundColor'], ['h1', 'color'], ['.quiet', 'color'], ['a.link', 'color']].map(([name, property]) => getComputedStyle(document.querySelector(name))[property])`)
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await colors() as string[]
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await colors() as string[]
  for (const [index, color] of light.entries()) t.not(dark[index], color)
  await page.evaluate("document.querySelector('style').remove()")
  t.strictSame(await colors(), light)
  await viewer.page.emulateMedia({ colorScheme: 'dark' })
  const [sight] = await viewer.look([htmlOf(message).replace(/<style>[^]*<\/style>/, '')], { axe: ALL, textSizes: [100] })
  t.strictSame(sight?.violations, [])
  t.ok((sight?.overflow[0] ?? 1) <= 0)
})

// covers ADV-GHSA-pgjx-7f9g-9463
t.test('nothing is loaded but the logo, and what is hostile stays text', async (t) => {
  const { page, look } = await viewerIn(await chromium.newPage(t, { viewport: { width: 320, height: 800 } }))
  const asked: string[] = []
  await page.route('**/*', async (route) => { asked.push(route.request().url()); await route.fulfill({ contentType: 'image/svg+xml', body: '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="100"><rect width="2000" height="100"/></svg>' }) })
  const hostile = '\u202e<img src="https://evil.example/x.png"><a href="https://evil.example">x</a>" style="background:url(https://evil.example/y)"'
  for (const [index, message] of everyMessage('en').entries()) {
    // Each another one, or the browser would have it already.
    const logoUrl = `https://shop.example/${message.kind}-${index}.svg`
    const html = htmlOf({ ...message, user: { ...message.user, username: hostile, emailVerified: true } } as Message, { title: hostile, logoUrl })
    await page.setContent(html)
    await page.waitForLoadState('networkidle')
    t.strictSame(asked.splice(0), [logoUrl])
    t.equal(await page.locator('a[href*=evil]').count(), 0)
    const [sight] = await look([html], { axe: ALL, textSizes: [100] })
    t.ok((sight?.overflow[0] ?? 1) <= 0, `${message.kind}: a wide logo and a long name`)
    t.strictSame(sight?.violations, [])
    t.ok((await page.locator('img').getAttribute('alt') ?? '').startsWith(hostile.slice(1, 90)))
  }
})

t.test('a huge name and an address without a break stay inside', async (t) => {
  await viewer.page.setViewportSize({ width: 320, height: 800 })
  const documents = everyMessage('en').map((message) => {
    const long = { ...message, user: { ...message.user, username: 'w'.repeat(10_000), emailVerified: true }, ...message.url === undefined ? {} : { url: `https://auth.example.com/${'a'.repeat(2000)}` } } as Message
    return htmlOf(long, { title: 'W'.repeat(100) })
  })
  for (const { overflow: [over = 1] } of await viewer.look(documents, { textSizes: [100] })) t.ok(over <= 0)
})
