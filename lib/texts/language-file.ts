import { readFileSync } from 'node:fs'

/**
 * Reads the text of a language's file. The build puts these texts into the bundle, because a bundle that a host makes
 * would leave the files out.
 */
export function languageFile(locale: string): string {
  return readFileSync(new URL(`./${locale}.json`, import.meta.url), 'utf8')
}
