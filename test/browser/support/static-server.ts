import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

export interface StaticFile {
  type: string
  body: string
}

/**
 * A web server of static files on another origin than the provider's. On `localhost` it is the same site, on 127.0.0.1
 * another one.
 */
export async function staticServer(
  t: Test,
  host: 'localhost' | '127.0.0.1',
  fileAt: (path: string) => StaticFile | undefined
): Promise<{ origin: string }> {
  const server = createServer((request, response) => {
    const file = fileAt(new URL(request.url ?? '/', 'http://static.invalid').pathname)
    if (file === undefined) response.writeHead(204).end()
    else response.writeHead(200, { 'content-type': `${file.type}; charset=utf-8` }).end(file.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { origin: `http://${host}:${(server.address() as AddressInfo).port}` }
}
