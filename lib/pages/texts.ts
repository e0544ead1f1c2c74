import { DE } from './texts/de.ts'
import { EN, type MessageKey, type Messages } from './texts/en.ts'
import { EMAIL_USERNAMES } from './texts/email-usernames.ts'
import { ES } from './texts/es.ts'
import { FR } from './texts/fr.ts'
import { JA } from './texts/ja.ts'

export type { MessageKey, Messages }

// Frozen: a host's `render` gets the catalogue itself, and what it wrote there would be in everybody's pages.
const CATALOGUES = {
  en: Object.freeze(EN),
  de: Object.freeze(DE),
  fr: Object.freeze(FR),
  es: Object.freeze(ES),
  ja: Object.freeze(JA)
} as const satisfies Record<string, Messages>

export type Locale = keyof typeof CATALOGUES

/** The languages of the pages, for `ui_locales_supported`. The first is the default. */
export const LOCALES = Object.freeze(Object.keys(CATALOGUES)) as readonly Locale[]

/** The option `registration.username`. */
export type Usernames = 'email' | 'any'

const EMAIL_CATALOGUES = Object.fromEntries(LOCALES.map((locale) => [locale, Object.freeze({ ...CATALOGUES[locale], ...EMAIL_USERNAMES[locale] })])) as Readonly<Record<Locale, Messages>>

export function messagesOf (locale: Locale, usernames: Usernames = 'any'): Messages {
  return usernames === 'email' ? EMAIL_CATALOGUES[locale] : CATALOGUES[locale]
}

/** Fills `{name}` in. What has no value stays as it is. */
export function format (message: string, values: Readonly<Record<string, string | number>>): string {
  return message.replace(/\{(\w+)\}/g, (placeholder, name: string) => Object.hasOwn(values, name) ? String(values[name]) : placeholder)
}

const DAY = 86_400
const UNITS = [['day', DAY], ['hour', 3600], ['minute', 60]] as const

/** A span in words, in the catalogue's language: in the largest unit that says it whole, or else in the one that has two of it or more. Rounded up, and at least a minute. */
export function durationOf (seconds: number, messages: Messages): string {
  const [unit, size] = UNITS.find(([, size]) => seconds >= size * 2 || (seconds >= size && seconds % size === 0)) ?? ['minute', 60] as const
  return new Intl.NumberFormat(messages.lang, { style: 'unit', unit, unitDisplay: 'long' }).format(Math.max(1, Math.ceil(seconds / size)))
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
