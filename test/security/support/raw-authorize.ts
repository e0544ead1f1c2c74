/** An app with the authorization endpoint behind a real socket, and raw requests to it. */
import type { AddressInfo } from 'node:net'
import type { Test } from '../../support/tap.ts'
import { authorizeAs, authorizePath, openidApp, type OpenidApp } from '../../support/openid.ts'
import { type RawAnswer, sendRaw } from '../../support/raw-socket.ts'
import { recordedState } from './recorded-state.ts'

export interface Listening extends OpenidApp {
  port: number
  writes: string[]
  faults: string[]
  cookie: string
}

export async function listening(t: Test): Promise<Listening> {
  const faults: string[] = []
  const { state, writes } = recordedState()
  const subject = await openidApp(
    { state },
    {
      logger: {
        level: 'error',
        stream: {
          write: (line: string) => {
            faults.push(line)
          }
        }
      }
    }
  )
  t.teardown(subject.close)
  await authorizeAs(subject.browser, authorizePath())
  await subject.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = subject.app.server.address() as AddressInfo
  const cookie = [...subject.browser.cookies]
    .filter(([name]) => name.includes('session'))
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')
  writes.length = 0
  return { ...subject, port, writes, faults, cookie }
}

/** One request on its own connection. */
export async function one(
  { port }: Pick<Listening, 'port'>,
  line: string,
  headers: string[] = ['Host: localhost:3000'],
  body?: string
): Promise<RawAnswer> {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  const [answer = { status: 0, head: '', body: '' }] = await sendRaw(
    port,
    `${line} ` +
      `HTTP/1.1\r\n${[...headers, ...length, 'Connection: close'].map((header) => `${header}\r\n`).join('')}\r\n${body ?? ''}`
  )
  return answer
}

export const locationOf = ({ head }: RawAnswer): string | undefined => /^location: (.*)$/im.exec(head)?.[1]?.trim()
export const QUERY = authorizePath().split('?')[1] ?? ''
