import { EN, type Language } from './en.ts'
import type { Locale } from './languages.ts'
import { readFileSync } from 'node:fs'

const read = new Map<Locale, Language>([['en', EN]])

/** Parses a language on first use, because fifteen languages at the start took a tenth of it. */
export function languageOf(locale: Locale): Language {
  const known = read.get(locale)
  if (known !== undefined) return known
  const language = JSON.parse(languageFile(locale)) as Language
  read.set(locale, language)
  return language
}

/**
 * Reads the text of a language's file. The build puts these texts into the bundle, because a bundle that a host makes
 * would leave the files out.
 */
function languageFile(locale: string): string {
  return readFileSync(new URL(`./${locale}.json`, import.meta.url), 'utf8')
}
