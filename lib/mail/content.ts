import {
  chooseLocale,
  directionOf,
  durationOf,
  format,
  type Locale,
  messagesOf,
  timeOf,
  withoutHyphens
} from '../pages/texts.ts'
import { knownDevice } from '../pages/device-name.ts'
import type { LinkKind, Message } from '../ports/message.ts'
import { languageOf } from '../texts/language.ts'
import type { MailSubject, MailTexts } from '../texts/mail-texts.ts'

/** The content of an email, for both HTML and plain text. */
export interface MailContent {
  lang: Locale
  dir: 'ltr' | 'rtl'
  subject: string
  /** The preview text that mailbox lists show after the subject. */
  preheader: string
  /** `''`: none. */
  title: string
  heading: string
  text: string
  /** A code to type, with a note about it. `null`: there is none. */
  code: { value: string; validity: string; asked: string } | null
  /** The account that the email is about, as `before`, name, `after`. `null`: no address, or the name could mislead. */
  account: { before: string; name: string; after: string } | null
  /** Details of the event, each in one line. */
  details: string[]
  /** `validity`: how long the link works, or in which browser. `''`: the link does not expire. */
  action: { label: string; hint: string; url: string; validity: string } | null
  otherwise: string
  /** Below the message: terms, privacy and help. */
  links: Array<{ label: string; url: string }>
}

/** The links of the option `pages.links`, as absolute URLs. */
export interface MailLinks {
  terms?: string | undefined
  privacy?: string | undefined
  support?: string | undefined
}

/** Kinds without details of their cause (time, device, address), because a user or an administrator requested them. */
const WITHOUT_CAUSE: readonly string[] = [
  'password_reset',
  'verify_email',
  'already_registered',
  'email_change',
  'invitation',
  'sign_in_code'
] satisfies Array<LinkKind | 'sign_in_code'>

const MAX_TITLE = 100
const MAX_NAME = 64

/**
 * Builds the content of a message's email in the user's language.
 * @throws TypeError for a kind that has no texts, a link that is no http: or https: URL, or an invalid `expiresAt`,
 * `codeExpiresAt`, `askedAt` or `at`
 */
export function contentOf(
  message: Message,
  { title, now, links = {} }: { title: string; now: number; links?: MailLinks }
): MailContent {
  // Accepts any language tag, because hosts may set the user's language from their own data.
  const wanted: unknown = message.locale
  const lang = chooseLocale(typeof wanted === 'string' ? [wanted] : [], undefined)
  const texts = languageOf(lang).mails
  const about = subjectOf(message)
  if (!Object.hasOwn(texts, about) || typeof texts[about] !== 'object')
    throw new TypeError(
      'renderMessage: there are no texts for the kind ' +
        `${JSON.stringify(message.kind)}${about === message.kind ? '' : ` (${about})`}.`
    )
  const { heading, text } = texts[about]
  const keysStay = message.kind === 'password_changed' && message.hasApiKeys === true
  const named = oneLine(title, MAX_TITLE)
  const code = codeOf(message, lang, now)
  // A message with a link may also have a code.
  const isEither = code !== null && message.kind !== 'sign_in_code'
  const details = WITHOUT_CAUSE.includes(message.kind) ? [] : detailsOf(message, lang)
  const action = actionOf(message, lang, now)
  return {
    lang,
    dir: directionOf(lang),
    subject: `${withoutHyphens(heading)}${named === '' ? '' : ` – ${named}`}`,
    preheader:
      (code === null ? [details.join(' · '), action?.validity ?? '', text] : [`${code.value} · ${code.validity}`]).find(
        (line) => line !== ''
      ) ?? '',
    title: named,
    heading,
    text: [text, ...(keysStay ? [texts.apiKeysStay] : []), ...(isEither ? [texts.sign_in_code.text] : [])].join(
      languageOf(lang).space
    ),
    code,
    account: accountOf(message, texts.account),
    details,
    action,
    otherwise: adviceOf(message, isEither ? 'sign_in_code' : about, texts),
    links: linksOf(links, lang)
  }
}

