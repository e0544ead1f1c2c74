import t from '../../support/tap.ts'
import {
  type LinkMessage,
  type Message,
  type MessageKind,
  renderMessage,
  type RenderMessageOptions
} from '../../../lib/index.ts'
import { contentOf } from '../../../lib/mail/content.ts'
import { languageOf } from '../../../lib/texts/language.ts'
import { directionOf, type Locale, LOCALES, messagesOf, withoutHyphens } from '../../../lib/pages/texts.ts'
import { everyMessage, linkMessage } from '../../support/messages.ts'
import { holdsInTable } from '../../support/table.ts'

const MINUTE = 60_000
const { url: URL_WITH_TOKEN } = linkMessage()

const named = (username: string, user: Partial<Message['user']> = {}): LinkMessage<'password_reset'> =>
  linkMessage({ user: { id: 'u1', username, email: 'ann@example.com', emailVerified: true, ...user } })

/** The text that a reader of the HTML sees, without the mark-up. */
function seen(html: string): string {
  const body = html
    .replace(/^[^]*<body/, '<body')
    .replace(/<div style="display:none[^]*?<\/div>/, '')
    .replace(/<!--[^]*?-->/g, '')
    .replace(/<[^>]*>/g, ' ')
  return body
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ')
    .trim()
}
/** True for a new link, whose message has advice of its own. */
const isLinked = (message: Message): boolean => message.kind === 'identity_linked' && !message.tookOver
const spaced = (text: string): string => text.replace(/\s+/g, ' ')

t.test('renders every kind in every language with a subject, a heading, a link and its validity', async (t) => {
  const said = new Set<string>()
  await holdsInTable(t, 'each mail is whole', ({ row }) => {
    for (const locale of LOCALES) {
      for (const message of everyMessage(locale)) {
        const { subject, text, html } = renderMessage(message, { title: 'Example Shop' })
        const { heading: hyphenated, text: what, otherwise } = contentOf(message, { title: '', now: Date.now() })
        const heading = withoutHyphens(hyphenated)
        said.add(heading + what)
        const parts = [heading, what, otherwise]
        const inHtml = withoutHyphens(seen(html))
        const once = message.url === undefined ? 0 : 1
        row(
          `${message.kind} ${locale}`,
          {
            subject,
            start: html.split('\n', 2).join('\n'),
            startsWithHeading: spaced(text).startsWith(spaced(`Example Shop ${heading} `)),
            absentInText: parts.filter((part) => !text.includes(part)),
            absentInHtml: parts.filter((part) => !inHtml.includes(spaced(part))),
            leftOpen: (text + subject + html).match(/\{\w+\}|\b(?:undefined|null|NaN)\b/g),
            buttons: html.match(/class="button"/g)?.length ?? 0,
            links: text.split(message.url ?? URL_WITH_TOKEN).length - 1
          },
          {
            subject: `${heading} – Example Shop`,
            start: `<!doctype html>\n<html lang="${locale}" dir="${directionOf(locale)}">`,
            startsWithHeading: true,
            absentInText: [],
            absentInHtml: [],
            leftOpen: null,
            buttons: once,
            links: once
          }
        )
      }
    }
  })
  t.equal(said.size, LOCALES.length * everyMessage('en').length, 'no two say the same')
  t.ok(everyMessage('en').length >= 5)
})

t.test('contains the same text in the same order in the plain and the HTML form', async (t) => {
  for (const locale of LOCALES) {
    for (const message of everyMessage(locale)) {
      const { text, html, subject } = renderMessage(message, { title: 'Example Shop' })
      t.notMatch(subject + text, /\u00ad/, `${message.kind} ${locale}: no soft hyphens`)
      const { hint } = languageOf(locale).mails
      // A character separates a name in the text, and an element in the HTML.
      const inText = spaced(text)
        .trim()
        .replace(/[\u2068\u2069]/g, '')
      const content = contentOf(message, { title: '', now: Date.now() })
      const label = content.action?.label ?? ''
      // The text has the URL after the label of the button. The HTML has the URL below the validity, after a hint.
      const expected =
        content.action === null
          ? inText
          : spaced(
              inText.replace(
                spaced(`${label}: ${content.action.url} ${content.action.validity}`).trim(),
                `${label} ${content.action.validity} ${hint} ${content.action.url}`
              )
            )
      t.equal(withoutHyphens(seen(html)).replaceAll(' ', ''), expected.replaceAll(' ', ''), `${message.kind} ${locale}`)
    }
  }
})

t.test('has complete and typographically correct texts in each language', async (t) => {
  const flat = (value: object): Array<[string, string]> =>
    Object.entries(value).flatMap(([key, inner]): Array<[string, string]> =>
      typeof inner === 'string' ? [[key, inner]] : flat(inner as object).map(([name, text]) => [`${key}.${name}`, text])
    )
  const english = flat(languageOf('en').mails)
  for (const locale of LOCALES) {
    const texts = flat(languageOf(locale).mails)
    t.strictSame(
      texts.map(([key]) => key),
      english.map(([key]) => key),
      locale
    )
    await holdsInTable(t, `${locale}: the placeholders, the form and the language of each text`, ({ row }) => {
      for (const [index, [key, text]] of texts.entries()) {
        const inEnglish = english[index]?.[1] ?? ''
        // Dutch and Italian say account, too.
        const mayBeEnglish = locale === 'en' || (key === 'account' && ['it', 'nl'].includes(locale))
        row(
          key,
          {
            placeholders: [...text.matchAll(/\{\w+\}/g)].map(String),
            wrong: text.match(/^$|^\s|\s$|[<>]|\.\.\.|'/)?.[0],
            isEnglish: !mayBeEnglish && text === inEnglish
          },
          { placeholders: [...inEnglish.matchAll(/\{\w+\}/g)].map(String), wrong: undefined, isEnglish: false }
        )
      }
    })
    for (const advice of [
      languageOf(locale).mails.secure,
      languageOf(locale).mails.email_change_requested.otherwise ?? ''
    ])
      t.ok(advice.includes(messagesOf(locale).forgotLink), `${locale}: the words of the sign-in page`)
    t.ok(
      languageOf(locale).mails.secureWithoutPassword.includes(messagesOf(locale).sessionsEndOthers),
      `${locale}: the words of the account page`
    )
  }
})

t.test('names only the affected factor in a message about a factor', async (t) => {
  const words: Record<string, RegExp> = {
    totp: /\bapps?\b/i,
    passkey: /\bpasskeys?\b/i,
    recovery_codes: /\brecovery codes?\b/i
  }
  for (const message of everyMessage('en')) {
    if (!('factor' in message) || message.factor === null) continue
    const { subject, text } = renderMessage(message)
    for (const [factor, word] of Object.entries(words))
      t.equal(
        word.test(subject) && word.test(text),
        factor === message.factor,
        `${message.kind} ${message.factor}: ${String(word)}`
      )
    for (const [factor, word] of Object.entries(words)) if (factor !== message.factor) t.notMatch(text, word)
  }
  // The failed second factor may be a passkey, and the first factor may be something else than a password.
  for (const kind of ['second_factor_failed', 'recovery_code_used'])
    t.notMatch(languageOf('en').mails[kind as 'recovery_code_used'].text, /password|wrong code/)
})

t.test('does not attribute actions of the host to the user', async (t) => {
  const common = everyMessage('en')[0]
  const of = (fields: object): string => renderMessage({ ...common, url: undefined, ...fields } as Message).text
  t.match(of({ kind: 'account_removed', by: 'user' }), /You asked us to delete your account.*If that wasn’t you/s)
  const byHost = [
    of({ kind: 'account_removed', by: 'host' }),
    of({ kind: 'factor_removed', factor: null, by: 'host' }),
    of({ kind: 'factor_removed', factor: 'passkey', by: 'host' })
  ]
  for (const text of byHost) t.notMatch(text, /You asked us|If that wasn’t you|new password/)
  for (const text of byHost) t.match(text, 'If you didn’t ask us to do that, contact us now.')
})

t.test('does not advise a password reset if the host offers none', async (t) => {
  for (const locale of LOCALES) {
    const {
      secure,
      secureWithoutPassword,
      email_changed: { otherwise: getInTouch = '' }
    } = languageOf(locale).mails
    const word = messagesOf(locale).forgotLink
    t.not(getInTouch, '', locale)
    await holdsInTable(
      t,
      `${locale}: the advice where a password can be set by mail, and where it can't`,
      ({ row }) => {
        for (const message of everyMessage(locale)) {
          for (const hasPassword of [undefined, true, false]) {
            const advice = (canReset?: boolean): string =>
              contentOf({ ...message, hasPassword, canReset }, { title: '', now: Date.now() }).otherwise
            const [usual, withoutReset] = [advice(), advice(false)]
            const isGetInTouch = message.kind === 'email_change_requested' || usual === secure
            row(
              `${message.kind} ${String(hasPassword)}`,
              { withReset: advice(true), withoutReset, namesTheLink: withoutReset.includes(word) },
              {
                withReset: usual,
                withoutReset: isGetInTouch ? getInTouch : isLinked(message) ? secureWithoutPassword : usual,
                namesTheLink: false
              }
            )
          }
        }
      }
    )
  }
})

t.test('does not ask a user without a password to set a new one', async (t) => {
  for (const locale of LOCALES) {
    const { secure, secureWithoutPassword, email_change_requested: change } = languageOf(locale).mails
    const word = messagesOf(locale).forgotLink
    await holdsInTable(t, `${locale}: the advice with a password, and without one`, ({ row }) => {
      for (const message of everyMessage(locale)) {
        const advice = (hasPassword?: boolean): string =>
          contentOf({ ...message, hasPassword }, { title: '', now: Date.now() }).otherwise
        const [usual, without] = [advice(), advice(false)]
        // A first password, set by a link to this address, is what stops the change.
        const isChange = message.kind === 'email_change_requested'
        if (isChange) row(`${message.kind}, its own words`, without, change.otherwise)
        row(
          message.kind,
          { with: advice(true), without, namesTheLink: !isChange && without.includes(word) },
          {
            with: usual,
            without: usual === secure || isLinked(message) ? secureWithoutPassword : usual,
            namesTheLink: false
          }
        )
      }
    })
    for (const kind of ['password_reset', 'already_registered'] as const)
      t.notMatch(
        contentOf({ ...linkMessage({ locale }), kind } as Message, { title: '', now: Date.now() }).otherwise,
        /your password/
      )
  }
})

/** True if the message may have a link that takes the change back. */
const isUndoable = (message: Message): boolean =>
  message.kind === 'email_changed' || (message.kind === 'factor_added' && ['totp', 'passkey'].includes(message.factor))

t.test('adds an undo button to a mail about a reversible change in each language', async (t) => {
  const seen = new Set<string>()
  for (const locale of LOCALES)
    for (const message of everyMessage(locale).filter(isUndoable)) {
      const linked = { ...message, url: URL_WITH_TOKEN, expiresAt: new Date(Date.now() + 72 * 3_600_000) } as Message
      const { action, otherwise } = contentOf(linked, { title: '', now: Date.now() })
      t.equal(action?.url, URL_WITH_TOKEN)
      t.equal(action?.label, messagesOf(locale).undoSubmit)
      t.not(otherwise, contentOf(message, { title: '', now: Date.now() }).otherwise)
      seen.add(otherwise)
    }
  t.equal(seen.size, LOCALES.length)
})

const ACCOUNT_URL = 'https://auth.example.com/auth/account'
const CHROME = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const FACTS = { at: new Date(Date.UTC(2026, 0, 1, 12)), ip: '203.0.113.7', userAgent: CHROME, accountUrl: ACCOUNT_URL }
const ASKED_FOR = ['password_reset', 'verify_email', 'already_registered', 'email_change', 'invitation', 'sign_in_code']

t.test('states time, IP address and device in every warning, and links to an account that still exists', async (t) => {
  for (const locale of LOCALES)
    await holdsInTable(t, locale, ({ row }) => {
      for (const message of everyMessage(locale)) {
        const content = contentOf({ ...message, ...FACTS } as Message, { title: '', now: Date.now() })
        const isWarning = !ASKED_FOR.includes(message.kind)
        const button =
          !isWarning || message.kind === 'account_removed' ? null : languageOf(locale).mails.new_sign_in.button
        row(
          JSON.stringify([message.kind, content.heading]),
          {
            facts: [FACTS.ip, 'Chrome'].filter((fact) => content.details.join(' ').includes(fact)).length,
            lines: content.details.length,
            button: isWarning ? (content.action?.label ?? null) : null
          },
          { facts: isWarning ? 2 : 0, lines: isWarning ? 3 : 0, button }
        )
      }
    })
  const removed = everyMessage('en').find(({ kind }) => kind === 'password_changed') as Message
  t.throws(() => renderMessage({ ...removed, accountUrl: 'javascript:alert(1)' }), {
    name: 'TypeError',
    message: 'renderMessage: accountUrl takes an absolute http: or https: URL.'
  })
  t.notMatch(
    renderMessage({ ...removed, ...FACTS, userAgent: 'Free-Money.example', ip: '<b>' }).html,
    /Free-Money|<b>&lt;/
  )
})

t.test('starts every mail with a hidden preview line that differs from its heading', async (t) => {
  for (const locale of LOCALES)
    await holdsInTable(t, locale, ({ row }) => {
      for (const message of everyMessage(locale)) {
        const { heading, preheader } = contentOf(message, { title: '', now: Date.now() })
        const { html } = renderMessage(message)
        const [, style = '', line = ''] = /<body[^>]*>\s*<div style="([^"]*)">([^<]*)<\/div>/.exec(html) ?? []
        row(
          JSON.stringify([message.kind, heading]),
          {
            hidden: style.includes('display:none') && style.includes('mso-hide:all'),
            says: preheader !== '' && preheader !== heading,
            shown: line.replaceAll('&#39;', "'").startsWith(preheader),
            code: message.kind === 'sign_in_code' && preheader.startsWith('1234 5678 · ')
          },
          { hidden: true, says: true, shown: true, code: message.kind === 'sign_in_code' }
        )
      }
    })
})

