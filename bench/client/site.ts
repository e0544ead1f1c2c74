import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Site {
  origin: string
  /** Answers from now on. */
  serve(script: string, provider: string, api: Api): void
  close(): void
}

/** The answer of an API of the app. */
export interface ApiAnswer {
  status: number
  /** `WWW-Authenticate`. */
  challenge?: string | undefined
}

type Api = (path: string, authorization: string | undefined) => Promise<ApiAnswer>

/** The pages of an app with one client, the same under `/csp/` and `/tt/` with a policy; and its API. */
export async function startSite(): Promise<Site> {
  let script = ''
  let provider = ''
  let api: Api = async () => ({ status: 503 })
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
    } else if (pathname.startsWith('/api')) {
      api(pathname, request.headers.authorization).then(
        ({ status, challenge }) => {
          response.writeHead(status, challenge === undefined ? {} : { 'www-authenticate': challenge }).end()
        },
        (error: unknown) => {
          response.destroy(error as Error)
        }
      )
    } else {
      const policy = policies[pathname.split('/')[1] ?? '']
      response
        .writeHead(200, {
          'content-type': 'text/html; charset=utf-8',
          ...(policy && { 'content-security-policy': policy() })
        })
        .end(
          `<!doctype html><html lang="en" data-provider="${provider}"><meta ` +
            'charset="utf-8"><title>App</title><h1>App</h1><script src="/client.js"></script>'
        )
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://localhost:${(server.address() as AddressInfo).port}`,
    serve(newScript, newProvider, newApi) {
      script = newScript
      provider = newProvider
      api = newApi
    },
    close() {
      server.close()
      server.closeAllConnections()
    }
  }
}
