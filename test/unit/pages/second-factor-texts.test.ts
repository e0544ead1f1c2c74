/** Texts of the second factor's pages for people who can use none of their factors. */
import t from '../../support/tap.ts'
import type { PageModels } from '../../../lib/pages/model.ts'
import { renderPage } from '../../support/render-page.ts'
import { format, LOCALES, type Locale, messagesOf } from '../../../lib/pages/texts.ts'
import { COMMON, MODELS } from './models.ts'
import { all, parse, textOf } from './strict-html.ts'

const inLanguage = (locale: Locale) => ({ messages: messagesOf(locale), lang: locale })
const second = (model: Partial<PageModels['second_factor']> = {}): string =>
  renderPage('second_factor', { ...MODELS.second_factor, ...model })
const linksTo = (html: string, url: string): number =>
  all(parse(html), 'a').filter(({ attributes }) => attributes.href === url).length

t.test('tells a user who lost every factor where to get help, with and without a support link', async (t) => {
  const support = 'mailto:help@example.com'
  for (const asksCode of [true, false]) {
    t.match(
      second({ asksCode }),
      'If you have lost all of these, ask <b><bdi>Example Service</bdi></b> for help. <a ' +
        'href="mailto:help@example.com">Help</a>'
    )
    t.equal(linksTo(second({ asksCode }), support), 2, 'beside the one of the footer')
    const without = second({ asksCode, footer: { ...COMMON.footer, support: null } })
    t.match(without, 'If you have lost all of these, ask <b><bdi>Example Service</bdi></b> for help.</p>')
    t.equal(linksTo(without, support), 0)
  }
  for (const locale of LOCALES as readonly Locale[])
    t.match(
      textOf(parse(second(inLanguage(locale)))),
      format(messagesOf(locale).secondFactorLost, { title: 'Example Service' }),
      locale
    )
})

t.test('says in every language that an app on a computer also works', async (t) => {
  for (const locale of LOCALES as readonly Locale[])
    for (const name of ['set_up_second_factor', 'account_totp'] as const)
      t.match(
        renderPage(name, { ...MODELS[name], ...inLanguage(locale) } as never),
        messagesOf(locale).enrolAnyDevice,
        `${name} ${locale}`
      )
})

t.test('does not call a user signed in before the sign-in is complete', async (t) => {
  for (const locale of LOCALES as readonly Locale[]) {
    const messages = messagesOf(locale)
    const said = format(messages.signedInAs, { username: 'ann' })
    t.not(messages.secondFactorAs, messages.signedInAs, locale)
    for (const html of [
      second(inLanguage(locale)),
      renderPage('set_up_second_factor', { ...MODELS.set_up_second_factor, ...inLanguage(locale) }),
      renderPage('second_factor_link', { ...MODELS.second_factor_link, ...inLanguage(locale) }),
      renderPage('account_recovery_codes', { ...MODELS.account_recovery_codes, ...inLanguage(locale), signedIn: false })
    ])
      t.notOk(textOf(parse(html)).includes(said), locale)
    t.ok(
      textOf(
        parse(
          renderPage('account_recovery_codes', {
            ...MODELS.account_recovery_codes,
            ...inLanguage(locale),
            signedIn: true
          })
        )
      ).includes(said),
      locale
    )
  }
})

t.test('says whether the account or only the opened page needs the second factor', async (t) => {
  for (const locale of LOCALES as readonly Locale[]) {
    const { setUpText, setUpForPageText } = messagesOf(locale)
    const shown = (forAccount: boolean): string =>
      textOf(
        parse(renderPage('set_up_second_factor', { ...MODELS.set_up_second_factor, ...inLanguage(locale), forAccount }))
      )
    t.ok(shown(true).includes(setUpText) && !shown(true).includes(setUpForPageText), locale)
    t.ok(shown(false).includes(setUpForPageText) && !shown(false).includes(setUpText), locale)
  }
})