t.test('says once how long a code and its link work, and that the button works in one browser', async (t) => {
  for (const locale of LOCALES) {
    const message = everyMessage(locale).find(({ kind }) => kind === 'sign_in_code') as Message
    const { code, action } = contentOf(message, { title: '', now: Date.now() })
    t.equal(action?.validity, languageOf(locale).mails.onlyHere)
    t.equal(renderMessage(message).text.split(code?.validity ?? '-').length, 2, locale)
  }
})

t.test('shows the code of a confirmation next to its button, each with its validity', async (t) => {
  for (const kind of ['verify_email', 'email_change'] as const)
    for (const locale of LOCALES) {
      const at = new Date(Date.UTC(2026, 0, 1))
      const in10 = new Date(at.getTime() + 600_000)
      const given = { ...linkMessage({ locale }), kind, at, code: '1234 5678', codeExpiresAt: in10 } as Message
      const { code, action, text, otherwise } = contentOf(given, { title: '', now: at.getTime() })
      const { sign_in_code: texts } = languageOf(locale).mails
      t.match({ code, action }, { code: { value: '1234 5678' }, action: { url: URL_WITH_TOKEN } }, locale)
      t.ok(text.endsWith(texts.text) && text.length > texts.text.length + 5, text)
      t.equal(otherwise, texts.otherwise)
      t.not(code?.validity, action?.validity)
      t.throws(() => renderMessage({ ...given, at: undefined } as Message), { message: /at takes a Date/ })
      t.equal(contentOf({ ...given, code: undefined } as Message, { title: '', now: at.getTime() }).code, null)
    }
})

