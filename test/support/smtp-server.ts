import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import type { Test } from 'tap'

/** A mail as it came over the wire. */
export interface ReceivedMail {
  /** From the SMTP envelope. */
  from: string
  to: string[]
  /** Names in lower case, unfolded; encoded values stay encoded. */
  headers: Record<string, string>
  /** By media type, decoded. */
  parts: Record<string, string>
  raw: string
}

export interface TestSmtpServer {
  port: number
  mails: ReceivedMail[]
  /** The oldest email that no call has returned. Waits for it. */
  next(): Promise<ReceivedMail>
  /** Refuses emails from now on with this answer; `null`: accepts them again. */
  refuse(answer: ((mail: ReceivedMail) => string) | null): void
}

export const SMTP_USER = { user: 'mailer', pass: 'the-password-of-the-mailer' }
/** The last attempt to send a message is after 71 seconds. */
const WITHIN_MS = 80_000

/** A real SMTP server on loopback that asks for `SMTP_USER`. Without TLS. */
export async function startSmtpServer(t: Test, { port = 0 } = {}): Promise<TestSmtpServer> {
  const mails: ReceivedMail[] = []
  const unread: ReceivedMail[] = []
  const readers: Array<(mail: ReceivedMail) => void> = []
  let refusal: ((mail: ReceivedMail) => string) | null = null
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth({ username, password }, _session, done) {
      if (username === SMTP_USER.user && password === SMTP_USER.pass) done(null, { user: username })
      else done(new Error('wrong user or password'))
    },
    onData(stream, { envelope }, done) {
      buffer(stream).then((data) => {
        const mail = parsed(data.toString('latin1'), {
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address)
        })
        if (refusal !== null) {
          done(Object.assign(new Error(refusal(mail)), { responseCode: 550 }))
          return
        }
        mails.push(mail)
        const reader = readers.shift()
        if (reader === undefined) unread.push(mail)
        else reader(mail)
        done()
      }, done)
    }
  })
  // A client that goes away is no fault of the test.
  server.on('error', () => {})
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  t.teardown(async () => {
    await new Promise<void>((resolve) => {
      server.close(resolve)
    })
  })
  const address = server.server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    mails,
    async next() {
      return (
        unread.shift() ??
        (await new Promise<ReceivedMail>((resolve, reject) => {
          const late = setTimeout(() => {
            reject(new Error(`no mail within ${WITHIN_MS} ms`))
          }, WITHIN_MS)
          readers.push((mail) => {
            clearTimeout(late)
            resolve(mail)
          })
        }))
      )
    },
    refuse(answer) {
      refusal = answer
    }
  }
}

function parsed(raw: string, envelope: { from: string; to: string[] }): ReceivedMail {
  const { headers, body } = split(raw)
  const [, boundary] = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '') ?? []
  const pieces =
    boundary === undefined
      ? [raw]
      : body
          .split(`--${boundary}`)
          .slice(1, -1)
          .map((piece) => piece.slice(2))
  return {
    ...envelope,
    headers,
    raw,
    parts: Object.fromEntries(
      pieces.map((piece) => {
        const part = split(piece)
        return [
          (part.headers['content-type'] ?? '').split(';')[0] ?? '',
          decoded(part.body, part.headers['content-transfer-encoding'])
        ]
      })
    )
  }
}

function split(raw: string): { headers: Record<string, string>; body: string } {
  const end = raw.indexOf('\r\n\r\n')
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
  return {
    headers: Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()])
    ),
    body: raw.slice(end + 4)
  }
}

function decoded(body: string, encoding = '7bit'): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  const bytes =
    encoding === 'quoted-printable'
      ? body
          .replace(/=\r\n/g, '')
          .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      : body
  return Buffer.from(bytes, 'latin1').toString().replaceAll('\r\n', '\n')
}

/** A header's text. @see RFC 2047 */
export function headerText(value = ''): string {
  return value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, kind: string, text: string) =>
      kind.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString()
        : decoded(text.replaceAll('_', ' '), 'quoted-printable')
    )
}