/**
 * Returns the name of the texts for a message. Some kinds have several texts, for example one for each factor. An
 * unknown factor or author (from `JSON.parse`) gives a name without texts, which `contentOf` rejects.
 */
function subjectOf(message: Message): MailSubject {
  if (message.kind === 'account_removed') return `account_removed_${message.by}`
  if (message.kind === 'identity_linked' && message.tookOver) return 'identity_linked_takeover'
  if (message.kind === 'factor_added') return `factor_added_${message.factor}`
  return message.kind === 'factor_removed' ? `factor_removed_${message.factor ?? 'all'}` : message.kind
}

/** Advice for a reader who did not make the change that the mail reports. */
function adviceOf(message: Message, about: MailSubject, texts: MailTexts): string {
  const { otherwise } = texts[about]
  const { hasPassword = true, canReset = true } = message
  if ('by' in message && message.by === 'host') return texts.notAsked
  if (isUndoable(message)) return texts.undo
  if (about === 'identity_linked_takeover') return texts[about].otherwise ?? texts.secureWithoutPassword
  // The advice of `identity_linked` is to choose a new password, so it needs a password and a way to reset it.
  if (about === 'identity_linked' ? !hasPassword || !canReset : !hasPassword && otherwise === undefined)
    return texts.secureWithoutPassword
  if (!canReset && (otherwise === undefined || about === 'email_change_requested'))
    return texts.email_changed.otherwise ?? texts.notAsked
  return otherwise ?? texts.secure
}