t.test('renders no button in a notice, even if the message contains a URL', async (t) => {
  for (const message of everyMessage('en')) {
    if (message.url !== undefined || isUndoable(message)) continue
    const plain = renderMessage(message)
    t.strictSame(
      renderMessage({ ...message, url: URL_WITH_TOKEN, expiresAt: new Date() } as unknown as Message),
      plain,
      message.kind
    )
  }
})

t.test('rejects a notice without a known actor or factor', async (t) => {
  for (const fields of [
    { kind: 'account_removed' },
    { kind: 'account_removed', by: 'nobody' },
    { kind: 'factor_added' },
    { kind: 'factor_added', factor: 'fingerprint' },
    { kind: 'factor_added', factor: null },
    { kind: 'factor_removed', factor: 'constructor', by: 'user' }
  ]) {
    t.throws(
      () => renderMessage({ ...linkMessage(), url: undefined, ...fields } as unknown as Message),
      {
        name: 'TypeError',
        message:
          `renderMessage: there are no texts for the kind "${fields.kind}" ` +
          `(${fields.kind}_${String((fields as { by?: string }).by !== undefined && fields.kind === 'account_removed' ? fields.by : (fields as { factor?: string }).factor)}).`
      },
      JSON.stringify(fields)
    )
  }
})

