/** Positions of elements on pages. */
import t from '../support/tap.ts'
import { withChromium } from './support/chromium.ts'
import { FACTOR_PAGES } from './support/factor-states.ts'
import { startProvider } from './support/provider.ts'
import { ALL_PAGES, PAGE_STATES } from './support/states.ts'

const { newPage } = await withChromium(t)
const provider = await startProvider(t, { ...ALL_PAGES, ...FACTOR_PAGES, pages: { title: 'Example Accounts' } })

t.test('shows the QR code below the button on touch screens, and above it on other screens', async (t) => {
  const options = { locale: 'en', viewport: { width: 360, height: 2000 } }
  for (const name of ['set-up-app', 'security-totp']) {
    const state = PAGE_STATES.find((one) => one.name === name)
    for (const hasTouch of [true, false]) {
      const page = await newPage(t, { ...options, hasTouch, isMobile: hasTouch })
      await state?.open(page, provider)
      const bottomOf = async (what: string): Promise<number> => {
        const { y = 0, height = 0 } = (await page.locator(what).boundingBox()) ?? {}
        return y + height
      }
      const [button, code] = [await bottomOf('form:has([name=code]) > button'), await bottomOf('svg.qr')]
      t.equal(code > button, hasTouch, `${name}: ${code} ${button}`)
      // The other page begins with the passkey.
      if (name === 'security-totp' && hasTouch) t.ok(button <= 740, `${button}`)
    }
  }
})

t.test('aligns the check mark of a scope without a description with its text', async (t) => {
  const page = await newPage(t, { viewport: { width: 360, height: 640 }, locale: 'en' })
  await PAGE_STATES.find(({ name }) => name === 'consent')?.open(page, provider)
  const apart = await page.evaluate(`(() => {
    const code = document.querySelector('.scopes code')
    const range = document.createRange()
    range.selectNodeContents(code)
    const { top, bottom } = range.getBoundingClientRect()
    const item = code.closest('li')
    const mark = getComputedStyle(item, '::before')
    const middle = parseFloat(mark.marginTop) + parseFloat(mark.height) / 2
    return Math.abs((top + bottom) / 2 - item.getBoundingClientRect().top - middle)
  })()`)
  t.ok(Number(apart) < 2, `${String(apart)} pixels apart`)
})
