import { AR, AR_BY_EMAIL } from './texts/ar.ts'
import { DE, DE_BY_EMAIL } from './texts/de.ts'
import { EN, EN_BY_EMAIL, type EmailMessages, type MessageKey, type Messages } from './texts/en.ts'
import { ES, ES_BY_EMAIL } from './texts/es.ts'
import { FR, FR_BY_EMAIL } from './texts/fr.ts'
import { IT, IT_BY_EMAIL } from './texts/it.ts'
import { JA, JA_BY_EMAIL } from './texts/ja.ts'
import { KO, KO_BY_EMAIL } from './texts/ko.ts'
import { NL, NL_BY_EMAIL } from './texts/nl.ts'
import { PL, PL_BY_EMAIL } from './texts/pl.ts'
import { PT_BR, PT_BR_BY_EMAIL } from './texts/pt-BR.ts'
import { TR, TR_BY_EMAIL } from './texts/tr.ts'
import { UK, UK_BY_EMAIL } from './texts/uk.ts'
import { ZH_CN, ZH_CN_BY_EMAIL } from './texts/zh-CN.ts'
import { ZH_TW, ZH_TW_BY_EMAIL } from './texts/zh-TW.ts'

export type { MessageKey, Messages }

/** The option `registration.username`. */
export type Usernames = 'email' | 'any'

/** Made when the language is first asked for: fifteen at the start took a tenth of it. */
function catalogue (any: () => Messages, byEmail: () => EmailMessages): (usernames: Usernames) => Messages {
  const made: { [Name in Usernames]?: Messages } = {}
  // Frozen: a host's `render` gets the catalogue itself, and what it wrote there would be in everybody's pages.
  return (usernames) => made[usernames] ??= Object.freeze(usernames === 'any' ? any() : { ...any(), ...byEmail() })
}

const CATALOGUES = {
  en: catalogue(() => EN, () => EN_BY_EMAIL),
  de: catalogue(DE, DE_BY_EMAIL),
  fr: catalogue(FR, FR_BY_EMAIL),
  es: catalogue(ES, ES_BY_EMAIL),
  ja: catalogue(JA, JA_BY_EMAIL),
  'pt-BR': catalogue(PT_BR, PT_BR_BY_EMAIL),
  it: catalogue(IT, IT_BY_EMAIL),
  nl: catalogue(NL, NL_BY_EMAIL),
  pl: catalogue(PL, PL_BY_EMAIL),
  tr: catalogue(TR, TR_BY_EMAIL),
  uk: catalogue(UK, UK_BY_EMAIL),
  'zh-CN': catalogue(ZH_CN, ZH_CN_BY_EMAIL),
  'zh-TW': catalogue(ZH_TW, ZH_TW_BY_EMAIL),
  ko: catalogue(KO, KO_BY_EMAIL),
  ar: catalogue(AR, AR_BY_EMAIL)
} as const

export type Locale = keyof typeof CATALOGUES

/** The languages of the pages, for `ui_locales_supported`. The first is the default. */
export const LOCALES = Object.freeze(Object.keys(CATALOGUES)) as readonly Locale[]

export function messagesOf (locale: Locale, usernames: Usernames = 'any'): Messages {
  return CATALOGUES[locale](usernames)
}

const RIGHT_TO_LEFT: readonly string[] = ['ar'] satisfies Locale[]

/** Which way the language is written, for `dir`. */
export function directionOf (locale: string): 'ltr' | 'rtl' {
  return RIGHT_TO_LEFT.includes(locale) ? 'rtl' : 'ltr'
}

/** Fills `{name}` in. What has no value stays as it is. */
export function format (message: string, values: Readonly<Record<string, string | number>>): string {
  return message.replace(/\{(\w+)\}/g, (placeholder, name: string) => Object.hasOwn(values, name) ? String(values[name]) : placeholder)
}

const PLURAL = /\{(\w+), plural,((?: [a-z]+ \{[^{}]*\})+)\}/g

/**
 * As `format`, with numbers: `{days, plural, one {# day} other {# days}}` is the form that the language has for the number. It is the part
 * of ICU MessageFormat that the texts need. `other` is for every category that has no form of its own.
 * @see Unicode Technical Standard 35, part 3, Language Plural Rules
 */
export function formatNumbers (message: string, values: Readonly<Record<string, number>>, { lang }: Messages): string {
  const chosen = message.replace(PLURAL, (given, name: string, forms: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined) return given
    const texts = new Map(forms.split('}').map((form) => {
      const [category = '', text = ''] = form.slice(1).split(' {', 2)
      return [category, text]
    }))
    return (texts.get(new Intl.PluralRules(lang).select(value)) ?? texts.get('other'))?.replaceAll('#', String(value)) ?? given
  })
  return format(chosen, values)
}

const DAY = 86_400
const UNITS = [['day', DAY], ['hour', 3600], ['minute', 60]] as const

/** A span in words, in the catalogue's language: in the largest unit that says it whole, or else in the one that has two of it or more. Rounded up, and at least a minute. */
export function durationOf (seconds: number, messages: Messages): string {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size * 2 || (seconds >= size && seconds % size === 0)) ?? ['minute', 60] as const
  return new Intl.NumberFormat(messages.lang, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.max(1, Math.ceil(seconds / size)))
}

/** What stands between two sentences: nothing in Chinese and Japanese. */
export function spaceOf ({ lang }: Pick<Messages, 'lang'>): string {
  return /^(zh|ja)/.test(lang) ? '' : ' '
}

/** A moment, in the catalogue's language. Nobody knows where the reader is, so it is UTC and says so. */
export function timeOf (at: number, messages: Messages): string {
  return `${new Intl.DateTimeFormat(messages.lang, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at)} UTC`
}

const SCOPES: Readonly<Record<string, MessageKey>> = {
  openid: 'scopeOpenid',
  profile: 'scopeProfile',
  email: 'scopeEmail',
  phone: 'scopePhone',
  address: 'scopeAddress',
  offline_access: 'scopeOfflineAccess'
}

/** What a scope means to a person; `null` for one of the host's own. @see OpenID Connect Core 1.0 §5.4, §11 */
export function scopeDescription (scope: string): MessageKey | null {
  return Object.hasOwn(SCOPES, scope) ? SCOPES[scope] ?? null : null
}