t.test('states how long a link is valid, from the time of rendering', async (t) => {
  const now = Date.UTC(2026, 0, 1)
  const validity = (ms: number, locale = 'en'): string | undefined =>
    contentOf(linkMessage({ locale, expiresAt: new Date(now + ms) }), { title: '', now }).action?.validity.replace(
      /\s/g,
      ' '
    )
  const table: Array<[number, string]> = [
    [30 * MINUTE, '30 minutes'],
    [30 * MINUTE - 1, '30 minutes'],
    [29 * MINUTE, '29 minutes'],
    [MINUTE, '1 minute'],
    [1, '1 minute'],
    [0, '1 minute'],
    [-5 * MINUTE, '1 minute'],
    [60 * MINUTE, '1 hour'],
    [90 * MINUTE, '90 minutes'],
    [1439 * MINUTE, '24 hours'],
    [1440 * MINUTE - 1, '1 day'],
    [1440 * MINUTE, '1 day'],
    [7 * 1440 * MINUTE, '7 days']
  ]
  for (const [ms, expected] of table)
    t.equal(validity(ms), `The link is valid for ${expected} and works once.`, String(ms))
  // A language without a row has to say the duration as Intl does, in a sentence of its own.
  const sentences: Partial<Record<Locale, string>> = {
    en: 'The link is valid for 30 minutes and works once.',
    de: 'Der Link gilt 30 Minuten lang und funktioniert einmal.',
    fr: 'Le lien est valable 30 minutes et ne fonctionne qu’une seule fois.',
    es: 'El enlace es válido durante 30 minutos y funciona una sola vez.',
    ja: 'このリンクの有効期間は 30 分で、使えるのは一度だけです。',
    'pt-BR': 'O link é válido por 30 minutos e funciona uma única vez.',
    it: 'Il link è valido per 30 minuti e può essere usato una sola volta.',
    nl: 'De link is 30 minuten geldig en werkt één keer.',
    pl: 'Czas ważności linku: 30 minut. Można go użyć tylko raz.',
    tr: 'Bağlantı 30 dakika geçerlidir ve yalnızca bir kez kullanılabilir.',
    uk: 'Строк дії посилання: 30 хвилин. Ним можна скористатися лише раз.',
    'zh-CN': '此链接在30分钟内有效，且只能使用一次。',
    'zh-TW': '此連結在 30 分鐘內有效，且只能使用一次。',
    ko: '링크는 30분 동안 유효하며 한 번만 사용할 수 있습니다.',
    ar: 'مدة صلاحية الرابط: 30 دقيقة. يمكن استخدامه مرة واحدة فقط.'
  }
  const said = LOCALES.map((locale) => validity(30 * MINUTE, locale) ?? '')
  t.equal(new Set(said).size, LOCALES.length)
  for (const [index, locale] of LOCALES.entries()) {
    const minutes = new Intl.NumberFormat(locale, { style: 'unit', unit: 'minute', unitDisplay: 'long' }).format(30)
    t.ok(said[index]?.includes(minutes.replace(/\s/g, ' ')), `${locale}: ${minutes}`)
    t.equal(said[index], sentences[locale] ?? said[index], locale)
  }
  t.match(
    renderMessage(JSON.parse(JSON.stringify(linkMessage())) as Message).text,
    /valid for 30 minutes/,
    'a message that came through a queue as JSON'
  )
})

