import { connect, type Socket } from 'node:net'

/** A keep-alive connection with one request at a time. Replies have a `content-length`. */
export interface Connection {
  /** Resolves to the status when the reply is there, and to 0 when the connection ended before. */
  send(text: string): Promise<number>
  close(): void
}

export function connection(port: number): Connection {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
  let received = ''
  let resolve: ((status: number) => void) | null = null
  const done = (status: number): void => {
    const waiting = resolve
    resolve = null
    received = ''
    waiting?.(status)
  }
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    received += chunk
    const end = received.indexOf('\r\n\r\n')
    if (end === -1) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received.slice(0, end))?.[1] ?? 0)
    if (received.length >= end + 4 + length) done(Number(received.slice(9, 12)))
  })
  socket
    .on('error', () => {
      done(0)
    })
    .on('close', () => {
      done(0)
    })
  return {
    async send(text) {
      return await new Promise((settle) => {
        resolve = settle
        socket.write(text, 'latin1')
      })
    },
    close() {
      socket.destroy()
    }
  }
}
