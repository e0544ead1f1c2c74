import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Site {
  origin: string
  /** Answers from now on. */
  serve(script: string, provider: string): void
  close(): void
}

/** The pages of an app with one client: the same under `/csp/` and `/tt/` with a policy. */
export async function startSite (): Promise<Site> {
  let script = ''
  let provider = ''
  const policies: Record<string, () => string> = {
    csp: () => `default-src 'none'; script-src 'self'; connect-src ${provider}`,
    tt: () => "require-trusted-types-for 'script'"
  }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site.invalid')
    if (pathname === '/favicon.ico') {
      response.writeHead(204).end()
    } else if (pathname === '/client.js') {
      response.writeHead(200, { 'content-type': 'text/javascript; charset=utf-8' }).end(script)
    } else {
      const policy = policies[pathname.split('/')[1] ?? '']
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...policy && { 'content-security-policy': policy() } })
        .end(`<!doctype html><html lang="en" data-provider="${provider}"><meta charset="utf-8"><title>App</title><h1>App</h1><script src="/client.js"></script>`)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    serve (newScript, newProvider) {
      script = newScript
      provider = newProvider
    },
    close () {
      server.close()
      server.closeAllConnections()
    }
  }
}
