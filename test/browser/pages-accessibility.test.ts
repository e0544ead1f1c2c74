import t from 'tap'
import { checkPages } from './support/accessibility.ts'
import { withChromium } from './support/chromium.ts'

const chromium = await withChromium(t)

t.test('every page: no violation on phone and desktop, light and dark; nothing to scroll sideways', async (t) => {
  await checkPages(t, chromium, { locale: 'en' })
})