t.test('uses the nearest language, or English, for an unsupported locale', async (t) => {
  for (const [locale, lang] of [
    ['de-AT', 'de'],
    ['DE', 'de'],
    ['ja-JP', 'ja'],
    ['pt', 'pt-BR'],
    ['zh-HK', 'zh-TW'],
    ['xx', 'en'],
    ['', 'en'],
    ['"><script>', 'en'],
    [undefined, 'en'],
    [null, 'en'],
    [5, 'en']
  ]) {
    t.match(
      renderMessage(linkMessage({ locale: locale as string })).html,
      `<html lang="${String(lang)}" dir=`,
      String(locale)
    )
  }
})

t.test('renders Arabic from right to left, and isolates text that is not Arabic', async (t) => {
  const message = linkMessage({
    locale: 'ar-EG',
    user: { id: 'u1', username: 'ann.', email: 'ann@example.com', emailVerified: true }
  })
  const { html, text } = renderMessage(message, { title: 'Example Shop!' })
  t.match(html, '<html lang="ar" dir="rtl">')
  for (const [tag] of html.matchAll(/<(?:table|td)[^>]*>/g)) {
    if (tag.includes('width="480"') || tag === '<td>') continue
    t.ok(tag.includes('dir="rtl"') || tag.includes('align="center"'), tag)
  }
  const link = /<a class="link" dir="ltr"[^>]*>/.exec(html)?.[0] ?? ''
  t.match(link, /display:block;text-align:left/, 'lines of a URL begin at its start')
  t.notMatch(html.replace(link, ''), /align="left"|text-align:(?:left|start)/)
  t.match(html, '<bdi>Example Shop!</bdi>')
  t.match(html, '<b><bdi>ann.</bdi></b>')
  t.match(text, 'الحساب: \u2068ann.\u2069')
  const english = renderMessage({ ...message, locale: 'en' }, { title: 'Example Shop!' })
  t.match(english.html, 'dir="ltr"')
  t.notMatch(english.html, /rtl|align="right"/)
  t.notMatch(english.text, /[\u2068\u2069]/)
})

