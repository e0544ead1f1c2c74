import t from '../../support/tap.ts'
import { OAuthError, type OAuthErrorCode, type OAuthErrorReason } from '../../../lib/errors.ts'
import {
  chooseLocale,
  directionOf,
  durationOf,
  format,
  formatNumbers,
  type Locale,
  LOCALES,
  type MessageKey,
  messagesOf,
  scopeDescription,
  timeOf
} from '../../../lib/pages/texts.ts'
import { languageOf } from '../../../lib/texts/language.ts'
import { pageErrorOf } from '../../../lib/pages/page-error.ts'

const EN = messagesOf('en')
const KEYS = Object.keys(EN) as MessageKey[]
/** Texts with the same spelling as in English: the language's own words, or borrowed ones. */
const AS_IN_ENGLISH: Partial<Record<Locale, MessageKey[]>> = {
  de: ['fieldWebsite', 'passkeyWay', 'passkeysTitle'],
  es: ['errorInTitle'],
  it: ['passwordLabel', 'passkeyWay'],
  nl: ['fieldWebsite', 'passkeyWay', 'passkeysTitle']
}
/** The letters of a script other than Latin, by its name in ISO 15924: every text has some of them. */
const LETTERS: Readonly<Record<string, RegExp>> = {
  Jpan: /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u,
  Cyrl: /\p{Script=Cyrillic}/u,
  Hans: /\p{Script=Han}/u,
  Hant: /\p{Script=Han}/u,
  Kore: /\p{Script=Hangul}/u,
  Arab: /\p{Script=Arabic}/u
}
/** Removes placeholders, the range a–z and the names API and QR, which each script writes in Latin letters. */
const withoutNames = (text: string): string =>
  text.replace(/\{\w+\}|\{\w+, plural,(?: \w+ \{[^{}]*\})+\}|a–z|API|QR/g, '')
const placeholders = (text: string): string[] =>
  [...new Set([...text.matchAll(/\{(\w+)(?=[},])/g)].map(([, name = '']) => name))].sort()

