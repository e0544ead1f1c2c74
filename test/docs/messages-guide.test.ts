/** The programs of the guide on messages compile, and send over SMTP and to fake servers of the two mail services. */
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { basename } from 'node:path'
import { json } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from '../support/tap.ts'
import type { SendMessage } from '../../lib/index.ts'
import { linkMessage } from '../support/messages.ts'
import { headerText, SMTP_USER, startSmtpServer } from '../support/smtp-server.ts'
import { messagesOf, openWorkshop, type Project } from './support/guide-files.ts'

const GUIDE = 'docs/guides/messages.md'
const workshop = openWorkshop()
t.teardown(() => {
  workshop.remove()
})

interface Request {
  url: string | undefined
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
}

/** A mail service that answers with a status and repeats the request, as some services do. */
async function startService(t: Test): Promise<{ url: string; requests: Request[]; answer(status: number): void }> {
  const requests: Request[] = []
  let status = 200
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      requests.push({ url: request.url, headers: request.headers, body: body as Record<string, unknown> })
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ rejected: body }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    requests,
    answer(next) {
      status = next
    }
  }
}

async function senderOf(project: Project, file: string): Promise<SendMessage> {
  const { sendMessage } = (await import(project.module(file))) as { sendMessage: SendMessage }
  return sendMessage
}

const message = linkMessage({ locale: 'de' })
const nowhere = linkMessage({ user: { id: 'u1', username: 'ann' } })
const german = {
  subject: 'Neues Passwort festlegen – Example Shop',
  text: new RegExp(`\n${message.url.replace('?', '\\?')}\n`),
  html: new RegExp(`href="${message.url.replace('?', '\\?')}"`)
}

t.test('compiles the printed files of the guide', async (t) => {
  const project = workshop.project(GUIDE)
  t.strictSame(
    project.files.map(({ name }) => name),
    ['app.ts', 'mail-smtp.ts', 'mail-postmark.ts', 'mail-resend.ts']
  )
  const broken = workshop.project(GUIDE, {
    change: (text) => text.replace("title: 'Example Shop'", "name: 'Example Shop'")
  })
  const messages = messagesOf([project, broken])
  t.ok(messages.length > 0, 'a wrong option is noticed')
  t.strictSame(
    messages.filter((message) => !message.startsWith(`${basename(broken.directory)}/`)),
    []
  )
})

t.test('sends messages by SMTP with the code of the guide, each to one address only', async (t) => {
  const smtp = await startSmtpServer(t)
  process.env['SMTP_URL'] = `smtp://${SMTP_USER.user}:${SMTP_USER.pass}@127.0.0.1:${smtp.port}`
  t.teardown(() => {
    delete process.env['SMTP_URL']
  })
  const project = workshop.project(GUIDE)
  const send = await senderOf(project, 'mail-smtp.ts')
  await send(nowhere)
  await send(message)
  const mail = await smtp.next()
  t.strictSame(mail.to, ['ann@example.com'])
  t.equal(headerText(mail.headers['subject']), german.subject)
  t.match(mail.parts['text/plain'], german.text)
  t.match(mail.parts['text/html'], german.html)
  t.equal(smtp.mails.length, 1, 'to nobody where there is no address')

  for (const email of [
    'ann@example.com, eve@evil.example',
    'ann@example.com\r\nBcc: eve@evil.example',
    'ann@example.com>\r\nRCPT TO:<eve@evil.example',
    'Ann <eve@evil.example>',
    'ann@example.com;eve@evil.example'
  ]) {
    await Promise.resolve(send(linkMessage({ user: { id: 'u1', username: 'ann', email } }))).catch(() => {})
  }
  t.strictSame(
    smtp.mails.filter(({ to, headers }) => to.includes('eve@evil.example') || to.length > 1 || 'bcc' in headers),
    [],
    'an odd address is never two'
  )
  const { app } = (await import(project.module('app.ts'))) as { app: FastifyInstance }
  t.teardown(async () => {
    await app.close()
  })
  t.equal(
    (
      await app.inject({
        method: 'POST',
        url: '/auth/register',
        payload: { username: 'bob@example.com', password: 'seven green boats at dawn' }
      })
    ).statusCode,
    201
  )
  let to: string | undefined
  while (to !== 'bob@example.com') [to] = (await smtp.next()).to
  t.pass('the whole of it, from a sign-up to the mail')
  smtp.refuse(() => 'no')
  await t.rejects(Promise.resolve(send(message)))
})

for (const { file, origin, path, shows } of [
  {
    file: 'mail-postmark.ts',
    origin: 'https://api.postmarkapp.com',
    path: '/email',
    shows: ({ headers, body }: Request) => ({
      key: headers['x-postmark-server-token'],
      to: body['To'],
      subject: body['Subject'],
      text: body['TextBody'],
      html: body['HtmlBody'],
      tracking: [body['TrackOpens'], body['TrackLinks']]
    })
  },
  {
    file: 'mail-resend.ts',
    origin: 'https://api.resend.com',
    path: '/emails',
    shows: ({ headers, body }: Request) => ({
      key: String(headers.authorization).replace('Bearer ', ''),
      to: String(body['to']),
      subject: body['subject'],
      text: body['text'],
      html: body['html'],
      tracking: [false, 'None']
    })
  }
]) {
  t.test(`sends a message by ${origin} with the code of the guide, and rejects after an error`, async (t) => {
    const service = await startService(t)
    process.env['POSTMARK_TOKEN'] = process.env['RESEND_API_KEY'] = 'the-key'
    t.teardown(() => {
      for (const name of ['POSTMARK_TOKEN', 'RESEND_API_KEY']) Reflect.deleteProperty(process.env, name)
    })
    const send = await senderOf(workshop.project(GUIDE, { change: (text) => text.replace(origin, service.url) }), file)
    await send(nowhere)
    await send(message)
    t.equal(service.requests.length, 1)
    const [request] = service.requests
    t.equal(request?.url, path)
    t.equal(request?.headers['content-type'], 'application/json')
    t.match(request === undefined ? {} : shows(request), {
      key: 'the-key',
      to: 'ann@example.com',
      tracking: [false, 'None'],
      ...german
    })
    service.answer(422)
    const refused = await Promise.resolve(send(message)).then(
      () => 'sent',
      (error: unknown) => (error instanceof Error ? error.message : '')
    )
    t.match(refused, /answered 422$/, 'so that it is tried again')
    t.notMatch(refused, message.token)
  })
}