t.test('prevents injected headers, markup and links in a message', async (t) => {
  const attacks = [
    '<a href="https://evil.example">click</a>',
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '{duration}{username}{title}',
    '$& $1 $`',
    'Ann\r\nBcc: everybody@example.com\r\n\r\n<b>hi',
    'a\nb',
    'a\u2028b\u2029c\u0085d',
    'a\u0000\u0007\u001b[31mb\u007f',
    '\u202egro.live\u202c',
    '\u2066a\u2069\u200e\u200f\u061c',
    '\ud800lone\udc00',
    '&lt;b&gt;',
    '=?utf-8?B?QmNj?=',
    '\u00ad\u200b\ufeff'
  ]
  for (const attack of attacks) {
    for (const [what, message, options] of [
      ['a username', named(attack), {}],
      ['a title', named('ann'), { title: attack }]
    ] as Array<[string, Message, RenderMessageOptions]>) {
      const name = `${what}: ${attack.replace(/[^ -~]/g, '?')}`
      const { subject, text, html } = renderMessage(message, options)
      t.notMatch(subject, /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/u, name)
      t.notMatch(
        text.replaceAll('\n', ''),
        /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/u,
        name
      )
      const plain = renderMessage(named('ann'), { title: 'x' })
      t.ok(text.split('\n').length <= plain.text.split('\n').length, `${name}: no line of its own`)
      const tags = (markup: string): string[] => [...markup.matchAll(/<(\w+)/g)].map(([, tag = '']) => tag)
      t.strictSame(
        tags(html).filter((tag) => !tags(plain.html).includes(tag)),
        [],
        name
      )
      t.strictSame(
        [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, url]) => url),
        [URL_WITH_TOKEN, URL_WITH_TOKEN],
        name
      )
      t.notMatch(html.replace(/ [\w-]+="[^"]*"/g, ''), /<\w+[^>]* on\w+=/, name)
    }
  }
})

t.test('truncates a huge username or title', async (t) => {
  const { subject, text, html } = renderMessage(named('n'.repeat(10_000)), { title: '💥'.repeat(10_000) })
  t.ok(
    subject.length < 300 && text.length < 1500 && html.length < 12_000,
    `${subject.length} ${text.length} ${html.length}`
  )
  t.match(text, `Account: ${'n'.repeat(63)}…`)
  t.notMatch(subject, /\p{Cs}/u, 'no half of a character')
  t.ok(renderMessage(named('x\u0301'.repeat(1e6))).html.length < 12_000)
})

t.test('accepts only http: and https: URLs, and normalizes them like a browser', async (t) => {
  for (const url of [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'mailto:a@b.example',
    '//evil.example',
    '/auth/reset',
    'reset',
    '',
    ' ',
    'https://',
    'ftp://a.example',
    'blob:https://a.example/1',
    undefined,
    null,
    5,
    {}
  ]) {
    for (const kind of ['password_reset', 'verify_email', 'already_registered'] as const) {
      const message = { ...linkMessage(), kind, url } as Message
      if (url === undefined) continue
      t.throws(
        () => renderMessage(message),
        { name: 'TypeError', message: /^renderMessage: url takes an absolute http: or https: URL\.$/ },
        JSON.stringify(url)
      )
    }
    if (url !== undefined)
      t.throws(
        () => renderMessage(linkMessage(), { logo: { url: url as string } }),
        { name: 'TypeError', message: /^renderMessage: logo.url takes/ },
        `logo ${JSON.stringify(url)}`
      )
  }
  const odd = renderMessage(linkMessage({ url: 'https://auth.example.com/a b?x="><script>&token=1\r\n\tBcc: x\'#"<é' }))
  const [href] = [...odd.html.matchAll(/href="([^"]*)"/g)].map(([, url = '']) => url)
  t.equal(href, 'https://auth.example.com/a%20b?x=%22%3E%3Cscript%3E&amp;token=1Bcc:%20x%27#%22%3C%C3%A9')
  t.notMatch(odd.html, '<script>')
  t.match(odd.text, '\nhttps://auth.example.com/a%20b?x=%22%3E%3Cscript%3E&token=1Bcc:%20x%27#%22%3C%C3%A9\n')
  t.match(
    renderMessage(linkMessage({ url: 'http://localhost:3000/auth/reset-password?token=x' })).text,
    'http://localhost:3000/auth/reset-password?token=x'
  )
})

