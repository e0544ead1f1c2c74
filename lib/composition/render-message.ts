import { systemClock } from '../adapters/node/system.ts'
import { contentOf, type MailLinks, webUrl } from '../mail/content.ts'
import { htmlMail, textMail } from '../mail/html-mail.ts'
import { logoOf } from '../pages/layout.ts'
import type { Color } from '../pages/themes.ts'
import type { Message } from '../ports/message.ts'
import { FONT, PAGES_DEFAULTS, RADIUS } from '../settings/sections/pages.ts'

/** The design of a mail. As for the option `pages`, `undefined` means absent. */
export interface RenderMessageOptions {
  /** Name of the service, in the subject and above the message. Default: none. */
  title?: string | undefined
  /**
   * The logo, as in `pages`, with absolute http: or https: URLs. A mail loads no other resource. Default: the title as
   * text.
   */
  logo?: { url: string; dark?: string | undefined; height?: number | undefined; alt?: string | undefined } | undefined
  /** The color of the button and links: `#rrggbb`, or one color for each color scheme. */
  accentColor?: string | { light?: string | undefined; dark?: string | undefined } | undefined
  /** `'auto'`: the mail program chooses. */
  colorScheme?: 'light' | 'dark' | 'auto' | undefined
  /** The color around the card: `#rrggbb`, or one color for each color scheme. */
  background?: string | { light?: string | undefined; dark?: string | undefined } | undefined
  /** Corner radius of card and button: `0`, or a length of at most `32px` or `2rem`. */
  radius?: string | undefined
  /** A CSS list of font families. A mail program uses only fonts that its device has. */
  font?: string | undefined
  /** The links below the message, as absolute URLs. `support` may be a `mailto:` address. */
  links?: MailLinks | undefined
}

/** A mail, ready to send. The subject is one line, without control characters. */
export interface RenderedMessage {
  subject: string
  text: string
  html: string
}

/**
 * Renders a message in its `locale`: subject, plain text and HTML, both with the same content. Escapes all values. The
 * only links are http: and https: ones, and a `mailto:` address of `support`. States how long a link is valid, counted
 * from now.
 *
 * @throws TypeError for an invalid option or an invalid field of the message; the error text contains neither link nor
 * token
 * @example
 * sendMessage: async (message) => {
 *   await mailer.sendMail({ from, to: message.user.email, ...renderMessage(message, { title: 'Example Shop' }) })
 * }
 */
export function renderMessage(
  message: Message,
  {
    title = '',
    logo,
    accentColor = PAGES_DEFAULTS.accentColor,
    colorScheme = PAGES_DEFAULTS.colorScheme,
    background = {},
    radius = PAGES_DEFAULTS.radius,
    font,
    links = {}
  }: RenderMessageOptions = {}
): RenderedMessage {
  if (typeof title !== 'string') throw new TypeError('renderMessage: title takes a string.')
  if (!isAccent(accentColor)) throw new TypeError('renderMessage: accentColor takes a color such as "#1f5fbf".')
  if (!['light', 'dark', 'auto'].includes(colorScheme))
    throw new TypeError('renderMessage: colorScheme takes "light", "dark" or "auto".')
  if (!RADIUS.test(radius))
    throw new TypeError('renderMessage: radius takes "0", or a length of at most "32px" or "2rem".')
  if (font !== undefined && !(font.length <= 300 && FONT.test(font)))
    throw new TypeError('renderMessage: font takes font families such as "Inter, sans-serif".')
  const content = contentOf(message, { title, now: systemClock.now(), links })
  return {
    subject: content.subject,
    text: textMail(content),
    html: htmlMail(content, {
      accentColor,
      logo: logo === undefined ? null : checkedLogo(logo, content.title),
      colorScheme,
      background: groundOf(background),
      radius,
      font: font ?? null
    })
  }
}

function checkedLogo(given: NonNullable<RenderMessageOptions['logo']>, title: string): ReturnType<typeof logoOf> {
  const { url, dark, height, alt } = logoOf(given, title)
  if (!Number.isInteger(height) || height < 24 || height > 64)
    throw new TypeError('renderMessage: logo.height takes a whole number from 24 to 64.')
  if (typeof alt !== 'string') throw new TypeError('renderMessage: logo.alt takes a string.')
  return { url: webUrl(url, 'logo.url'), dark: dark === null ? null : webUrl(dark, 'logo.dark'), height, alt }
}

function groundOf(
  given: NonNullable<RenderMessageOptions['background']>
): string | { light: string | null; dark: string | null } {
  const colors = typeof given === 'string' ? [given] : [given.light, given.dark]
  if (!colors.every((color) => color === undefined || isColor(color)))
    throw new TypeError('renderMessage: background takes a color such as "#f3f4f7", or { light, dark }.')
  return typeof given === 'string' ? given : { light: given.light ?? null, dark: given.dark ?? null }
}

function isColor(given: unknown): given is Color {
  return typeof given === 'string' && /^#[0-9a-fA-F]{6}$/.test(given)
}

function isAccent(given: unknown): boolean {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return isColor(given)
  const colors = Object.values(given).filter((color) => color !== undefined)
  return colors.length > 0 && colors.every(isColor)
}
