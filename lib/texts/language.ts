import { readFileSync } from 'node:fs'

/** One language as its file has it. English is TypeScript instead, and its keys are the measure of these. */
interface Language {
  /** The texts of the pages, with those of errors. */
  pages: Readonly<Record<string, string>>
  /** Replaces texts of `pages` where every username is an email address. */
  byEmail: Readonly<Record<string, string>>
  /** The texts of mails by kind of message, and those that several kinds share. */
  mails: object
}

/**
 * Reads the language from its file. The build puts the files into the bundle, because a host's own bundle would leave
 * them out.
 */
export function languageOf(locale: string): Language {
  return JSON.parse(readFileSync(new URL(`./${locale}.json`, import.meta.url), 'utf8')) as Language
}
