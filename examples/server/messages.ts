import type { FastifyBaseLogger } from 'fastify'
import { type Message, renderMessage, type SendMessage } from 'fastify-authority'
import type { CapturedMails } from './captured-mails.ts'
import type { Config } from './config.ts'

/** Time limits of one attempt, far below the two minutes after which the plugin gives it up. */
const TIMEOUTS = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 }
/** So that no absence note answers. @see RFC 3834 §5 */
const AUTOMATIC = { 'Auto-Submitted': 'auto-generated' }
const TITLE = 'fastify-authority example'

/** `sendMessage`: by the SMTP server of `SMTP_URL`, or else to the page of captured mails and into the log. */
export async function messageSender(
  { smtpUrl, mailFrom }: Pick<Config, 'smtpUrl' | 'mailFrom'>,
  log: () => FastifyBaseLogger,
  captured: CapturedMails | null
): Promise<SendMessage> {
  return smtpUrl === undefined ? logMessages(log, captured) : await smtpMessages(smtpUrl, mailFrom, log)
}

/** The plugin tries again after an error here: after 1, 10 and 60 seconds. */
async function smtpMessages(url: string, from: string, log: () => FastifyBaseLogger): Promise<SendMessage> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({ url, ...TIMEOUTS })
  return async (message) => {
    const {
      kind,
      user: { id, email }
    } = message
    if (email === undefined) {
      log().warn({ kind, userId: id }, 'a message was not sent: its user has no email address')
      return
    }
    try {
      // An address in an object is one address, whatever is in it; in a string a comma would begin another.
      await transport.sendMail({
        from,
        to: { name: '', address: email },
        ...renderMessage(message, { title: TITLE }),
        headers: AUTOMATIC
      })
    } catch (error) {
      // No more than its codes: a server that refuses a mail may quote it, with its link.
      const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
      log().warn({ kind, userId: id, code, responseCode }, 'a message could not be sent by SMTP_URL')
      throw error
    }
  }
}

/**
 * For a demo: the message, with its link and token, goes to the log. Do NOT do this in production: a reader of the log
 * could set everybody's password. Set SMTP_URL there.
 */
function logMessages(log: () => FastifyBaseLogger, captured: CapturedMails | null): (message: Message) => void {
  return (message) => {
    const { kind, user, url, token, locale } = message
    captured?.add(message, TITLE)
    const carried = url === undefined ? {} : { link: url, token }
    log().info(
      { message: { kind, to: user.email ?? user.username, locale, ...carried } },
      'DEMO: a message is logged, with its token, instead of being sent'
    )
  }
}
