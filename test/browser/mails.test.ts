/** Mails of every kind in Chromium, as wide as phones and as desktops, light and dark. */
import t, { type Test } from '../support/tap.ts'
import { type Message, renderMessage, type RenderMessageOptions } from '../../lib/index.ts'
import { LANGUAGES as LANGUAGE_HEADS } from '../../lib/texts/languages.ts'
import { LANGUAGES } from '../support/languages.ts'
import { everyMessage } from '../support/messages.ts'
import { withChromium } from './support/chromium.ts'
import { ALL_RULES, BY_LANGUAGE, viewerIn } from './support/viewer.ts'

const WIDTHS = [320, 390, 1280] as const
/** Landmarks are not required, because a mail program shows the email inside its own page. */
const OF_THE_PROGRAM = { region: { enabled: false }, 'landmark-one-main': { enabled: false } }
const ALL = { rules: { ...ALL_RULES.rules, ...OF_THE_PROGRAM } }

const chromium = await withChromium(t)
const viewer = await viewerIn(await chromium.newPage(t))

const htmlOf = (message: Message, options: RenderMessageOptions = {}): string =>
  renderMessage(message, { title: 'Example Shop', ...options }).html

/** Attributes that differ by language: side, direction, font and script. */
const butScript = (parts: string[]): string[] =>
  parts
    .map((part) =>
      part.replace(
        / (?:dir|align)=(?:ltr|rtl|left|right)(?= )|(?:font-family|text-align|line-height|word-break):[^;]*?(?=;| true| false)/g,
        ''
      )
    )
    .sort()

/** The elements of the English mails. */
let english: string[][] = []

for (const locale of LANGUAGES) {
  t.test(
    `shows every email in ${locale} without axe violations or sideways scrolling, with the button in view`,
    async (t) => {
      const messages = everyMessage(locale)
      const documents = messages.map((message) => htmlOf(message))
      const sights = await viewer.look(
        documents,
        WIDTHS.map((width) => ({
          width,
          height: 800,
          textSizes: [100],
          measure: 'a.on-button',
          axe: width === 1280 ? BY_LANGUAGE : undefined
        }))
      )
      if (locale === 'en') english = sights.map(({ parts }) => butScript(parts))
      for (const [index, { lang, parts, views }] of sights.entries()) {
        const kind = String(messages[index]?.kind)
        t.equal(lang, locale, kind)
        // Equal elements have equal colours.
        t.strictSame(butScript(parts), english[index], kind)
        for (const [at, width] of WIDTHS.entries()) {
          const name = `${kind}, ${width} pixels`
          const { overflow: [over = 1] = [], boxes: [box] = [], violations = ['none'], broken } = views[at] ?? {}
          t.strictSame(violations, [], name)
          if (LANGUAGE_HEADS[locale].space !== '') t.strictSame(broken, [], `${name}: words of headings stay whole`)
          t.ok(over <= 0, `${name}: ${over} to scroll`)
          if (messages[index]?.url !== undefined)
            t.ok(
              box !== undefined && box.height >= 44 && box.y + box.height < 600,
              `${name}: a button of ${box?.height} pixels at ${box?.y}`
            )
        }
      }
    }
  )
}

async function checkColors(t: Test, documents: string[], width: number, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await viewer.page.emulateMedia({ colorScheme })
    for (const { views } of await viewer.look(documents, [{ width, height: 800, axe: ALL }]))
      t.strictSame(views[0]?.violations, [], `${name}, ${colorScheme}`)
  }
}

t.test('shows English emails without axe violations, light and dark', async (t) => {
  await checkColors(
    t,
    everyMessage('en').map((message) => htmlOf(message)),
    1280,
    'blue'
  )
})

t.test('shows an email without axe violations with black, white and other extreme accent colors', async (t) => {
  for (const accentColor of ['#000000', '#ffffff', '#ffcc00', '#777777', '#0f1115', '#ff00ff']) {
    await checkColors(
      t,
      everyMessage('en')
        .slice(0, 1)
        .map((message) => htmlOf(message, { accentColor })),
      390,
      accentColor
    )
  }
})

