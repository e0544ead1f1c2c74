/**
 * Keep-alive connections that send requests of known bytes, as cheaply as Node.js can: the load must not be what is
 * measured.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { isQuick } from './quick.ts'
import type { HttpBenchmark, LoadedRequest, Subject } from './subject.ts'

export interface Load {
  /** All connections work for this long; resolves to the number of answers, when the last is there. */
  run(durationMs: number): Promise<number>
  close(): void
}

interface Answer {
  status: number
  body: string
}

export async function connectLoad(
  subject: Subject,
  { concurrency, idleClients = false }: Pick<HttpBenchmark, 'concurrency' | 'idleClients'>
): Promise<Load> {
  const texts = subject.requests.map((request) => textOf(request, subject.port))
  const tokens = [...(subject.follow?.tokens ?? [])]
  const connections = await Promise.all(
    Array.from(
      { length: isQuick() ? Math.min(concurrency, 2) : concurrency },
      async () => await connection(subject.port)
    )
  )
  let turn = 0

  async function work(index: number, until: number): Promise<number> {
    const send = connections[index] as Send
    let done = 0
    while (performance.now() < until) {
      const text = texts[turn++ % texts.length] as () => string
      const { status, body } = await send(subject.follow === undefined ? text() : textWith(text, tokens[index] ?? ''))
      if (status !== subject.status) throw new Error(`answered ${status}, not ${subject.status}: ${body.slice(0, 300)}`)
      if (subject.follow !== undefined)
        tokens[index] = (JSON.parse(body) as Record<string, string>)[subject.follow.member] ?? ''
      done += 1
    }
    return done
  }

  return {
    async run(durationMs) {
      const until = performance.now() + durationMs
      const rest = idleClients ? () => {} : stayAwake()
      const counts = await Promise.all(connections.map(async (_connection, index) => await work(index, until))).finally(
        rest
      )
      return counts.reduce((sum, count) => sum + count, 0)
    },
    close() {
      for (const { socket } of connections) socket.destroy()
    }
  }
}

/**
 * Keeps this process from sleeping until the returned function is called. To wake a client costs the server that
 * answers it dearly (on virtual machines more than all it did for the answer), and the faster the server, the less
 * often it has to.
 */
function stayAwake(): () => void {
  let isAwake = true
  const again = (): void => {
    if (isAwake) setImmediate(again)
  }
  again()
  return () => {
    isAwake = false
  }
}

/** The whole text is made once where nothing in it changes. */
export function textOf({ method, path, headers, body }: LoadedRequest, port: number): () => string {
  const lines = Object.entries({ ...headers, host: `127.0.0.1:${port}` })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  const whole =
    `${method} ${path} ` +
    `HTTP/1.1\r\n${lines}${method === 'GET' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`
  return () => whole
}

/** Tokens of one kind have one length, but the placeholder has another: the length of the body is counted again. */
export function textWith(text: () => string, token: string): string {
  const filled = text().replaceAll('%TOKEN%', token)
  const body = filled.slice(filled.indexOf('\r\n\r\n') + 4)
  return filled.replace(/content-length: \d+/, `content-length: ${Buffer.byteLength(body)}`)
}

export interface Send {
  (text: string): Promise<Answer>
  socket: Socket
}

export async function connection(port: number): Promise<Send> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await once(socket, 'connect')
  let received = ''
  let waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    received = received === '' ? chunk : received + chunk
    const answer = answerIn(received)
    if (answer === null) return
    received = ''
    const { resolve } = waiting ?? { resolve() {} }
    waiting = null
    resolve(answer)
  })
  const gone = new Error('the server closed a connection')
  const end = (): void => {
    waiting?.reject(gone)
  }
  socket.on('close', end).on('error', end)
  const send = async (text: string): Promise<Answer> =>
    await new Promise((resolve, reject) => {
      if (socket.destroyed || socket.readyState !== 'open') reject(gone)
      waiting = { resolve, reject }
      socket.write(text, 'latin1')
    })
  return Object.assign(send, { socket })
}

/** `null` until it is whole. One request at a time: nothing follows it. */
function answerIn(text: string): Answer | null {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return null
  const head = text.slice(0, end)
  const status = Number(head.slice(9, 12))
  const body = text.slice(end + 4)
  if (status === 204 || status === 304) return { status, body: '' }
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) return body.length >= Number(length) ? { status, body } : null
  return body.endsWith('0\r\n\r\n')
    ? { status, body: body.slice(body.indexOf('\r\n') + 2, body.lastIndexOf('\r\n0\r\n')) }
    : null
}
