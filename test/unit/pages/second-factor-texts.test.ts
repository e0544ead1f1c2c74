/** Texts of the second factor's pages for people who can use none of their factors. */
import t from '../../support/tap.ts'
import type { PageModels } from '../../../lib/pages/model.ts'
import { renderPage } from '../../support/render-page.ts'
import { LOCALES, type Locale, messagesOf } from '../../../lib/pages/texts.ts'
import { STEP_WAYS } from '../../../lib/features/second-factors/pages/second-factor.ts'
import { COMMON, MODELS } from './models.ts'
import { all, parse, textOf } from './strict-html.ts'

const inLanguage = (locale: Locale) => ({ messages: messagesOf(locale), lang: locale })
const second = (model: Partial<PageModels['second_factor']> = {}): string =>
  renderPage('second_factor', { ...MODELS.second_factor, ...model })
const linksTo = (html: string, url: string): number =>
  all(parse(html), 'a').filter(({ attributes }) => attributes.href === url).length

t.test('tells a user who lost every factor where to get help, with and without a support link', async (t) => {
  const support = 'mailto:help@example.com'
  for (const way of STEP_WAYS) {
    t.match(second({ way }), 'Lost everything? <a href="mailto:help@example.com">Contact support</a>')
    t.equal(linksTo(second({ way }), support), 2, 'beside the one of the footer')
    t.equal(linksTo(second({ way, footer: { ...COMMON.footer, support: null } }), support), 0)
  }
  for (const locale of LOCALES as readonly Locale[])
    t.match(textOf(parse(second(inLanguage(locale)))), messagesOf(locale).secondFactorLost, locale)
})
