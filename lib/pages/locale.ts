import { LANGUAGES } from '../texts/languages.ts'
import { LOCALES, type Locale } from './texts.ts'

/** Tags in lower case, because tags are compared without case. An alias leads to the nearest language. */
const BY_TAG: ReadonlyMap<string, Locale> = new Map(
  LOCALES.flatMap((locale) =>
    [locale.toLowerCase(), ...LANGUAGES[locale].aliases].map((tag): [string, Locale] => [tag, locale])
  )
)

/** Far more than any browser sends. */
const MAX_RANGES = 50

/** The language of a page: the requested one, otherwise English. */
export function chooseLocale(uiLocales: readonly string[], acceptLanguage: string | undefined): Locale {
  return findLocale(uiLocales, acceptLanguage) ?? LOCALES[0] ?? 'en'
}

/**
 * Finds the first wanted language with a catalogue. `ui_locales` of the authorization request comes before the
 * browser's `Accept-Language`. Returns `undefined` if none fits. Lookup shortens a range until it fits: `de-Latn-AT`,
 * `de-Latn`, `de`. Portuguese of any country is `pt-BR`, and Chinese follows the script of the range.
 * @see RFC 4647 §3.4, RFC 9110 §12.5.4, OpenID Connect Core 1.0 §3.1.2.1
 */
export function findLocale(uiLocales: readonly string[], acceptLanguage: string | undefined): Locale | undefined {
  for (const range of [...uiLocales.slice(0, MAX_RANGES), ...rangesOf(acceptLanguage ?? '')]) {
    const found = lookUp(range)
    if (found !== undefined) return found
  }
  return undefined
}

function lookUp(range: string): Locale | undefined {
  const subtags = range.toLowerCase().split('-').slice(0, 20)
  while (subtags.length > 0) {
    const found = BY_TAG.get(subtags.join('-'))
    if (found !== undefined) return found
    subtags.pop()
    // A single letter or digit starts an extension and means nothing by itself.
    if (subtags.at(-1)?.length === 1) subtags.pop()
  }
  return undefined
}

/** Best quality first, in sending order for equal quality. `q=0` is a refusal. */
function rangesOf(header: string): string[] {
  return header
    .split(',', MAX_RANGES)
    .map((item) => {
      const [range = '', ...params] = item.split(';').map((part) => part.trim())
      const q = params.find((param) => /^q=/i.test(param))?.slice(2)
      return { range, quality: q === undefined ? 1 : /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(q) ? Number(q) : 0 }
    })
    .filter(({ range, quality }) => quality > 0 && range !== '' && range !== '*')
    .sort((a, b) => b.quality - a.quality)
    .map(({ range }) => range)
}
