import type { ShownScope } from './common-model.ts'
import { formatNumbers, isLocale, LOCALES, type Locale, type Messages, messagesOf, scopeDescription } from './texts.ts'

/**
 * The option `pages.texts`: texts that replace the built-in texts, by language. `lang` can't be replaced, because it is
 * no text.
 */
export type OwnTexts = {
  [Name in Locale]?: Partial<Record<keyof Omit<Messages, 'lang'>, string | undefined>> | undefined
}

/** Texts of a scope in the option `scopes`, by language. */
export type ScopeTexts = Readonly<Record<string, Partial<Record<Locale, string | undefined>>>>

interface Mistake {
  /** The path below the option, such as `de.loginTitle`. */
  path: string
  problem: string
}

/** Replaces built-in texts by the host's checked texts. The result is frozen. */
export function withOwnTexts(messages: Messages, own: OwnTexts[Locale]): Messages {
  return own === undefined ? messages : Object.freeze({ ...messages, ...own } as Messages)
}

/** The first text that the pages could not show. `null`: all texts are valid. */
export function ownTextMistake(texts: OwnTexts): Mistake | null {
  for (const [locale, own] of Object.entries(texts)) {
    if (!isLocale(locale)) return unknownLanguage(locale, locale)
    const built = messagesOf(locale)
    for (const [key, text] of Object.entries(own as Record<string, string>)) {
      if (key === 'lang' || !Object.hasOwn(built, key))
        return { path: `${locale}.${key}`, problem: 'there is no such text. docs/reference/texts.md has them all' }
      const taken = placeholdersOf(built[key as keyof Messages])
      const given = placeholdersOf(text)
      // A text may do without the name of the service, which is at the top of the page.
      const missing = taken.find((name) => name !== 'title' && !given.includes(name))
      if (missing !== undefined) return { path: `${locale}.${key}`, problem: `it lacks {${missing}}` }
      const unknown = given.find((name) => !taken.includes(name))
      if (unknown !== undefined)
        return {
          path: `${locale}.${key}`,
          problem:
            `there is nothing that {${unknown}} could stand ` +
            `for${taken.length === 0 ? '' : `; there is ${taken.map((name) => `{${name}}`).join(', ')}`}`
        }
      if (lacksForm(text, built))
        return {
          path: `${locale}.${key}`,
          problem:
            'a number has its forms as in {minLength, plural, one {# character} other {# characters}}, ' +
            'with other always'
        }
    }
  }
  return null
}

/** The problem of a label or hint, which must be a text or texts by language. `null`: none. */
export function hostTextProblem(text: unknown): string | null {
  if (text === undefined || typeof text === 'string') return null
  if (typeof text !== 'object' || text === null || !Object.values(text).some((own) => typeof own === 'string'))
    return 'it takes a text, or texts by language such as { en, de }'
  const unknown = unknownLocale(text)
  return unknown === undefined ? null : unknownLanguage('', unknown).problem
}

const unknownLocale = (texts: object): string | undefined => Object.keys(texts).find((locale) => !isLocale(locale))

/** The first description of a scope in a language that the pages don't have. `null`: none. */
export function scopeTextMistake(texts: ScopeTexts): Mistake | null {
  for (const [scope, own] of Object.entries(texts)) {
    const unknown = unknownLocale(own)
    if (unknown !== undefined) return unknownLanguage(`${scope}.${unknown}`, unknown)
  }
  return null
}

/**
 * A scope with its description for people: the host's text in this language, in English or in any, otherwise the
 * built-in text of a standard scope.
 */
export function shownScope(name: string, locale: string, texts: ScopeTexts): ShownScope {
  return { name, description: scopeDescription(name), own: scopeText(texts, name, locale) }
}

function scopeText(texts: ScopeTexts, scope: string, locale: string): ShownScope['own'] {
  return Object.hasOwn(texts, scope) ? ownText(texts[scope] ?? {}, locale) : null
}

/** The text in this language, else in English, else in any language. `null`: there is no text. */
export function ownText(own: ScopeTexts[string], locale: string): ShownScope['own'] {
  for (const lang of [locale as Locale, 'en' as const, ...LOCALES]) {
    const text = own[lang]
    if (text !== undefined) return { text, lang }
  }
  return null
}

/** The names in `{name}` and in `{name, plural, …}`. */
function placeholdersOf(text: string): string[] {
  return [...text.matchAll(/\{(\w+)(?=[},])/g)].map(([, name = '']) => name)
}

/** True if a plural in the text has no form for some number. */
function lacksForm(text: string, messages: Messages): boolean {
  return placeholdersOf(text).some((name) =>
    [0, 1, 2, 3, 5, 11, 21, 100].some((count) => formatNumbers(text, { [name]: count }, messages).includes(`{${name}`))
  )
}

function unknownLanguage(path: string, locale: string): Mistake {
  return {
    path,
    problem: `the pages have no language ${JSON.stringify(locale.slice(0, 40))}. There are: ${LOCALES.join(', ')}`
  }
}
