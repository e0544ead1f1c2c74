import { request as httpRequest } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { type Certificate, HOST } from './certificate.ts'

const MAX_HEADER_BYTES = 32 * 1024

/** TLS in front of the suite, which speaks plain HTTP and wants to be told by headers what the connection was like. */
export async function startFront({
  port,
  suitePort,
  certificate
}: {
  port: number
  suitePort: number
  certificate: Certificate
}): Promise<Server> {
  const server = createServer({ ...certificate.tls, maxHeaderSize: MAX_HEADER_BYTES }, (request, reply) => {
    const socket = request.socket as TLSSocket
    const headers = {
      ...request.headers,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'localhost',
      'x-forwarded-port': String(port),
      'x-ssl-protocol': socket.getProtocol() ?? '',
      'x-ssl-cipher': socket.getCipher().name
    }
    const onward = httpRequest(
      {
        host: HOST,
        port: suitePort,
        method: request.method,
        path: request.url,
        headers,
        maxHeaderSize: MAX_HEADER_BYTES
      },
      (answer) => {
        reply.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(reply)
      }
    )
    onward.on('error', () => {
      if (!reply.headersSent) reply.writeHead(502)
      reply.end()
    })
    request.pipe(onward)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, HOST, resolve)
  })
  return server
}
