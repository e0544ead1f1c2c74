import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import { answerAt, heading, press, signInOn } from './support/journeys.ts'
import { startProvider, startSite } from './support/provider.ts'

const { newPage } = await withChromium(t)

/**
 * Asks for a double click in a popup. The first click navigates the opener to the consent page and closes the popup, so
 * the second click lands on that page.
 */
const evilPage = (consentUrl: string): string => `<!doctype html><html lang="en"><title>Evil</title><button onclick="
  const popup = open('', '', 'width=300,height=300')
  popup.document.write('<p>Double-click here</p>')
  popup.onmousedown = () => { location = '${consentUrl.replaceAll('&', '&amp;')}'; popup.close() }
">Play</button>`

// covers A15
t.test('ignores the second click of a double click on the consent page', async (t) => {
  const provider = await startProvider(t)
  const evil = await startSite(t, 'Evil')
  const page = await newPage(t, { locale: 'en' })
  await page.goto(`${provider.origin}/auth/login`)
  await signInOn(page)
  // The position at which the button will appear.
  await page.goto(provider.authorizeUrl({ client_id: 'third' }))
  const box = await page.getByRole('button', { name: 'Allow' }).boundingBox()
  if (box === null) throw new Error('There is no button.')
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]

  evil.pages.set('/evil', evilPage(provider.authorizeUrl({ client_id: 'third' })))
  await page.goto(`${evil.origin}/evil`)
  // Stops the clock of the pages, so that a slow machine does not matter.
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 3_600_000)
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button').click()])
  const closed = popup.waitForEvent('close')
  await popup.mouse.move(50, 50)
  await popup.mouse.down().catch(() => {})
  await closed
  await page.waitForURL((url) => url.pathname === '/auth/consent')
  await page.mouse.click(x, y)
  await page.clock.runFor(499)
  await page.mouse.click(x, y)
  await page.keyboard.press('Enter')
  t.equal(await heading(page), 'A Third Party wants access to your account')
  t.strictSame(await provider.app.authority.consents(provider.ann.id), [])
  t.strictSame(provider.client.visits, [])

  await page.clock.runFor(1)
  t.equal(await page.getByRole('button', { name: 'Allow' }).isEnabled(), true)
  await page.evaluate("window.dispatchEvent(new Event('focus'))")
  await page.mouse.click(x, y)
  t.strictSame(
    await provider.app.authority.consents(provider.ann.id),
    [],
    'nor where the page was there before, and its window has just got the focus'
  )
  await page.clock.runFor(500)
  await page.mouse.click(x, y)
  t.match(await answerAt(page, provider), { state: 'state-1', code: /./ }, 'a person who looks is not in the way of it')
})

// covers A15
t.test('enables Cancel on the consent page without delay, and Allow without delay if scripts are off', async (t) => {
  const provider = await startProvider(t)
  const page = await newPage(t, { locale: 'en' })
  await page.goto(provider.authorizeUrl({ client_id: 'third' }))
  await signInOn(page)
  t.equal(await page.getByRole('button', { name: 'Cancel' }).isEnabled(), true)
  await press(page, 'Cancel')
  t.match(await answerAt(page, provider), { error: 'access_denied' })
  const plain = await newPage(t, { locale: 'en', javaScriptEnabled: false })
  await plain.goto(provider.authorizeUrl({ client_id: 'third' }))
  await signInOn(plain)
  t.equal(await plain.getByRole('button', { name: 'Allow' }).isEnabled(), true)
  await press(plain, 'Allow')
  t.match(await answerAt(plain, provider), { code: /./ })
})
