import t from 'tap'
import { checkPages } from './support/accessibility.ts'
import { withChromium } from './support/chromium.ts'

const chromium = await withChromium(t)

// Colours know no language, but texts have lengths of their own.
for (const locale of ['es', 'ja']) {
  t.test(`every page in ${locale}: no violation, and nothing to scroll sideways`, async (t) => {
    await checkPages(t, chromium, { locale, sights: 1 })
  })
}