t.test('rejects a wrong option, kind or time with an error that names it', async (t) => {
  for (const accentColor of [
    'red',
    '#fff',
    '#1f5fbf;background:url(https://evil.example)',
    '#1f5fbf\n',
    '#1f5fbg',
    '',
    'url(x)',
    5,
    null,
    ['#1f5fbf'],
    {}
  ]) {
    t.throws(
      () => renderMessage(linkMessage(), { accentColor: accentColor as string }),
      { name: 'TypeError', message: 'renderMessage: accentColor takes a color such as "#1f5fbf".' },
      JSON.stringify(accentColor)
    )
  }
  for (const title of [5, null, {}, ['x']])
    t.throws(() => renderMessage(linkMessage(), { title: title as string }), {
      name: 'TypeError',
      message: 'renderMessage: title takes a string.'
    })
  for (const kind of ['birthday', 'validity', 'hint', 'constructor', '__proto__', undefined])
    t.throws(
      () => renderMessage({ ...linkMessage(), kind } as unknown as Message),
      { name: 'TypeError', message: /no texts for the kind/ },
      String(kind)
    )
  for (const expiresAt of [new Date(NaN), 'soon', undefined, {}])
    t.throws(
      () => renderMessage(linkMessage({ expiresAt: expiresAt as Date })),
      { name: 'TypeError', message: 'renderMessage: expiresAt takes a Date.' },
      JSON.stringify(expiresAt)
    )
  const plain = renderMessage(linkMessage())
  t.strictSame(
    renderMessage(linkMessage(), { title: undefined, logo: undefined, accentColor: undefined }),
    plain,
    'undefined is not given'
  )
  t.equal(plain.subject, 'Choose a new password')
})

t.test('shows the logo for the color scheme, with the given height and alt text', (t) => {
  const logo = { url: 'https://a.example/l.png', dark: 'https://a.example/d,1.png', height: 32, alt: 'Acme & Co' }
  const htmlWith = (colorScheme: 'light' | 'dark' | 'auto'): string =>
    renderMessage(linkMessage(), { title: 'Shop', logo, colorScheme }).html
  t.match(htmlWith('auto'), '<source srcset="https://a.example/d%2C1.png" media="(prefers-color-scheme:dark)">')
  t.match(htmlWith('auto'), / src="https:\/\/a\.example\/l\.png" alt="Acme &amp; Co" height="32"/)
  t.match(htmlWith('dark'), ' src="https://a.example/d,1.png"')
  t.notMatch(htmlWith('light'), 'd,1.png')
  for (const [wrong, name] of [
    [{ dark: '/d.png' }, 'logo.dark'],
    [{ height: 23 }, 'logo.height'],
    [{ height: '40' }, 'logo.height'],
    [{ alt: 5 }, 'logo.alt']
  ] as const)
    t.throws(() => renderMessage(linkMessage(), { logo: { ...logo, ...wrong } as typeof logo }), {
      name: 'TypeError',
      message: new RegExp(`^renderMessage: ${name} takes`)
    })
  t.end()
})

t.test('names the account in a mail, except a misleading name in a mail to an unconfirmed address', async (t) => {
  const shown = (message: Message): string | undefined => /Account: (.*)/.exec(renderMessage(message).text)?.[1]
  const kinds: MessageKind[] = ['password_reset', 'already_registered', 'password_changed', 'new_sign_in']
  for (const kind of kinds) t.equal(shown({ ...named('ann'), kind } as Message), 'ann', kind)
  t.equal(shown({ ...named('ann'), kind: 'verify_email' }), undefined, 'a stranger may have chosen the name')
  for (const { kind } of everyMessage('en'))
    t.equal(
      shown({
        ...everyMessage('en').find((message) => message.kind === kind),
        user: named('ANN@example.com').user
      } as Message),
      'ANN@example.com',
      `${kind}: people have several mailboxes in one program`
    )
  t.equal(shown(named('ANN@example.com', { emailVerified: false })), 'ANN@example.com', 'it is the address')
  for (const email of [undefined, null, ''])
    t.equal(
      shown(linkMessage({ user: { id: 'u1', username: 'ann', email: email as string } })),
      undefined,
      'there is no address'
    )
  for (const username of ['win.example.com', 'https://evil.example', 'evil.example/x', 'a@evil.example']) {
    t.equal(shown(named(username)), username, 'the address is confirmed')
    for (const emailVerified of [false, undefined])
      t.equal(
        shown(named(username, { emailVerified } as object)),
        undefined,
        `${username}: nothing to be taken for a link`
      )
  }
  t.equal(shown(named('ann_b-c', { emailVerified: false })), 'ann_b-c')
})

