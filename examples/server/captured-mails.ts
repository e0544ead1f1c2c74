import type { FastifyInstance, FastifyReply } from 'fastify'
import { type Message, renderMessage } from 'fastify-authority'
import { document } from './document.ts'
import { html, type Html } from './html.ts'

/** In development: the messages that would have been mails, the newest first. */
export interface CapturedMails {
  add(message: Message, title: string): void
}

interface Mail {
  id: number
  to: string
  subject: string
  html: string
  at: Date
}

const MOST = 50
/** A mail has its styles inside. It can load the logo, and send nothing. */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'none'; base-uri 'none'; " +
  "frame-ancestors 'none'"
const LIST_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"

/**
 * The page `/dev/mails`. Its mails have links that sign people in, so it exists on a developer's own machine alone, and
 * answers no request for another host, which a page of another site could send under its own name.
 */
export function capturedMails(app: FastifyInstance, issuer: string): CapturedMails {
  const mails: Mail[] = []
  let last = 0
  const { host } = new URL(issuer)
  const send = async (
    reply: FastifyReply,
    { page, policy, status = 200 }: { page: string; policy: string; status?: number }
  ): Promise<FastifyReply> =>
    await reply
      .code(status)
      .headers({
        'content-security-policy': policy,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store'
      })
      .type('text/html; charset=utf-8')
      .send(page)
  const shown = (main: Html): string =>
    document({ title: 'Mails – fastify-authority example', here: '/dev/mails', body: main })

  app.get('/dev/mails', async (request, reply) => {
    if (request.host !== host) return reply.callNotFound()
    return await send(reply, { page: shown(list(mails.toReversed())), policy: LIST_POLICY })
  })
  app.get<{ Params: { id: string } }>('/dev/mails/:id', async (request, reply) => {
    if (request.host !== host) return reply.callNotFound()
    const mail = mails.find(({ id }) => String(id) === request.params.id)
    return mail === undefined
      ? await send(reply, { page: shown(GONE), policy: LIST_POLICY, status: 404 })
      : await send(reply, { page: mail.html, policy: MAIL_POLICY })
  })
  return {
    add(message, title) {
      const { subject, html: content } = renderMessage(message, { title })
      const { email, username } = message.user
      mails.push({ id: ++last, to: email ?? username, subject, html: content, at: new Date() })
      if (mails.length > MOST) mails.shift()
    }
  }
}

function list(mails: readonly Mail[]): Html {
  return html`<main class="narrow">
<div class="hero">
<h1>Mails</h1>
<p class="lead">Every mail of this server, until it stops. With <code>SMTP_URL</code> they are sent instead.</p>
</div>
${mails.length === 0 ? html`<p class="note">No mail yet. <a href="/auth/forgot-password?return_to=/">Forget a password</a>, then reload this page.</p>` : html`<ul class="card rows">${mails.map(row)}</ul>`}
</main>`
}

function row({ id, to, subject, at }: Mail): Html {
  return html`<li><div><a href="/dev/mails/${String(id)}"><strong>${subject}</strong></a><span class="fine">to ${to}, <time datetime="${at.toISOString()}">${at.toISOString().slice(11, 19)} UTC</time></span></div></li>`
}

const GONE = html`<main class="narrow"><div class="hero"><h1>This mail is gone</h1><p class="actions"><a class="button" href="/dev/mails">All mails</a></p></div></main>`
