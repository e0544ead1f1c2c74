/**
 * Every page in every language. The test reaches each page once, and then renders the other languages in one browser
 * page.
 */
import t from '../support/tap.ts'
import { PAGE_SCRIPT } from '../../lib/pages/script.ts'
import { LANGUAGES as LANGUAGE_HEADS, type Locale } from '../../lib/texts/languages.ts'
import { LANGUAGES } from '../support/languages.ts'
import { MODELS } from '../unit/pages/models.ts'
import { withChromium } from './support/chromium.ts'
import { FACTOR_PAGES } from './support/factor-states.ts'
import { startProvider } from './support/provider.ts'
import { pageRecorder, recorded, type RecordedPage } from './support/recorded-pages.ts'
import { ALL_PAGES, PAGE_STATES } from './support/states.ts'
import { ALL_RULES, BY_LANGUAGE, BY_SIGHT, viewerIn } from './support/viewer.ts'

const PHONE = { width: 390, height: 844 }
const DESKTOP = { width: 1280, height: 800 }
/** 1280 pixels at 400 %. @see WCAG 2.2 §1.4.10 */
const NARROW = { width: 320, height: 568 }
/** The narrowest of the usual phones. */
const SMALL = { width: 360, height: 740 }
/** The primary buttons of a page without an error and without a field to fill in. */
const PRIMARY =
  'main:not(:has([role=alert], input:not([type=hidden]))) :is(button[type=submit], .actions a):not([class])'
/** Chinese and Japanese have no spaces, so a line may end inside a word. */
const hasWords = (locale: Locale): boolean => LANGUAGE_HEADS[locale].space !== ''

const chromium = await withChromium(t)
const recorder = pageRecorder()
const provider = await startProvider(t, {
  ...ALL_PAGES,
  ...FACTOR_PAGES,
  pages: { title: 'Example Accounts', render: recorder.render }
})
/** Pages that a browser alone can't reach are rendered from their models. */
const states = new Map<string, RecordedPage>([
  [
    'set-up-unconfirmed',
    recorded('set_up_second_factor', { ...MODELS.set_up_second_factor, languages: [], passkey: null, enrolment: null })
  ],
  [
    'set-up-sent',
    recorded('set_up_second_factor', {
      ...MODELS.set_up_second_factor,
      languages: [],
      passkey: null,
      enrolment: null,
      sent: true
    })
  ],
  ['set-up-link', recorded('second_factor_link', { ...MODELS.second_factor_link, languages: [] })],
  [
    'reauthenticate-connections',
    recorded('reauthenticate', { ...MODELS.reauthenticate, languages: [], asksPassword: false })
  ],
  [
    'security-unconfirmed',
    recorded('account_totp', {
      ...MODELS.account_totp,
      languages: [],
      enrolment: null,
      confirmUrl: '/auth/account/email'
    })
  ]
])
// Changes to documents for inspection: `form_post` would leave at once, buttons of decisions are disabled for a moment,
// and the passkey script shows its form.
const script =
  `if (document.querySelector('[data-submit]') === null) { ${PAGE_SCRIPT}; for (const ` +
  `element of all('[data-deliberate]')) element.disabled = false; for (const element of ` +
  `all('form[data-passkey]')) element.hidden = false }`
const [, styleUrl = ''] =
  /<link rel="stylesheet" href="([^"]+)">/.exec((await provider.app.inject('/auth/login')).body) ?? []
const { page, frame, look } = await viewerIn(await chromium.newPage(t), {
  style: (await provider.app.inject(styleUrl)).body,
  script
})

t.test('serves every page in German to a German browser, with styles and without console messages', async (t) => {
  // Skips English, the default.
  const page = await chromium.newPage(t, { locale: 'de' })
  for (const { name, open } of PAGE_STATES) {
    await page.context().clearCookies()
    await open(page, provider)
    t.equal(await page.locator('html').getAttribute('lang'), 'de', name)
    t.equal(await page.evaluate('getComputedStyle(document.querySelector(".brand")).display'), 'flex', name)
    states.set(name, recorder.last())
  }
})

t.test('shows every page in English without axe violations, on phone and desktop, light and dark', async (t) => {
  const documents = [...states.values()].map((state) => state.in('en'))
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    const sights = await look(documents, [
      { ...PHONE, axe: colorScheme === 'light' ? ALL_RULES : BY_SIGHT },
      { ...DESKTOP, axe: BY_SIGHT }
    ])
    for (const [index, name] of [...states.keys()].entries())
      t.strictSame(
        sights[index]?.views.map(({ violations }) => violations),
        [[], []],
        `${name}, ${colorScheme}, on a phone and a desktop`
      )
  }
  await page.emulateMedia({ colorScheme: 'light' })
})