t.test('has the same keys and placeholders in every language, translated in its own script', async (t) => {
  t.equal(LOCALES[0], 'en', 'the default')
  for (const [locale, usernames] of LOCALES.flatMap((locale) =>
    (['any', 'email'] as const).map((usernames) => [locale, usernames] as const)
  )) {
    const messages = messagesOf(locale, usernames)
    const english = messagesOf('en', usernames)
    t.equal(messages.lang, locale)
    t.ok(Object.isFrozen(messages))
    t.same(Object.keys(messages), KEYS, locale)
    t.same(
      KEYS.filter((key) => placeholders(messages[key]).join() !== placeholders(english[key]).join()),
      [],
      `${locale}: the same is filled in`
    )
    t.same(
      KEYS.filter((key) => messages[key] !== messages[key].trim() || /^$|[<>]|\.\.\.|'/.test(messages[key])),
      [],
      `${locale}: texts, and typographic`
    )
    if (locale !== 'en')
      t.same(
        KEYS.filter((key) => messages[key] === english[key]),
        AS_IN_ENGLISH[locale] ?? [],
        `${locale}: nothing is left in English`
      )
    const { script = 'Latn' } = new Intl.Locale(locale).maximize()
    const letters = LETTERS[script]
    t.equal(letters === undefined, script === 'Latn', `${locale}: letters of the script ${script}`)
    if (letters !== undefined)
      t.same(
        KEYS.filter(
          (key) => key !== 'lang' && (!letters.test(messages[key]) || /[a-z]{2}/i.test(withoutNames(messages[key])))
        ),
        [],
        `${locale}: all in its own letters`
      )
  }
})

t.test('gives the file of each language the keys of English and no others', async (t) => {
  const keysOf = (mails: object): unknown[] =>
    Object.entries(mails)
      .map(([key, value]) => (typeof value === 'string' ? key : [key, Object.keys(value as object).sort()]))
      .sort()
  const english = keysOf(languageOf('en').mails)
  for (const locale of LOCALES.slice(1)) {
    const { pages, byEmail, mails } = languageOf(locale)
    t.same(Object.keys(languageOf(locale)), Object.keys(languageOf('en')), locale)
    t.same(Object.keys(pages).sort(), [...KEYS].sort(), locale)
    t.same(
      Object.keys(byEmail).filter((key) => !KEYS.includes(key as MessageKey)),
      [],
      locale
    )
    t.same(keysOf(mails), english, locale)
  }
})

t.test('uses other texts in every language when every username is an email address', async (t) => {
  for (const locale of LOCALES) {
    const other = messagesOf(locale)
    const byEmail = messagesOf(locale, 'email')
    for (const key of ['usernameLabel', 'emailCodeText', 'forgotSentText', 'errorInvalidGrant'] as const) {
      t.not(byEmail[key], other[key], `${locale} ${key}`)
    }
  }
})

t.test('uses no second word for signing in in Japanese, and no masculine verb forms in Arabic', async (t) => {
  const ja = Object.values({ ...messagesOf('ja'), ...messagesOf('ja', 'email') }).join('\n')
  t.notMatch(ja, /サインイン|サインアウト/)
  const ar = [...Object.values(messagesOf('ar')), JSON.stringify(languageOf('ar').mails)].join('\n')
  // Masculine forms: you want, you open, choose, you will use, ask, wait, continue, connect, you know, you did.
  t.notMatch(ar, /تريد|تفتح|اختر[ «]|ستستخدم|اطلب |انتظر |تابع |اربط |لا تعرف|كنت تفعل/)
  t.match('هل تريد المتابعة؟', /تريد/)
})

t.test('replaces every known placeholder, and none in the inserted values', async (t) => {
  t.equal(format('{a} and {b} and {a}', { a: '$&', b: '{a}' }), '$& and {a} and $&')
  t.equal(format('{a} {toString} {constructor}', {}), '{a} {toString} {constructor}')
})

t.test('uses the plural form that the language requires for a number', async (t) => {
  const hint = (locale: Locale, minLength: number): string =>
    // Keep the first sentence only.
    formatNumbers(messagesOf(locale).passwordHint, { minLength }, messagesOf(locale)).replace(/(?<=\.) .*/, '')
  const table: Array<[Locale, Record<number, string>]> = [
    ['en', { 8: 'At least 8 characters.', 21: 'At least 21 characters.' }],
    [
      'pl',
      {
        1: 'Co najmniej 1 znak.',
        8: 'Co najmniej 8 znaków.',
        12: 'Co najmniej 12 znaków.',
        21: 'Co najmniej 21 znaków.',
        22: 'Co najmniej 22 znaki.',
        25: 'Co najmniej 25 znaków.',
        64: 'Co najmniej 64 znaki.'
      }
    ],
    [
      'uk',
      {
        8: 'Щонайменше 8 символів.',
        11: 'Щонайменше 11 символів.',
        21: 'Щонайменше 21 символ.',
        22: 'Щонайменше 22 символи.',
        64: 'Щонайменше 64 символи.'
      }
    ],
    [
      'ar',
      {
        1: 'حرف واحد على الأقل.',
        2: 'حرفان على الأقل.',
        8: '8 أحرف على الأقل.',
        10: '10 أحرف على الأقل.',
        11: '11 حرفًا على الأقل.',
        64: '64 حرفًا على الأقل.'
      }
    ],
    ['ko', { 8: '8자 이상 입력해 주세요.' }]
  ]
  for (const [locale, forms] of table) {
    for (const [minLength, words] of Object.entries(forms))
      t.equal(hint(locale, Number(minLength)), words, `${locale} ${minLength}`)
  }
  for (const locale of LOCALES) {
    const messages = messagesOf(locale)
    const filled = (key: MessageKey, count: number): string =>
      formatNumbers(
        messages[key],
        Object.fromEntries(placeholders(messages[key]).map((name) => [name, count])),
        messages
      )
    t.same(
      KEYS.filter((key) => [0, 1, 2, 3, 5, 8, 11, 21, 64, 100].some((count) => /[{}#]/.test(filled(key, count)))),
      [],
      `${locale}: every number has a form`
    )
  }
  const say = (text: string, value: number): string => formatNumbers(text, { n: value }, messagesOf('pl'))
  t.equal(say('{n, plural, other {# x}}', 1), '1 x', 'a category that has no form')
  t.equal(say('{n, plural, one {# a} other {# b}} und {n}', 5), '5 b und 5')
  t.equal(
    say('{m, plural, other {#}} {toString, plural, other {#}}', 5),
    '{m, plural, other {#}} {toString, plural, other {#}}',
    'what has no value stays as it is'
  )
  t.equal(say('{n, plural, one {# a}}', 5), '{n, plural, one {# a}}', 'no form for it')
  t.equal(
    say(`{n, plural,${' one {#}'.repeat(20_000)}`, 5).length,
    12 + 8 * 20_000 - 1,
    'an end that is missing costs no time'
  )
})

/** The text direction of a locale in Node.js, which the types of TypeScript lack. */
interface Direction {
  textInfo?: { direction: string }
  getTextInfo?(): { direction: string }
}

t.test('returns the writing direction of a language', async (t) => {
  for (const locale of LOCALES) {
    const known = new Intl.Locale(locale) as Direction
    t.equal(directionOf(locale), (known.getTextInfo?.() ?? known.textInfo)?.direction, locale)
  }
  t.equal(directionOf('xx'), 'ltr')
})

t.test('writes a time in words in every language', async (t) => {
  for (const locale of LOCALES)
    t.match(timeOf(Date.UTC(2026, 10, 22, 17, 5), messagesOf(locale)), /2026.*(?:17|5)[:.]05.* UTC$/, locale)
})

t.test('writes a duration in words', async (t) => {
  const table: Array<[number, string]> = [
    [-5, '1 minute'],
    [0, '1 minute'],
    [1, '1 minute'],
    [60, '1 minute'],
    [61, '2 minutes'],
    [900, '15 minutes'],
    [3599, '60 minutes'],
    [3600, '1 hour'],
    [5400, '90 minutes'],
    [7200, '2 hours'],
    [43_200, '12 hours'],
    [86_400, '1 day'],
    [90_000, '25 hours'],
    [172_800, '2 days'],
    [180_000, '3 days'],
    [2_592_000, '30 days'],
    [31_536_000, '365 days']
  ]
  for (const [seconds, words] of table) t.equal(durationOf(seconds, EN), words, String(seconds))
  // A language without a row has to say the duration as Intl does.
  const days: Partial<Record<Locale, string>> = {
    en: '30 days',
    de: '30 Tage',
    fr: '30 jours',
    es: '30 días',
    ja: '30 日',
    'pt-BR': '30 dias',
    it: '30 giorni',
    nl: '30 dagen',
    pl: '30 dni',
    tr: '30 gün',
    uk: '30 днів',
    'zh-CN': '30天',
    'zh-TW': '30 天',
    ko: '30일',
    ar: '30 يومًا'
  }
  for (const locale of LOCALES) {
    const byIntl = new Intl.NumberFormat(locale, { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(30)
    const said = durationOf(2_592_000, messagesOf(locale))
    t.equal(said, byIntl, locale)
    t.equal(said.replace(/\s/g, ' '), days[locale] ?? said.replace(/\s/g, ' '), locale)
  }
})

t.test('describes known scopes in words', async (t) => {
  t.same(['openid', 'offline_access', 'photos:write', 'constructor', '__proto__'].map(scopeDescription), [
    'scopeOpenid',
    'scopeOfflineAccess',
    null,
    null,
    null
  ])
})

// covers OIDF-oidcc-ui-locales
t.test('chooses the language from ui_locales, then from Accept-Language', async (t) => {
  const table: Array<[string[], string | undefined, string]> = [
    [[], undefined, 'en'],
    [[], '', 'en'],
    [[], 'de', 'de'],
    [[], 'de-AT', 'de'],
    [[], 'DE-Latn-at-1996', 'de'],
    [[], 'de-a-x', 'de'],
    [[], 'ja-JP, en;q=0.5', 'ja'],
    [[], 'en;q=0.5, fr;q=0.9', 'fr'],
    [[], 'sv, es-419;q=0.8, en;q=0.7', 'es'],
    [[], 'qaa, qab', 'en'],
    [[], 'pt', 'pt-BR'],
    [[], 'pt-PT, en;q=0.9', 'pt-BR'],
    [[], 'PT-br', 'pt-BR'],
    [[], 'pt-AO-x-y', 'pt-BR'],
    [[], 'zh', 'zh-CN'],
    [[], 'zh-Hans', 'zh-CN'],
    [[], 'zh-Hans-HK', 'zh-CN'],
    [[], 'zh-SG', 'zh-CN'],
    [[], 'zh-CN, zh;q=0.9, en;q=0.8', 'zh-CN'],
    [[], 'zh-Hant', 'zh-TW'],
    [[], 'zh-HANT-hk', 'zh-TW'],
    [[], 'zh-Hant-CN', 'zh-TW'],
    [[], 'zh-HK, en;q=0.9', 'zh-TW'],
    [[], 'zh-MO', 'zh-TW'],
    [[], 'zh-TW, zh;q=0.9', 'zh-TW'],
    [[], 'ar-EG', 'ar'],
    [[], 'uk-UA, ru;q=0.9', 'uk'],
    [[], 'ru, uk;q=0.9', 'uk'],
    [[], 'zhx, ptx', 'en'],
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
    [[], `${'qaa,'.repeat(5000)}de`, 'en'],
    [[], `qaa${'-abcd'.repeat(3000)},de`, 'de'],
    [['fr-CA', 'de'], 'ja', 'fr'],
    [['qaa', 'de'], 'ja', 'de'],
    [['qaa', 'xx', '', '*'], 'ja', 'ja'],
    [['constructor', '__proto__'], undefined, 'en'],
    [['<script>'], 'es', 'es']
  ]
  for (const [uiLocales, header, locale] of table)
    t.equal(chooseLocale(uiLocales, header), locale, `${uiLocales.join(' ')} | ${header?.slice(0, 40)}`)
})

t.test('writes an error in the requested language, with its numbers and times', (t) => {
  const wait = new OAuthError('too_many_requests', 'For developers.', { headers: { 'retry-after': '840' } })
  const short = new OAuthError('invalid_password', 'For developers.', { reason: 'too_short' })
  const wrong = new OAuthError('invalid_grant', 'For developers.')
  for (const [locale, expected] of [
    [
      'en',
      [
        'The username or password is wrong.',
        'The password needs at least 12 characters.',
        'Too many attempts. Please wait 14 minutes and try again.'
      ]
    ],
    [
      'de',
      [
        'Der Benutzername oder das Passwort ist falsch.',
        'Das Passwort muss mindestens 12 Zeichen haben.',
        'Zu viele Versuche. Bitte warten Sie 14 Minuten und versuchen Sie es dann noch einmal.'
      ]
    ],
    [
      'fr',
      [
        'Le nom d’utilisateur ou le mot de passe est incorrect.',
        'Le mot de passe doit comporter au moins 12 caractères.',
        'Trop de tentatives. Veuillez patienter 14 minutes avant de réessayer.'
      ]
    ]
  ] as const) {
    const messages = messagesOf(locale)
    t.same(
      [pageErrorOf(wrong, messages), pageErrorOf(short, messages, { minLength: 12 }), pageErrorOf(wait, messages)].map(
        ({ text }) => text
      ),
      expected,
      locale
    )
  }
  t.end()
})

t.test('writes an error as a text for the user, without an open placeholder in any language', async (t) => {
  const of = (error: OAuthErrorCode, options: ConstructorParameters<typeof OAuthError>[2] = {}, values = {}): unknown =>
    pageErrorOf(new OAuthError(error, 'For developers.', options), EN, values)
  t.same(of('invalid_grant'), { error: 'invalid_grant', field: null, text: 'The username or password is wrong.' })
  t.same(of('username_taken'), { error: 'username_taken', field: 'username', text: EN.errorUsernameTaken })
  t.match(of('too_many_requests', { headers: { 'retry-after': '840' } }), {
    text: 'Too many attempts. Please wait 14 minutes and try again.'
  })
  t.match(of('too_many_requests', { headers: { 'retry-after': '840' } }, { retryAfterSeconds: 60 }), {
    text: /1 minute /
  })
  t.match(of('too_many_requests'), { text: EN.errorTooManyRequestsLater })
  t.match(of('too_many_requests', { headers: { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' } }), {
    text: EN.errorTooManyRequestsLater
  })
  t.match(of('invalid_password', { reason: 'too_short' }, { minLength: 12 }), {
    field: 'password',
    text: 'The password needs at least 12 characters.'
  })
  t.match(of('invalid_password', { reason: 'too_short' }), { field: 'password', text: 'The password is too short.' })
  t.match(of('invalid_password'), { field: 'password', text: EN.errorPassword })
  t.match(of('invalid_request', { field: 'email', reason: 'email_differs' }), {
    field: 'email',
    text: EN.errorEmailDiffers
  })
  t.match(of('invalid_request', { field: 'age' }), { field: 'age', text: EN.errorInvalidField })
  t.match(of('invalid_request', { reason: 'redirect_uri_mismatch' }), { field: null, text: EN.errorRedirectUri })
  t.match(of('access_denied', { reason: 'cross_site' }), { text: EN.errorCrossSite })

  const codes: OAuthErrorCode[] = [
    'invalid_request',
    'invalid_client',
    'invalid_grant',
    'unauthorized_client',
    'unsupported_grant_type',
    'invalid_scope',
    'invalid_token',
    'insufficient_scope',
    'access_denied',
    'unsupported_response_type',
    'login_required',
    'consent_required',
    'request_not_supported',
    'request_uri_not_supported',
    'registration_not_supported',
    'unmet_authentication_requirements',
    'invalid_password',
    'username_taken',
    'too_many_requests',
    'not_found',
    'server_error',
    'temporarily_unavailable'
  ]
  const reasons: OAuthErrorReason[] = [
    'too_long',
    'not_unicode',
    'too_short',
    'too_common',
    'context_word',
    'breached',
    'characters',
    'username_form',
    'email_form',
    'email_differs',
    'email_same',
    'required',
    'unknown_client',
    'redirect_uri_mismatch',
    'cross_site'
  ]
  const texts = LOCALES.flatMap((locale) =>
    codes.flatMap((code) =>
      [undefined, ...reasons].map(
        (reason) =>
          pageErrorOf(
            new OAuthError(code, 'For developers.', reason === undefined ? {} : { reason }),
            messagesOf(locale)
          ).text
      )
    )
  )
  t.same(
    texts.filter((text) => /[{}]|For developers|^$/.test(text)),
    []
  )
})