function linksOf({ terms, privacy, support }: MailLinks, lang: Locale): MailContent['links'] {
  const { linkTerms, linkPrivacy, linkSupport } = messagesOf(lang)
  return [
    [linkTerms, terms, 'terms'],
    [linkPrivacy, privacy, 'privacy'],
    [linkSupport, support, 'support']
  ].flatMap(([label = '', given, name = '']) => {
    if (given === undefined) return []
    return [
      {
        label,
        url: name === 'support' && /^mailto:[^\s<>"?]{1,320}$/.test(given) ? given : webUrl(given, `links.${name}`)
      }
    ]
  })
}

/**
 * The time, device and IP address of the event. Names only widespread devices, because a `User-Agent` can contain any
 * text, and an attacker's text would reach the user's mailbox.
 */
function detailsOf({ at, ip, userAgent }: Message, lang: Locale): string[] {
  const { signInTime, signInDevice, signInAddress } = languageOf(lang).mails
  // A message from a host's JSON queue has the time as text.
  const time = new Date(at ?? NaN).getTime()
  const device = typeof userAgent === 'string' ? knownDevice(userAgent) : null
  return [
    ...(Number.isNaN(time) ? [] : [format(signInTime, { time: timeOf(time, messagesOf(lang)) })]),
    ...(device === null ? [] : [format(signInDevice, { device })]),
    ...(typeof ip === 'string' && /^[0-9a-f.:]{2,45}$/i.test(ip) ? [format(signInAddress, { address: ip })] : [])
  ]
}

function codeOf(message: Message, lang: Locale, now: number): MailContent['code'] {
  if (!('code' in message) || message.code === undefined) return null
  const { code, userAgent } = message
  const [askedAt, expiresAt] =
    message.kind === 'sign_in_code' ? [message.askedAt, message.expiresAt] : [message.at ?? NaN, message.codeExpiresAt]
  const { codeValidity, codeAsked } = languageOf(lang).mails
  const messages = messagesOf(lang)
  const asked = new Date(askedAt).getTime()
  if (Number.isNaN(asked))
    throw new TypeError(`renderMessage: ${message.kind === 'sign_in_code' ? 'askedAt' : 'at'} takes a Date.`)
  const browser = typeof userAgent === 'string' ? knownDevice(userAgent) : null
  return {
    value: oneLine(code, MAX_NAME),
    validity: format(codeValidity, { duration: spanUntil(expiresAt, lang, now) }),
    asked: format(codeAsked, { time: timeOf(asked, messages), browser: browser ?? messages.sessionUnknown })
  }
}

/** True if the mail has a link that reverts the change. */
const isUndoable = (message: Message): boolean =>
  message.url !== undefined &&
  (message.kind === 'email_changed' ||
    (message.kind === 'factor_added' && (message.factor === 'totp' || message.factor === 'passkey')))

/**
 * The button of the mail. A warning without a link of its own gets a link to the account page, if the message has an
 * `accountUrl`. Ignores a `url` that the host's queue has added to a kind without a button.
 */
function actionOf(message: Message, lang: Locale, now: number): MailContent['action'] {
  const { [subjectOf(message)]: texts, hint, validity, onlyHere, new_sign_in: warning } = languageOf(lang).mails
  const label = isUndoable(message) ? messagesOf(lang).undoSubmit : 'button' in texts ? texts.button : null
  if (message.url !== undefined && label !== null)
    return {
      label,
      hint,
      url: webUrl(message.url, 'url'),
      validity:
        message.kind === 'sign_in_code'
          ? onlyHere
          : message.kind === 'new_sign_in'
            ? ''
            : format(validity, { duration: spanUntil(message.expiresAt, lang, now) })
    }
  if (message.accountUrl === undefined || WITHOUT_CAUSE.includes(message.kind) || message.kind === 'account_removed')
    return null
  return { label: warning.button, hint, url: webUrl(message.accountUrl, 'accountUrl'), validity: '' }
}

function spanUntil(expiresAt: Date | undefined, lang: Locale, now: number): string {
  // A message from a host's JSON queue has the time as text.
  const at = new Date(expiresAt ?? NaN).getTime()
  if (Number.isNaN(at)) throw new TypeError('renderMessage: expiresAt takes a Date.')
  // Rounds up to whole minutes, so that a day minus some seconds is still a day.
  const seconds = Math.ceil((at - now) / 60_000) * 60
  return durationOf(seconds, messagesOf(lang))
}

/**
 * Normalizes a URL, so that it contains no character that could end an attribute or a line.
 * @throws TypeError if it is no absolute http: or https: URL. The error message omits the URL, which may contain a
 * token.
 */
export function webUrl(given: string, name: string): string {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null
  if (url === null || !(url.protocol === 'https:' || url.protocol === 'http:'))
    throw new TypeError(`renderMessage: ${name} takes an absolute http: or https: URL.`)
  return url.href
}

/**
 * Names the account, because several accounts may share an address, and a mail program may show several mailboxes.
 * Anybody can sign up with another person's address and any username. So `verify_email` names the account only if its
 * username is the address. Other mails to an unconfirmed address omit any other username that looks like a link.
 */
function accountOf({ kind, user }: Message, text: string): MailContent['account'] {
  const name = oneLine(user.username, MAX_NAME)
  const address = (user.email ?? '').toLowerCase()
  const isAddress = address === user.username.toLowerCase()
  const canMislead = kind === 'verify_email' || (user.emailVerified !== true && /[.:/@\\]/.test(name))
  if (name === '' || address === '' || (canMislead && !isAddress)) return null
  const [before = '', after = ''] = text.split('{username}')
  return { before, name, after }
}

/** Direction marks, other invisible characters, and lone surrogates. Some scripts and emoji need the two joiners. */
const UNSEEN = /(?![\u200c\u200d])\p{Cf}|\p{Cs}/gu
/** White space and control characters. They become spaces, because a line end would start another mail header. */
const GAPS = /[\s\p{Cc}]+/gu

function oneLine(given: string, max: number): string {
  const characters = [
    ...given
      .slice(0, max * 8)
      .replace(UNSEEN, '')
      .replace(GAPS, ' ')
      .trim()
  ]
  return characters.length > max ? `${characters.slice(0, max - 1).join('')}…` : characters.join('')
}
