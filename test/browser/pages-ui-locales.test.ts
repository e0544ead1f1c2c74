import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import { answerAt, heading } from './support/journeys.ts'
import { startProvider } from './support/provider.ts'

const chromium = await withChromium(t)

t.test('prefers ui_locales of the client to the browser language on the sign-in and consent pages', async (t) => {
  const provider = await startProvider(t)
  const page = await chromium.newPage(t, { locale: 'de' })
  await page.goto(provider.authorizeUrl({ client_id: 'third', ui_locales: 'ja fr' }))
  t.equal(await heading(page), 'Example Accounts にログイン')
  for (const name of ['username', 'password']) await page.locator(`[name=${name}]`).fill('ann')
  await Promise.all([
    page.waitForEvent('load'),
    page.locator('form[method=post] button[type=submit]:not([form])').first().click()
  ])
  t.equal(await page.locator('html').getAttribute('lang'), 'ja', 'with an error too')
  await page.locator('[name=password]').fill('correct horse battery')
  await Promise.all([
    page.waitForEvent('load'),
    page.locator('form[method=post] button[type=submit]:not([form])').first().click()
  ])
  t.equal(await page.locator('html').getAttribute('lang'), 'ja', 'the consent page')
  await page.locator('button[value=allow]').click()
  t.match(await answerAt(page, provider), { code: /./ })
})
