/** The brand and the page script in a browser. One provider and one page, because only the documents differ. */
import type { Page } from 'playwright-core'
import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import { startProvider } from './support/provider.ts'

const { newPage } = await withChromium(t)

const style = async (page: Page, selector: string, property: string, pseudo = ''): Promise<string> =>
  await page.evaluate<string>(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)}), ${JSON.stringify(pseudo)}).${property}`
  )

t.test('applies the brand, prevents a double submission and offers a choice of languages', async (t) => {
  const pages = {
    title: 'Example Accounts',
    accentColor: '#0b6e4f',
    background: '#102030',
    radius: '3px',
    font: '"Brand Sans", serif',
    stylesheetUrl: '/brand.css',
    texts: { en: { loginTitle: 'Welcome back' } },
    links: { support: '/help' }
  } as const
  const provider = await startProvider(t, { pages }, (host) => {
    host.get('/brand.css', async (_request, reply) => await reply.type('text/css').send(':root{--line:rgb(1, 2, 3)}'))
  })
  const page = await newPage(t, { viewport: { width: 1280, height: 800 }, colorScheme: 'light' })
  const refused: string[] = []
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) refused.push(message.text())
  })

  const tops = new Map<string, unknown>()
  for (const path of [
    '/auth/login',
    '/auth/signup',
    '/auth/forgot-password',
    '/auth/logout',
    '/auth/reset-password?token=x'
  ]) {
    await page.goto(`${provider.origin}${path}`)
    tops.set(path, (await page.locator('main').boundingBox())?.y)
  }
  t.equal(new Set(tops.values()).size, 1, `the card stays where it is: ${JSON.stringify([...tops])}`)
  t.equal(await page.locator('.actions a').getAttribute('href'), '/auth/forgot-password', 'an expired link leads on')

  await page.goto(provider.authorizeUrl())
  t.equal(await page.locator('h1').innerText(), 'Welcome back')
  t.equal(await style(page, 'button[type=submit]', 'backgroundColor'), 'rgb(11, 110, 79)')
  t.equal(await style(page, 'body', 'backgroundColor'), 'rgb(16, 32, 48)')
  t.equal(await style(page, 'input', 'borderRadius'), '3px')
  t.match(await style(page, 'body', 'fontFamily'), /^"Brand Sans", serif, /)
  t.equal(await style(page, 'main', 'borderTopColor'), 'rgb(1, 2, 3)', 'the stylesheet of the host comes last')
  t.strictSame(refused, [])

  // A second press at the same moment, and then a page restored from the page cache.
  const presses = await page.evaluate<unknown[]>(`(() => {
    const form = document.querySelector('form')
    const seen = []
    form.addEventListener('submit', (event) => { seen.push(event.defaultPrevented); event.preventDefault() })
    for (const input of form.querySelectorAll('input')) input.value = 'x'
    const button = form.querySelector('button[type=submit]')
    button.click()
    seen.push(button.getAttribute('aria-busy'))
    button.click()
    dispatchEvent(new Event('pageshow'))
    seen.push(button.getAttribute('aria-busy'))
    button.click()
    return seen
  })()`)
  t.strictSame(presses, [false, 'true', true, null, false])

  await page.emulateMedia({ forcedColors: 'active' })
  t.not(
    await style(page, '.reveal', 'backgroundColor', '::before'),
    await style(page, 'body', 'backgroundColor'),
    'an icon is seen in forced colours'
  )
  await page.emulateMedia({ forcedColors: 'none' })

  // The form has no listener of this test any more.
  await page.reload()
  await page.locator('summary').focus()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await Promise.all([page.waitForURL(/ui_locales=de/), page.keyboard.press('Enter')])
  t.equal(await page.locator('html').getAttribute('lang'), 'de')
  t.equal(new URL(page.url()).searchParams.get('client_id'), 'spa', 'and the journey goes on')

  await page.goto(`${provider.origin}/auth/reset-password?token=x`)
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByText('Details for support').click()
  const code = await page.locator('code').innerText()
  t.match(code, /^invalid_token · req-\w+$/)
  await page.getByRole('button', { name: 'Copy' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  t.equal(await page.evaluate<string>('navigator.clipboard.readText()'), code)
})
