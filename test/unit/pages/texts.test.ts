import t from 'tap'
import { OAuthError, type OAuthErrorCode, type OAuthErrorReason } from '../../../lib/errors.ts'
import { chooseLocale } from '../../../lib/pages/locale.ts'
import { LOCALES, type MessageKey, durationOf, format, messagesOf, scopeDescription } from '../../../lib/pages/texts.ts'
import { pageErrorOf } from '../../../lib/pages/page-error.ts'

const EN = messagesOf('en')
const KEYS = Object.keys(EN) as MessageKey[]
const placeholders = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).sort()

t.test('the catalogues say the same', async (t) => {
  t.same(LOCALES, ['en', 'de', 'fr', 'es', 'ja'])
  for (const locale of LOCALES) {
    const messages = messagesOf(locale)
    t.equal(messages.lang, locale)
    t.ok(Object.isFrozen(messages))
    t.same(Object.keys(messages), KEYS, locale)
    for (const key of KEYS) {
      t.same(placeholders(messages[key]), placeholders(EN[key]), `${locale} ${key}`)
      t.equal(messages[key], messages[key].trim())
      t.notMatch(messages[key], /^$|[<>]|\.\.\.|'/, `${locale} ${key}: a text, and typographic`)
    }
    if (locale !== 'en') t.same(KEYS.filter((key) => messages[key] === EN[key] && key !== 'errorInTitle'), [], `${locale}: nothing is left in English`)
  }
})

t.test('format fills in what it has, once', async (t) => {
  t.equal(format('{a} and {b} and {a}', { a: '$&', b: '{a}' }), '$& and {a} and $&')
  t.equal(format('{a} {toString} {constructor}', {}), '{a} {toString} {constructor}')
})

t.test('spans in words', async (t) => {
  const table: Array<[number, string]> = [
    [-5, '1 minute'], [0, '1 minute'], [1, '1 minute'], [60, '1 minute'], [61, '2 minutes'], [900, '15 minutes'], [3599, '60 minutes'], [3600, '1 hour'], [5400, '90 minutes'], [7200, '2 hours'],
    [43_200, '12 hours'], [86_400, '1 day'], [90_000, '25 hours'], [172_800, '2 days'], [180_000, '3 days'], [2_592_000, '30 days'], [31_536_000, '365 days']
  ]
  for (const [seconds, words] of table) t.equal(durationOf(seconds, EN), words, String(seconds))
  t.same(LOCALES.map((locale) => durationOf(2_592_000, messagesOf(locale)).replace(/\s/g, ' ')), ['30 days', '30 Tage', '30 jours', '30 días', '30 日'])
})

t.test('scopes in words', async (t) => {
  t.same(['openid', 'offline_access', 'photos:write', 'constructor', '__proto__'].map(scopeDescription), ['scopeOpenid', 'scopeOfflineAccess', null, null, null])
})

// covers OIDF-oidcc-ui-locales
t.test('the language: ui_locales, then Accept-Language, by lookup', async (t) => {
  const table: Array<[string[], string | undefined, string]> = [
    [[], undefined, 'en'],
    [[], '', 'en'],
    [[], 'de', 'de'],
    [[], 'de-AT', 'de'],
    [[], 'DE-Latn-at-1996', 'de'],
    [[], 'de-a-x', 'de'],
    [[], 'ja-JP, en;q=0.5', 'ja'],
    [[], 'en;q=0.5, fr;q=0.9', 'fr'],
    [[], 'it, es-419;q=0.8, en;q=0.7', 'es'],
    [[], 'it, pt', 'en'],
    [[], '*', 'en'],
    [[], '*, de;q=0.5', 'de'],
    [[], 'de;q=0, fr;q=0.1', 'fr'],
    [[], 'de;q=0.000', 'en'],
    [[], 'de;q=1.5, fr;q=0.2', 'fr'],
    [[], 'de;q=x, fr;q=0.2', 'fr'],
    [[], 'de ; Q=0.2 , fr;q=0.3', 'fr'],
    [[], 'de;q=0.5,fr;q=0.5', 'de'],
    [[], 'x-de, i-default, -, de-', 'de'],
    [[], 'deutsch', 'en'],
    [[], `${'it,'.repeat(5000)}de`, 'en'],
    [[], `it${'-abcd'.repeat(3000)},de`, 'de'],
    [['fr-CA', 'de'], 'ja', 'fr'],
    [['pt', 'de'], 'ja', 'de'],
    [['pt', 'xx', '', '*'], 'ja', 'ja'],
    [['constructor', '__proto__'], undefined, 'en'],
    [['<script>'], 'es', 'es']
  ]
  for (const [uiLocales, header, locale] of table) t.equal(chooseLocale(uiLocales, header), locale, `${uiLocales.join(' ')} | ${header?.slice(0, 40)}`)
})

t.test('an error in the language of the page', async (t) => {
  const of = (error: OAuthErrorCode, options: ConstructorParameters<typeof OAuthError>[2] = {}, values = {}): unknown => pageErrorOf(new OAuthError(error, 'For developers.', options), EN, values)
  t.same(of('invalid_grant'), { error: 'invalid_grant', field: null, text: 'The username or password is wrong.' })
  t.same(of('username_taken'), { error: 'username_taken', field: 'username', text: EN.errorUsernameTaken })
  t.match(of('too_many_requests', { headers: { 'retry-after': '840' } }), { text: 'Too many attempts. Please wait 14 minutes and try again.' })
  t.match(of('too_many_requests', { headers: { 'retry-after': '840' } }, { retryAfterSeconds: 60 }), { text: /1 minute / })
  t.match(of('too_many_requests'), { text: EN.errorTooManyRequestsLater })
  t.match(of('too_many_requests', { headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' } }), { text: EN.errorTooManyRequestsLater })
  t.match(of('invalid_password', { reason: 'too_short' }, { minLength: 12 }), { field: 'password', text: 'The password needs at least 12 characters.' })
  t.match(of('invalid_password', { reason: 'too_short' }), { field: 'password', text: 'The password is too short.' })
  t.match(of('invalid_password'), { field: 'password', text: EN.errorPassword })
  t.match(of('invalid_request', { field: 'email', reason: 'email_differs' }), { field: 'email', text: EN.errorEmailDiffers })
  t.match(of('invalid_request', { field: 'age' }), { field: 'age', text: EN.errorInvalidField })
  t.match(of('invalid_request', { reason: 'redirect_uri_mismatch' }), { field: null, text: EN.errorRedirectUri })
  t.match(of('access_denied', { reason: 'cross_site' }), { text: EN.errorCrossSite })

  const codes: OAuthErrorCode[] = ['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'invalid_scope', 'invalid_token', 'insufficient_scope', 'access_denied', 'unsupported_response_type', 'login_required', 'consent_required', 'request_not_supported', 'request_uri_not_supported', 'registration_not_supported', 'unmet_authentication_requirements', 'invalid_password', 'username_taken', 'too_many_requests', 'not_found', 'server_error', 'temporarily_unavailable']
  const reasons: OAuthErrorReason[] = ['too_long', 'not_unicode', 'too_short', 'too_common', 'context_word', 'breached', 'characters', 'username_form', 'email_form', 'email_differs', 'required', 'unknown_client', 'redirect_uri_mismatch', 'cross_site']
  for (const locale of LOCALES) {
    for (const code of codes) {
      for (const reason of [undefined, ...reasons]) {
        const { text } = pageErrorOf(new OAuthError(code, 'For developers.', reason === undefined ? {} : { reason }), messagesOf(locale))
        t.notMatch(text, /[{}]|For developers|^$/, `${locale} ${code} ${reason}`)
      }
    }
  }
})
