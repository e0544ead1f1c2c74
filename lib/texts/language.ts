import { EN, type Language } from './en.ts'
import type { Locale } from './languages.ts'
import { languageFile } from './language-file.ts'

const read = new Map<Locale, Language>([['en', EN]])

/** Parses a language on first use, because parsing all languages took a tenth of the start time. */
export function languageOf(locale: Locale): Language {
  const known = read.get(locale)
  if (known !== undefined) return known
  const language = JSON.parse(languageFile(locale)) as Language
  read.set(locale, language)
  return language
}