t.test('renders HTML without the elements and styles that mail programs reject', async (t) => {
  const { html } = renderMessage(named('ann'), {
    title: 'Shop',
    logo: { url: 'https://shop.example/logo.png?a=1&b=2' },
    accentColor: '#FFCC00'
  })
  t.strictSame(
    [...html.matchAll(/ src="([^"]*)"/g)].map(([, url]) => url),
    ['https://shop.example/logo.png?a=1&amp;b=2'],
    'the logo is all that is loaded'
  )
  t.notMatch(
    html,
    /<(?:script|link|iframe|form|input|svg|video|object|embed|base)\b|@import|url\(|@font-face|position:|display:(?:flex|grid)|var\(/
  )
  t.match(html, 'alt="Shop"')
  t.notMatch(renderMessage(linkMessage(), { title: 'Shop' }).html, '<img')
  for (const table of html.match(/<table[^>]*>/g) ?? []) t.match(table, 'role="presentation"')
  for (const [tag] of html.replace(/<head>[^]*<\/head>|<!--[^]*?-->/g, '').matchAll(/<(?:p|h1|a|td|img)\b[^>]*>/g))
    t.ok(tag.includes(' style="') || tag.includes('align="center"'), tag)
  const [, style = ''] = /<style>([^]*)<\/style>/.exec(html) ?? []
  t.match(
    style,
    /^:root\{color-scheme:light dark;supported-color-schemes:light dark\}\n@media \(prefers-color-scheme:dark\)\{/
  )
  for (const [, name = ''] of style.matchAll(/\.([\w-]+)[{,]/g))
    t.match(html, new RegExp(`class="${name}"`), `.${name} is something`)
  for (const [, name = ''] of html.matchAll(/class="([\w-]+)"/g))
    t.match(style, `.${name}{`, `${name} has a dark colour`)
  t.equal((html.match(/<!--\[if mso\]>/g) ?? []).length, (html.match(/<!\[endif\]-->/g) ?? []).length)
  t.ok(Buffer.byteLength(html) < 20_000, 'far below what Gmail cuts off')
})

t.test('accepts an accent color for light and for dark mode, and rejects other values', async (t) => {
  const message = linkMessage()
  const { html } = renderMessage(message, { accentColor: { light: '#8a1f5b', dark: '#f4b6d6' } })
  t.match(html, 'bgcolor="#8a1f5b"')
  t.match(html, /\.button\{background-color:#f4b6d6!important/)
  for (const accentColor of [{ light: 'red' }, { dark: '#fff' }])
    t.throws(() => renderMessage(message, { accentColor }), { message: /^renderMessage: accentColor takes/ })
})

t.test('applies the validated look of the host to the HTML, and its links to both forms', async (t) => {
  const [message] = everyMessage('en')
  if (message === undefined) throw new Error('no message')
  const look = {
    title: 'Example',
    background: '#102030',
    radius: '5px',
    font: '"Brand Sans", serif',
    links: { terms: 'https://a.example/t?b&c', support: 'mailto:help@a.example' }
  } as const
  const { html, text } = renderMessage(message, look)
  for (const part of [
    'bgcolor="#102030"',
    'border-radius:5px',
    'border-radius:7px',
    'font-family:&#39;Brand Sans&#39;, serif,system-ui',
    'href="https://a.example/t?b&amp;c"',
    'href="mailto:help@a.example"'
  ])
    t.ok(html.includes(part), part)
  t.match(text, /\n\nTerms of use: https:\/\/a\.example\/t\?b&c\nHelp: help@a\.example\n$/)
  const dark = renderMessage(message, { ...look, background: undefined, colorScheme: 'dark' }).html
  t.match(dark, /<meta name="color-scheme" content="dark">/)
  t.notMatch(dark, /<style>|#ffffff;border:1px/, 'no other scheme')
  t.notMatch(renderMessage(message, { colorScheme: 'light' }).html, '<style>')
  for (const [name, values] of Object.entries({
    colorScheme: ['black', null, 1],
    background: ['red', { light: '#fff' }, { dark: 'x"' }],
    radius: ['1', '99px', '4px;x:y', '"'],
    font: ['a;b', '"><script>', 'url(x)', 'x'.repeat(400)],
    links: [
      { terms: 'javascript:alert(1)' },
      { terms: '/terms' },
      { support: 'mailto:a@b?body=x"' },
      { privacy: 'mailto:a@b.c' }
    ]
  })) {
    for (const value of values)
      t.throws(
        () => renderMessage(message, { [name]: value } as object),
        { name: 'TypeError', message: new RegExp(`^renderMessage: ${name}`) },
        `${name} ${JSON.stringify(value)}`
      )
  }
})
