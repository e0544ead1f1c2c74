import { systemClock } from '../adapters/node/system-clock.ts'
import { contentOf, webUrl } from '../mail/content.ts'
import { htmlMail } from '../mail/html-mail.ts'
import { textMail } from '../mail/text-mail.ts'
import type { Color } from '../pages/colors.ts'
import type { Message } from '../ports/message.ts'
import { PAGES_DEFAULTS } from '../settings/sections/pages.ts'

/** How a mail looks. As for the option `pages`, `undefined` is "not given". */
export interface RenderMessageOptions {
  /** Name of the service, in the subject and above the message. Default: none. */
  title?: string | undefined
  /** Absolute, http: or https:. The only thing that a mail loads. Default: the title as text. */
  logoUrl?: string | undefined
  /** `#rrggbb`. Colour of button and link. */
  accentColor?: string | undefined
}

/** A mail, ready for whatever sends it. The subject is one line, without control characters. */
export interface RenderedMessage {
  subject: string
  text: string
  html: string
}

/**
 * Subject, plain text and HTML of a message, in its `locale`. All values are escaped, and the only links are http: or https: ones. Both
 * forms say the same; how long a link is valid is counted from now.
 *
 * @throws TypeError for an option or a field that it can't take; its text shows neither link nor token
 * @example
 * sendMessage: async (message) => {
 *   await mailer.sendMail({ from, to: message.user.email, ...renderMessage(message, { title: 'Example Shop' }) })
 * }
 */
export function renderMessage (message: Message, { title = '', logoUrl, accentColor = PAGES_DEFAULTS.accentColor }: RenderMessageOptions = {}): RenderedMessage {
  if (typeof title !== 'string') throw new TypeError('renderMessage: title takes a string.')
  if (!isColor(accentColor)) throw new TypeError('renderMessage: accentColor takes a colour such as "#1f5fbf".')
  const content = contentOf(message, { title, now: systemClock.now() })
  return {
    subject: content.subject,
    text: textMail(content),
    html: htmlMail(content, { accentColor, logoUrl: logoUrl === undefined ? null : webUrl(logoUrl, 'logoUrl') })
  }
}

function isColor (given: unknown): given is Color {
  return typeof given === 'string' && /^#[0-9a-fA-F]{6}$/.test(given)
}