t.test('has distinct light and dark colors, and stays light and readable without a style sheet', async (t) => {
  const page = await chromium.newPage(t, { viewport: { width: 390, height: 800 } })
  const [message] = everyMessage('en')
  if (message === undefined) throw new Error('no message')
  await page.setContent(htmlOf(message))
  const colors = async (): Promise<unknown> =>
    await page.evaluate(
      `[['body', 'backgroundColor'], ['.card', 'backgroundColor'], ['h1', 'color'], ['.quiet', ` +
        `'color'], ['a.link', 'color']].map(([name, property]) => ` +
        'getComputedStyle(document.querySelector(name))[property])'
    )
  await page.emulateMedia({ colorScheme: 'light' })
  const light = (await colors()) as string[]
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = (await colors()) as string[]
  for (const [index, color] of light.entries()) t.not(dark[index], color)
  await page.evaluate("document.querySelector('style').remove()")
  t.strictSame(await colors(), light)
  await viewer.page.emulateMedia({ colorScheme: 'dark' })
  const [sight] = await viewer.look(
    [htmlOf(message).replace(/<style>[^]*<\/style>/, '')],
    [{ width: 320, height: 800, axe: ALL, textSizes: [100] }]
  )
  t.strictSame(sight?.views[0]?.violations, [])
  t.ok((sight?.views[0]?.overflow[0] ?? 1) <= 0)
})

// covers ADV-GHSA-pgjx-7f9g-9463
t.test('loads nothing but the logo, and keeps hostile values as text', async (t) => {
  const page = await chromium.newPage(t, { viewport: { width: 320, height: 800 } })
  const asked: string[] = []
  page.on('request', (request) => {
    asked.push(request.url())
  })
  await page.context().route('**/*', async (route) => {
    await route.fulfill({
      contentType: 'image/svg+xml',
      body: '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="100"><rect width="2000" height="100"/></svg>'
    })
  })
  const hostile =
    '\u202e<img src="https://evil.example/x.png"><a href="https://evil.example">x</a>" ' +
    'style="background:url(https://evil.example/y)"'
  const documents = everyMessage('en').map((message, index) => {
    // Each image has another URL, because the browser would cache it.
    const logoUrl = `https://shop.example/${message.kind}-${index}.svg`
    return {
      kind: message.kind,
      logoUrl,
      html: htmlOf({ ...message, user: { ...message.user, username: hostile, emailVerified: true } } as Message, {
        title: hostile,
        logo: { url: logoUrl }
      })
    }
  })
  for (const { kind, html } of documents) {
    await page.setContent(html)
    t.equal(await page.locator('a[href*=evil]').count(), 0, kind)
    t.ok(((await page.locator('img').getAttribute('alt')) ?? '').startsWith(hostile.slice(1, 90)), kind)
  }
  await page.waitForLoadState('networkidle')
  t.strictSame(
    asked,
    documents.map(({ logoUrl }) => logoUrl)
  )
  const { look } = await viewerIn(await page.context().newPage())
  for (const [
    index,
    {
      views: [view]
    }
  ] of (
    await look(
      documents.map(({ html }) => html),
      [{ width: 320, height: 800, axe: ALL, textSizes: [100] }]
    )
  ).entries()) {
    t.ok((view?.overflow[0] ?? 1) <= 0, `${documents[index]?.kind}: a wide logo and a long name`)
    t.strictSame(view?.violations, [])
  }
})

t.test('shows a huge name and an unbroken URL in emails without sideways scrolling', async (t) => {
  const documents = everyMessage('en').map((message) => {
    const long = {
      ...message,
      user: { ...message.user, username: 'w'.repeat(10_000), emailVerified: true },
      ...(message.url === undefined ? {} : { url: `https://auth.example.com/${'a'.repeat(2000)}` })
    } as Message
    return htmlOf(long, { title: 'W'.repeat(100) })
  })
  for (const {
    views: [view]
  } of await viewer.look(documents, [{ width: 320, height: 800, textSizes: [100] }]))
    t.ok((view?.overflow[0] ?? 1) <= 0)
})
