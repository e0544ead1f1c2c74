/** Pages on a screen that is touched. */
import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import { FACTOR_PAGES, FACTOR_STATES } from './support/factor-states.ts'
import { startProvider } from './support/provider.ts'
import { ALL_PAGES } from './support/states.ts'

const { newPage } = await withChromium(t)
const provider = await startProvider(t, { ...ALL_PAGES, ...FACTOR_PAGES, pages: { title: 'Example Accounts' } })

t.test('shows the QR code below the way on where the screen is touched, which may be that of the app', async (t) => {
  const options = { locale: 'en', viewport: { width: 360, height: 2000 } }
  for (const name of ['set-up-app', 'security-totp']) {
    const state = FACTOR_STATES.find((one) => one.name === name)
    for (const hasTouch of [true, false]) {
      const page = await newPage(t, { ...options, hasTouch, isMobile: hasTouch })
      await state?.open(page, provider)
      const bottomOf = async (what: string): Promise<number> => {
        const { y = 0, height = 0 } = (await page.locator(what).boundingBox()) ?? {}
        return y + height
      }
      const [button, code] = [await bottomOf('form:has([name=code]) > button'), await bottomOf('svg.qr')]
      t.equal(code > button, hasTouch, `${name}: ${code} ${button}`)
      // The other page begins with the passkey, which is its way on.
      if (name === 'security-totp' && hasTouch) t.ok(button <= 740, `${button}`)
    }
  }
})
