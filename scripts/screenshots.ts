/**
 * Pictures of the hosted pages and the mails for docs/screenshots, by the machine's own Chromium: `npm run
 * screenshots`. They show what the code shows now, so run it after a change to lib/pages or lib/mail and look at what
 * git says has changed.
 */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { type MessageKind, renderMessage } from '../lib/index.ts'
import { type Provider, startProvider } from '../test/browser/support/provider.ts'
import { freePort } from '../test/support/free-port.ts'
import { ALL_PAGES, PAGE_STATES } from '../test/browser/support/states.ts'
import { everyMessage } from '../test/support/messages.ts'
import { smallPng } from './small-png.ts'

/** Instead of an address with a port, which would be another in every run. */
const CALLBACK = 'https://shop.example/callback'
const DIRECTORY = join(process.cwd(), 'docs', 'screenshots')

const VIEWS = {
  'desktop-light': { viewport: { width: 1024, height: 768 }, colorScheme: 'light' },
  'desktop-dark': { viewport: { width: 1024, height: 768 }, colorScheme: 'dark' },
  'phone-light': { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
  'phone-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }
} as const
type View = keyof typeof VIEWS

/** Every page once, in the views in turn; the one that everybody sees in all of them. */
const PICTURES: Array<[page: string, title: string, views: View[]]> = [
  ['login', 'Sign in', ['desktop-light', 'desktop-dark', 'phone-light', 'phone-dark']],
  ['login-wrong', 'Sign in, after a wrong password', ['desktop-light', 'phone-dark']],
  ['signup', 'Sign up, with fields of the host', ['desktop-light', 'desktop-dark', 'phone-dark']],
  ['signup-wrong', 'Sign up, with a password that everybody uses', ['phone-light']],
  ['signup-sent', 'Sign up, where the address must be confirmed first', ['desktop-dark']],
  ['forgot-password', 'Forgot password', ['desktop-light', 'phone-dark']],
  ['forgot-password-sent', 'Forgot password, sent', ['phone-light']],
  ['reset-password', 'New password', ['desktop-dark', 'phone-light']],
  ['reset-password-done', 'New password, done', ['phone-dark']],
  ['link-expired', 'A link that has expired', ['desktop-light', 'phone-dark']],
  ['verify-email', 'Confirm an email address', ['desktop-light']],
  ['consent', 'Consent', ['desktop-light', 'phone-light', 'phone-dark']],
  ['account', 'The account', ['desktop-light', 'phone-dark']],
  ['account-password-wrong', 'The account: a new password, after a wrong one', ['desktop-dark']],
  ['account-email', 'The account: email address', ['phone-light']],
  ['account-sessions', 'The account: sessions and devices', ['desktop-dark', 'phone-light']],
  ['account-access', 'The account: apps with access', ['desktop-light']],
  ['account-remove', 'The account: delete it', ['phone-light']],
  ['logout', 'Sign out', ['phone-light']],
  ['signed-out', 'Signed out', ['desktop-dark']],
  ['error', 'Error', ['desktop-light']],
  ['form-post', 'Back to the client by a form, where scripts are off', ['phone-light']]
]

/** Other scripts and directions. Those that a machine may lack the fonts for are not among them. */
const LANGUAGES: Array<[page: string, locale: string, title: string, views: View[]]> = [
  ['login', 'ar', 'Sign in, in Arabic', ['desktop-light', 'phone-dark']],
  ['consent', 'pl', 'Consent, in Polish', ['phone-light']],
  ['account', 'uk', 'The account, in Ukrainian', ['phone-dark']]
]

/** The example server, which is the first that most people see. */
const DEMOS: Array<[name: string, path: string, title: string, views: View[]]> = [
  ['demo-start', '/', 'The example server', ['desktop-light', 'phone-dark']],
  ['demo-app', '/app', 'The example server: its app', ['desktop-dark', 'phone-light']]
]

const MAILS: Array<[kind: MessageKind, locale: string, title: string, views: View[]]> = [
  ['password_reset', 'en', 'Mail: set a new password', ['desktop-light', 'phone-dark']],
  ['verify_email', 'de', 'Mail: confirm the address, in German', ['phone-light']],
  ['password_changed', 'fr', 'Mail: the password was changed, in French', ['desktop-dark']]
]

const closers: Array<() => unknown> = []
try {
  const clients = [
    { clientId: 'spa', name: 'Example Shop', redirectUris: [CALLBACK] },
    {
      clientId: 'third',
      name: 'Parcel Tracker',
      clientSecret: 'a secret for pictures, 32 bytes long',
      firstParty: false,
      redirectUris: [CALLBACK]
    }
  ]
  const started = await startProvider({ teardown: (close) => closers.push(close) }, { ...ALL_PAGES, clients })
  const provider: Provider = {
    ...started,
    authorizeUrl: (params) => started.authorizeUrl({ redirect_uri: CALLBACK, ...params })
  }
  const { CHROMIUM_PATH: named = '' } = process.env
  const executablePath =
    named === ''
      ? (JSON.parse(readFileSync('scripts/chromium-paths.json', 'utf8')) as string[]).find((path) => existsSync(path))
      : named
  if (executablePath === undefined)
    throw new Error('no Chromium on this machine: install one, or name it in CHROMIUM_PATH')
  const browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
  closers.push(async () => {
    await browser.close()
  })
  mkdirSync(DIRECTORY, { recursive: true })
  for (const file of readdirSync(DIRECTORY)) rmSync(join(DIRECTORY, file))
  for (const [page, , views] of PICTURES) {
    for (const view of views) await picture(browser, provider, page, view)
  }
  for (const [page, locale, , views] of LANGUAGES)
    for (const view of views) await picture(browser, provider, page, view, locale)
  await demoPictures(browser)
  for (const [kind, locale, , views] of MAILS) for (const view of views) await mailPicture(browser, kind, locale, view)
  await poster(browser)
  writeFileSync(join(DIRECTORY, 'README.md'), gallery())
  console.log(`${readdirSync(DIRECTORY).filter((file) => file.endsWith('.png')).length} pictures in docs/screenshots`)
} finally {
  for (const close of closers.toReversed()) await close()
}

async function picture(browser: Browser, provider: Provider, name: string, view: View, locale = 'en'): Promise<void> {
  const state = PAGE_STATES.find((state) => state.name === name)
  if (state === undefined) throw new Error(`there is no page state "${name}"`)
  const context = await browser.newContext({ ...VIEWS[view], deviceScaleFactor: 1, locale, reducedMotion: 'reduce' })
  const page = await context.newPage()
  await state.open(page, provider)
  // The button that allows can be pressed after a moment only.
  if (name === 'consent') await page.locator('button:disabled').waitFor({ state: 'detached' })
  writeFileSync(
    join(DIRECTORY, `${name}${locale === 'en' ? '' : `-${locale}`}-${view}.png`),
    smallPng(await page.screenshot({ caret: 'hide', fullPage: true }))
  )
  await context.close()
}

/** Signed in, and with the port that the README says. */
async function demoPictures(browser: Browser): Promise<void> {
  const port = await freePort()
  execFileSync('npm', ['run', '--silent', 'build:examples'], { stdio: 'inherit' })
  const home = mkdtempSync(join(tmpdir(), 'screenshots-'))
  const server = spawn(process.execPath, [join(process.cwd(), 'dist/examples/server/main.js')], {
    cwd: home,
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  closers.push(
    () => {
      rmSync(home, { recursive: true })
    },
    () => server.kill()
  )
  for await (const text of server.stdout.setEncoding('utf8')) if (String(text).includes(`localhost:${port}`)) break
  const origin = `http://localhost:${port}`
  const context = await browser.newContext({ deviceScaleFactor: 1, locale: 'en', reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.goto(`${origin}/auth/signup`)
  await page.locator('[name=username]').fill('ann@example.com')
  await page.locator('[name=password]').fill('seven green boats at dawn')
  await Promise.all([page.waitForURL(`${origin}/`), page.locator('button[type=submit]').first().click()])
  for (const [name, path, , views] of DEMOS) {
    for (const view of views) {
      const { viewport, colorScheme } = VIEWS[view]
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme })
      await page.goto(`${origin}${path}`)
      if (path === '/app') await page.locator('#signed-in, #signed-out').locator('visible=true').first().waitFor()
      await page.evaluate(
        'for (const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); ' +
          'walker.nextNode();) walker.currentNode.data = ' +
          `walker.currentNode.data.replaceAll('localhost:${port}', ` +
          `'localhost:3000').replace(/\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d/, '2026-01-01 09:30')`
      )
      writeFileSync(
        join(DIRECTORY, `${name}-${view}.png`),
        smallPng(await page.screenshot({ caret: 'hide', fullPage: true }))
      )
    }
  }
  await context.close()
}

async function mailPicture(browser: Browser, kind: MessageKind, locale: string, view: View): Promise<void> {
  const found = everyMessage(locale).find((message) => message.kind === kind)
  if (found === undefined) throw new Error(`there is no message "${kind}"`)
  const message =
    found.kind === 'verify_email'
      ? {
          ...found,
          at: new Date(Date.UTC(2026, 0, 1, 12)),
          code: '1234 5678',
          codeExpiresAt: new Date(Date.now() + 600_000)
        }
      : found
  const context = await browser.newContext({ ...VIEWS[view], deviceScaleFactor: 1 })
  const page = await context.newPage()
  await page.setContent(renderMessage(message, { title: 'Example Shop' }).html)
  writeFileSync(
    join(DIRECTORY, `mail-${kind.replaceAll('_', '-')}-${view}.png`),
    smallPng(await page.screenshot({ fullPage: true }))
  )
  await context.close()
}

/** One picture of three pages, light, dark and on a phone, for the top of the README. */
async function poster(browser: Browser): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 520 }, deviceScaleFactor: 1 })
  const page = await context.newPage()
  const cut = (file: string, width: number, at: string): string =>
    `<i style="width: ${width}px; background: ` +
    `url(data:image/png;base64,${readFileSync(join(DIRECTORY, `${file}.png`)).toString('base64')}) ` +
    `${at}"></i>`
  await page.setContent(`<style>
    body { margin: 0; height: 520px; display: flex; gap: 24px; align-items: center; justify-content: center; background: #d5dbe3 }
    i { height: 472px; border-radius: 12px; outline: 1px solid #9aa5b4 }
  </style>${[cut('login-desktop-light', 412, 'top / 760px'), cut('signup-desktop-dark', 412, 'top / 640px'), cut('consent-phone-light', 280, 'top / cover')].join('')}`)
  writeFileSync(join(DIRECTORY, 'pages.png'), smallPng(await page.screenshot()))
  await context.close()
}

/** A page of them all, for reading on the web. */
function gallery(): string {
  const pictures = [
    ...PICTURES,
    ...LANGUAGES.map(([name, locale, title, views]) => [`${name}-${locale}`, title, views] as const),
    ...DEMOS.map(([name, , title, views]) => [name, title, views] as const),
    ...MAILS.map(([kind, , title, views]) => [`mail-${kind.replaceAll('_', '-')}`, title, views] as const)
  ]
  const sections = pictures.map(
    ([name, title, views]) =>
      '## ' +
      `${title}\n\n${views.map((view) => `<img src="./${name}-${view}.png" alt="${title}: ${view.replace('-', ', ')}" width="${view.startsWith('phone') ? 240 : 480}">`).join('\n')}\n`
  )
  return (
    `# The hosted pages, and the mails\n\nMade by \`npm run screenshots\` from the code as it ` +
    `is; don't edit by hand. Title, logo, accent color, texts and whole pages are the host's ` +
    `to change: see the option \`pages\`.\n\n${sections.join('\n')}`
  )
}
