import type { Locale } from '../pages/texts.ts'
import type { MailTexts } from './mail-texts.ts'
import { DE } from './texts/de.ts'
import { EN } from './texts/en.ts'
import { ES } from './texts/es.ts'
import { FR } from './texts/fr.ts'
import { JA } from './texts/ja.ts'

/** A language of the pages without mails does not compile. */
export const MAIL_TEXTS: Readonly<Record<Locale, MailTexts>> = { en: EN, de: DE, fr: FR, es: ES, ja: JA }
