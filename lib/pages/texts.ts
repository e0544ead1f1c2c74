import { pluralRules, timeFormat, unitFormats } from './intl.ts'
import { languageOf } from '../texts/language.ts'
import { LANGUAGES, type Locale } from '../texts/languages.ts'
import type { MessageKey, Messages } from '../texts/en.ts'

export type { Locale, MessageKey, Messages }

/** The option `registration.username`. */
export type Usernames = 'email' | 'any'

/** The languages of the pages, for `ui_locales_supported`. The first is the default. */
export const LOCALES = Object.freeze(Object.keys(LANGUAGES) as Locale[])

const made = new Map<string, Messages>()

/** The texts of a language. `usernames`: with `email`, the texts call the username an email address. */
export function messagesOf(locale: Locale, usernames: Usernames = 'any'): Messages {
  const name = `${locale} ${usernames}`
  const known = made.get(name)
  if (known !== undefined) return known
  const { pages, byEmail } = languageOf(locale)
  // Frozen, because a host's `render` gets this object, and a change of it would affect all pages.
  const messages = Object.freeze(usernames === 'any' ? pages : { ...pages, ...byEmail })
  made.set(name, messages)
  return messages
}

/** The direction of writing, for `dir`. */
export function directionOf(locale: string): 'ltr' | 'rtl' {
  return isLocale(locale) ? LANGUAGES[locale].direction : 'ltr'
}

export function isLocale(given: string): given is Locale {
  return Object.hasOwn(LANGUAGES, given)
}

/** Replaces each `{name}` by its value. A name without a value stays as it is. */
export function format(message: string, values: Readonly<Record<string, string | number>>): string {
  return message.replace(/\{(\w+)\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : placeholder
  )
}

const PLURAL = /\{(\w+), plural,((?: [a-z]+ \{[^{}]*\})+)\}/g

/**
 * Like `format`, with plurals: `{days, plural, one {# day} other {# days}}` becomes the form that the language uses for
 * the number. Supports only this part of ICU MessageFormat. `other` is for every category without a form of its own.
 * @see Unicode Technical Standard 35, part 3, Language Plural Rules
 */
export function formatNumbers(message: string, values: Readonly<Record<string, number>>, { lang }: Messages): string {
  const chosen = message.replace(PLURAL, (given, name: string, forms: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined) return given
    const texts = new Map(
      forms.split('}').map((form) => {
        const [category = '', text = ''] = form.slice(1).split(' {', 2)
        return [category, text]
      })
    )
    return (texts.get(pluralRules(lang).select(value)) ?? texts.get('other'))?.replaceAll('#', String(value)) ?? given
  })
  return format(chosen, values)
}

const DAY = 86_400
const UNITS = [
  ['day', DAY],
  ['hour', 3600],
  ['minute', 60]
] as const

/**
 * A duration in words, in the language of `messages`. Uses the largest of days, hours and minutes that divides the
 * duration, or that fits into it at least twice. Rounds up, to at least a minute.
 */
export function durationOf(seconds: number, messages: Messages): string {
  const [unit, size] =
    UNITS.find(([, size]) => seconds >= size * 2 || (seconds >= size && seconds % size === 0)) ??
    (['minute', 60] as const)
  return unitFormats[unit](messages.lang).format(Math.max(1, Math.ceil(seconds / size)))
}

/** Removes the soft hyphens that headings have for phones, for use in a title or a subject. */
export function withoutHyphens(heading: string): string {
  return heading.replaceAll('\u00ad', '')
}

/** The separator of two sentences: nothing in Chinese and Japanese. */
export function spaceOf({ lang }: Pick<Messages, 'lang'>): string {
  return isLocale(lang) ? LANGUAGES[lang].space : ' '
}

/** A time in the language of `messages`, in UTC, because the server does not know the reader's time zone. */
export function timeOf(at: number, messages: Messages): string {
  return `${timeFormat(messages.lang).format(at)} UTC`
}

const SCOPES: Readonly<Record<string, MessageKey>> = {
  openid: 'scopeOpenid',
  profile: 'scopeProfile',
  email: 'scopeEmail',
  phone: 'scopePhone',
  address: 'scopeAddress',
  offline_access: 'scopeOfflineAccess'
}

/**
 * The key of the text that describes a standard scope. `null` for any other scope.
 * @see OpenID Connect Core 1.0 §5.4, §11
 */
export function scopeDescription(scope: string): MessageKey | null {
  return Object.hasOwn(SCOPES, scope) ? (SCOPES[scope] ?? null) : null
}

/** Languages by tag and by alias. Tags are in lower case, because they are compared without case. */
const BY_TAG: ReadonlyMap<string, Locale> = new Map(
  LOCALES.flatMap((locale) =>
    [locale.toLowerCase(), ...LANGUAGES[locale].aliases].map((tag): [string, Locale] => [tag, locale])
  )
)

/**
 * The maximum number of ranges that are read from `ui_locales` and from `Accept-Language` each. Browsers send far
 * fewer.
 */
const MAX_RANGES = 50

/** The language of a page: the requested one, otherwise English. */
export function chooseLocale(uiLocales: readonly string[], acceptLanguage: string | undefined): Locale {
  return findLocale(uiLocales, acceptLanguage) ?? LOCALES[0] ?? 'en'
}

/**
 * Finds the first wanted language that the pages have. `ui_locales` of the authorization request comes before the
 * browser's `Accept-Language`. Returns `undefined` if none fits. Lookup shortens a range until it fits: `de-Latn-AT`,
 * `de-Latn`, `de`. Portuguese of any country is `pt-BR`, and Chinese follows the script or the region of the range.
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

/** The ranges of the header, best quality first. Equal qualities keep their order. `q=0` and `*` are left out. */
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
