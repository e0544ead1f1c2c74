import { connect } from 'node:net'

export interface RawAnswer {
  status: number
  head: string
  body: string
}

/**
 * Sends bytes as they are and reads all answers until the server ends the connection. Ends our side at once only if the
 * request does not ask the server to, because Node drops a request whose client has gone half away before its body was
 * read.
 */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<RawAnswer[]> {
  const text = await new Promise<string>((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    let received = ''
    socket
      .setEncoding('latin1')
      .on('data', (chunk: string) => {
        received += chunk
      })
      .on('close', () => {
        resolve(received)
      })
      .on('end', () => {
        socket.end()
      })
      // A server that closes during a body resets the connection. Its earlier responses count.
      .on('error', (error) => {
        if (received === '') reject(error)
      })
    if (String(bytes).includes('Connection: close')) socket.write(bytes)
    else socket.end(bytes)
  })
  return text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((part) => part !== '')
    .map((part) => {
      const [head = '', ...body] = part.split('\r\n\r\n')
      return { status: Number(head.split(' ')[1]), head, body: body.join('\r\n\r\n') }
    })
}
