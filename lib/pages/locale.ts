import { LOCALES, type Locale } from './texts.ts'

/** In lower case, as tags are compared. Those below the catalogues' own lead to the nearest there is. */
const BY_TAG: ReadonlyMap<string, Locale> = new Map([
  ...LOCALES.map((locale): [string, Locale] => [locale.toLowerCase(), locale]),
  ['pt', 'pt-BR'],
  // Written in simplified characters where nothing says otherwise; in traditional ones in Hong Kong and Macao as in
  // Taiwan.
  ['zh', 'zh-CN'],
  ['zh-hant', 'zh-TW'],
  ['zh-hk', 'zh-TW'],
  ['zh-mo', 'zh-TW']
])

/** Far more than any browser sends. */
const MAX_RANGES = 50

/** The language of a page: the one that was asked for, or else English. */
export function chooseLocale(uiLocales: readonly string[], acceptLanguage: string | undefined): Locale {
  return findLocale(uiLocales, acceptLanguage) ?? LOCALES[0] ?? 'en'
}

/**
 * The first of the wanted languages that there is a catalogue for, an authorization request's `ui_locales` before the
 * browser's `Accept-Language`; `undefined` where there is none for any. Lookup takes the end off a range until it fits:
 * `de-Latn-AT` is `de-Latn`, then `de`. Portuguese of any country is `pt-BR`, and Chinese the one in the characters
 * that the range says.
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
    // A single letter or digit begins an extension and means nothing by itself.
    if (subtags.at(-1)?.length === 1) subtags.pop()
  }
  return undefined
}

/** Best first; those of one quality as they were sent. `q=0` is a refusal. */
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
