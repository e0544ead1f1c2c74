import { readFileSync } from 'node:fs'

/**
 * Reads the JSON file of a language. The build replaces this function by one with the files inside, because a host's
 * bundler would omit them.
 */
export function languageFile(locale: string): string {
  return readFileSync(new URL(`./${locale}.json`, import.meta.url), 'utf8')
}
