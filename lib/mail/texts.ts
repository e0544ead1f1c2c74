import type { Locale } from '../pages/texts.ts'
import type { MailTexts } from './mail-texts.ts'
import { AR } from './texts/ar.ts'
import { DE } from './texts/de.ts'
import { EN } from './texts/en.ts'
import { ES } from './texts/es.ts'
import { FR } from './texts/fr.ts'
import { IT } from './texts/it.ts'
import { JA } from './texts/ja.ts'
import { KO } from './texts/ko.ts'
import { NL } from './texts/nl.ts'
import { PL } from './texts/pl.ts'
import { PT_BR } from './texts/pt-BR.ts'
import { TR } from './texts/tr.ts'
import { UK } from './texts/uk.ts'
import { ZH_CN } from './texts/zh-CN.ts'
import { ZH_TW } from './texts/zh-TW.ts'

/** A language of the pages without mails does not compile. */
const TEXTS: Readonly<Record<Locale, () => MailTexts>> = {
  en: () => EN,
  de: DE,
  fr: FR,
  es: ES,
  ja: JA,
  'pt-BR': PT_BR,
  it: IT,
  nl: NL,
  pl: PL,
  tr: TR,
  uk: UK,
  'zh-CN': ZH_CN,
  'zh-TW': ZH_TW,
  ko: KO,
  ar: AR
}

const made: { [Lang in Locale]?: MailTexts } = {}

/** Made when the language is first asked for. */
export function mailTextsOf (locale: Locale): MailTexts {
  return made[locale] ??= TEXTS[locale]()
}
