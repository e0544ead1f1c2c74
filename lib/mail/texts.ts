import type { Locale } from '../pages/texts.ts'
import { languageOf } from '../texts/language.ts'
import type { MailTexts } from './mail-texts.ts'
import { EN } from './texts/en.ts'

const made: { [Lang in Locale]?: MailTexts } = { en: EN }

/** The texts of a language, made when they are first asked for. */
export function mailTextsOf(locale: Locale): MailTexts {
  return (made[locale] ??= languageOf(locale).mails as MailTexts)
}