/** The elements of the English pages. */
let english: string[][] = []

for (const locale of LANGUAGES) {
  t.test(
    `shows every page in ${locale} without violations, sideways scrolling, broken headings or hidden buttons`,
    async (t) => {
      const documents = [...states.values()].map((state) => state.in(locale))
      const looks = [
        { ...PHONE, textSizes: [100, 200], axe: BY_LANGUAGE },
        { ...SMALL, textSizes: [100], measure: PRIMARY },
        { ...NARROW, textSizes: [100, 200] },
        { ...DESKTOP, textSizes: [200] }
      ]
      const sights = await look(documents, looks)
      if (locale === 'en') english = sights.map(({ parts }) => parts)
      for (const [index, name] of [...states.keys()].entries()) {
        const sight = sights[index]
        if (sight === undefined) throw new Error(`${name} was not looked at`)
        t.notMatch(documents[index], /<title>[^<]*\u00ad/, `${name}: a title without soft hyphens`)
        if (!hasWords(locale)) t.notMatch(documents[index], /[。？！] +[^\s–]/, `${name}: no space between sentences`)
        t.equal(sight.lang, locale, name)
        // Equal elements have equal colours.
        t.strictSame(sight.parts, english[index], name)
        for (const [at, { width, textSizes }] of looks.entries()) {
          const { violations = ['none'], overflow = [], broken = ['none'], boxes = [] } = sight.views[at] ?? {}
          t.strictSame(violations, [], name)
          if (hasWords(locale)) t.strictSame(broken, [], `${name}, ${width} pixels: words of headings stay whole`)
          for (const { y, height } of boxes.slice(0, 1))
            t.ok(y + height <= SMALL.height, `${name}: the primary button ends at ${y + height}`)
          for (const [of, size] of textSizes.entries())
            t.ok((overflow[of] ?? 1) <= 0, `${name}, ${width} pixels, text at ${size} %: ${overflow[of]} to scroll`)
        }
      }
    }
  )
}

/** Runs in the page. Returns the elements that are invisible, or have no visible focus, in forced colours. */
const UNSEEN = `(() => {
  const clear = (color) => /^rgba\\(.*, 0\\)$/.test(color)
  const groundOf = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at)
      if (!clear(backgroundColor)) return backgroundColor
    }
    return getComputedStyle(document.documentElement).backgroundColor
  }
  const drawn = (style, side, ground) => style[side + 'Style'] !== 'none' && parseFloat(style[side + 'Width']) > 0 && !clear(style[side + 'Color']) && style[side + 'Color'] !== ground
  const unseen = []
  for (const element of document.querySelectorAll('input:not([type=hidden]), button, summary, a[href]')) {
    if (element.disabled || !element.checkVisibility({ visibilityProperty: true })) continue
    const name = element.localName + ' ' + (element.name || element.className || element.textContent.trim())
    const ground = groundOf(element.parentElement)
    const style = getComputedStyle(element)
    // An icon in the field, whose outline is visible instead.
    if (/^(input|button)$/.test(element.localName) && element.className !== 'reveal' && element.type !== 'checkbox' && !drawn(style, 'borderTop', ground)) unseen.push(name + ': no edge')
    if (style.color === groundOf(element)) unseen.push(name + ': no text')
    element.focus()
    if (!drawn(getComputedStyle(element), 'outline', ground)) unseen.push(name + ': no focus')
    element.blur()
  }
  return unseen
})()`

t.test('shows fields, buttons, links and the focus of every page in forced colors', async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ forcedColors: 'active', colorScheme })
    for (const [name, state] of states) {
      await look([state.in('en')], [DESKTOP])
      t.strictSame(await frame.evaluate(UNSEEN), [], `${name}, ${colorScheme}`)
    }
  }
  await look(
    [
      '<!doctype html><html ' +
        'lang="en"><style>*{outline:none!important}button{border:0!important;forced-color-adjust:none!important;color:#fff!important;background:#fff!important}</style><body><a ' +
        'href="/">a</a><button>b</button>'
    ],
    [DESKTOP]
  )
  t.strictSame(
    await frame.evaluate(UNSEEN),
    ['a a: no focus', 'button b: no edge', 'button b: no text', 'button b: no focus'],
    'what is not seen is found'
  )
})
