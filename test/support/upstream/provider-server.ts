/**
 * A server that plays another provider: real HTTP on a free port, under the names of other hosts too, with answers that
 * a test can change.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

/** A request as the provider got it. */
export interface Asked {
  method: string
  /** With the host that was asked. */
  url: URL
  headers: IncomingMessage['headers']
  form: URLSearchParams
}

export interface Answer {
  status?: number
  json?: unknown
  /** In place of `json`. */
  body?: string | Buffer
  type?: string
  headers?: Record<string, string>
  /** Nothing is answered. */
  hangs?: boolean
}

type Route = (asked: Asked) => Answer | Promise<Answer>

export interface ProviderServer {
  origin: string
  /**
   * By `METHOD host/path` where the host was a name that the server plays, else by `METHOD /path`. A test may change
   * them at any time.
   */
  routes: Record<string, Route>
  asked: Asked[]
  /** How often this path was asked. */
  count(path: string): number
  close(): Promise<void>
}

/** `hosts`: names whose https URLs come here while the server is open, for what this process asks by `fetch`. */
export async function providerServer(
  routes: Record<string, Route> = {},
  hosts: readonly string[] = []
): Promise<ProviderServer> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.destroy(error as Error)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = request.headers['x-played-host']
    const url = new URL(request.url ?? '/', host === undefined ? origin : `https://${String(host)}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const one = {
      method: request.method ?? '',
      url,
      headers: request.headers,
      form: new URLSearchParams(Buffer.concat(chunks).toString())
    }
    asked.push(one)
    const {
      status = 200,
      json,
      body,
      type,
      headers = {},
      hangs = false
    } = (await routes[`${one.method} ${host === undefined ? '' : url.host}${url.pathname}`]?.(one)) ?? {
      status: 404,
      json: { error: 'no such route' }
    }
    if (hangs) return
    response.writeHead(status, { 'content-type': type ?? 'application/json; charset=utf-8', ...headers })
    response.end(body ?? JSON.stringify(json))
  }

  const original = globalThis.fetch
  if (hosts.length > 0) {
    globalThis.fetch = async (input, init) => {
      const url = new URL(String(input instanceof Request ? input.url : input))
      if (url.protocol !== 'https:' || !hosts.includes(url.host)) return await original(input, init)
      const headers = new Headers(init?.headers)
      headers.set('x-played-host', url.host)
      return await original(`${origin}${url.pathname}${url.search}`, { ...init, headers })
    }
  }
  return {
    origin,
    routes,
    asked,
    count: (path) => asked.filter(({ url }) => url.pathname === path).length,
    async close() {
      if (hosts.length > 0) globalThis.fetch = original
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  }
}
