/** The example server with SMTP_URL sends emails, and its log contains no secret of them. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from '../support/tap.ts'
import { freePort } from '../support/free-port.ts'
import { headerText, type ReceivedMail, SMTP_USER, startSmtpServer } from '../support/smtp-server.ts'
import { example, type Server } from './support/example-server.ts'
import { formBrowser } from './support/form-browser.ts'

const PASSWORD = 'nine tall ferns by noon'
const { cwd, start } = example(t)

/** Starts without data, because another port is another issuer. */
async function started(env: Record<string, string>): Promise<Server> {
  rmSync(join(cwd, 'data'), { recursive: true, force: true })
  const port = await freePort()
  return await start(port, { ISSUER: `http://127.0.0.1:${port}`, ...env })
}

const smtpUrl = (port: number, query = ''): string =>
  `smtp://${SMTP_USER.user}:${SMTP_USER.pass}@127.0.0.1:${port}${query}`
async function register({ origin }: Server, username: string, language = 'en'): Promise<number> {
  const reply = await fetch(`${origin}/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-language': language },
    body: JSON.stringify({ username, password: PASSWORD })
  })
  return reply.status
}
const linkIn = (mail: ReceivedMail): string => /^http:\S+$/m.exec(mail.parts['text/plain'] ?? '')?.[0] ?? ''
const tokenIn = (mail: ReceivedMail): string => new URL(linkIn(mail)).searchParams.get('token') ?? ''

t.test('sends a confirmation email at sign-up, and confirms the address by its link', async (t) => {
  const smtp = await startSmtpServer(t)
  const server = await started({ SMTP_URL: smtpUrl(smtp.port), MAIL_FROM: 'Example <hello@example.com>' })
  t.match(server.output(), 'Messages are sent by SMTP_URL.')
  t.match(await (await fetch(server.origin)).text(), 'Mails go to your SMTP server.')

  t.equal(await register(server, 'Ann@example.com', 'de-AT'), 201)
  const mail = await smtp.next()
  t.equal(mail.from, 'hello@example.com')
  t.strictSame(mail.to, ['ann@example.com'])
  t.equal(headerText(mail.headers['from']), 'Example <hello@example.com>')
  t.equal(mail.headers['to'], 'ann@example.com')
  t.equal(headerText(mail.headers['subject']), 'E-Mail-Adresse bestätigen – fastify-authority example')
  t.equal(mail.headers['auto-submitted'], 'auto-generated')
  t.strictSame(Object.keys(mail.parts), ['text/plain', 'text/html'])
  const link = linkIn(mail)
  t.ok(link.startsWith(`${server.origin}/auth/verify-email?token=`), link)
  t.match(mail.parts['text/html'], `href="${link}"`)
  t.match(mail.parts['text/html'], '<html lang="de" dir="ltr">')
  t.ok(
    mail.raw.split('\r\n').every((line) => line.length <= 998),
    'no line that a server may cut'
  )

  const browser = formBrowser(server.origin)
  const page = await browser.get(link)
  t.match(page.text, 'Confirm your email')
  const confirmed = await browser.submit(page)
  t.equal(confirmed.status, 200)
  t.match(confirmed.text, 'Your email is confirmed')

  await fetch(`${server.origin}/auth/password-reset`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-language': 'ja' },
    body: JSON.stringify({ username: 'ann@example.com' })
  })
  const reset = await smtp.next()
  t.equal(headerText(reset.headers['subject']), '新しいパスワードの設定 – fastify-authority example')
  t.match((await browser.get(linkIn(reset))).text, 'autocomplete="new-password"')

  await server.kill('SIGTERM')
  for (const secret of [tokenIn(mail), tokenIn(reset), SMTP_USER.pass, PASSWORD])
    t.notOk(secret === '' || server.output().includes(secret), 'no secret in the log')
  t.notMatch(server.output(), 'DEMO')
})

t.test('answers a sign-up while the mail server is down, logs the cause, and sends the email later', async (t) => {
  const smtpPort = await freePort()
  const server = await started({ SMTP_URL: smtpUrl(smtpPort) })
  const since = server.output().length
  t.equal(await register(server, 'bob@example.com'), 201)
  const [line] = await server.printed(/^\{.*could not be sent by SMTP_URL.*$/m, since)
  t.match(JSON.parse(line), { level: 40, kind: 'verify_email', code: 'ESOCKET' })
  const smtp = await startSmtpServer(t, { port: smtpPort })
  const mail = await smtp.next()
  t.strictSame(mail.to, ['bob@example.com'])
  t.equal(mail.from, 'no-reply@127.0.0.1')
  await server.kill('SIGTERM')
  t.equal(smtp.mails.length, 1)
  t.notOk(server.output().includes(tokenIn(mail)) || server.output().includes(SMTP_USER.pass))
})

t.test('keeps the reply of a mail server to a refused mail out of the log', async (t) => {
  const smtp = await startSmtpServer(t)
  const server = await started({ SMTP_URL: smtpUrl(smtp.port) })
  let refused = ''
  smtp.refuse((mail) => {
    refused = tokenIn(mail)
    return `spam: ${linkIn(mail)}`
  })
  t.equal(await register(server, 'eve@example.com'), 201)
  const [line] = await server.printed(/^\{.*could not be sent by SMTP_URL.*$/m)
  t.match(JSON.parse(line), { kind: 'verify_email', code: 'EMESSAGE', responseCode: 550 })
  smtp.refuse(null)
  t.equal(tokenIn(await smtp.next()), refused, 'the same mail, at the next attempt')
  await server.kill('SIGTERM')
  t.ok(refused.length > 20 && !server.output().includes(refused))
})

t.test('logs the error code of a wrong mail password and of missing TLS', async (t) => {
  const smtp = await startSmtpServer(t)
  for (const [url, code] of [
    [`smtp://mailer:not-this-one@127.0.0.1:${smtp.port}`, 'EAUTH'],
    [smtpUrl(smtp.port, '?requireTLS=true'), 'ETLS']
  ] as const) {
    const server = await started({ SMTP_URL: url })
    t.equal(await register(server, `${code.toLowerCase()}@example.com`), 201)
    const [line] = await server.printed(/^\{.*could not be sent by SMTP_URL.*$/m)
    t.match(JSON.parse(line), { code })
    await server.kill('SIGTERM')
    t.notMatch(server.output(), /not-this-one|the-password-of-the-mailer/)
  }
  t.strictSame(smtp.mails, [])
})
