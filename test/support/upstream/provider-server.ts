/**
 * A server that imitates a provider: real HTTP on a free port, also under the names of other hosts, with responses that
 * a test can change.
 */
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request,
  type RequestOptions,
  type ServerResponse
} from 'node:http'
import https from 'node:https'
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
  /** Replaces `json`. */
  body?: string | Buffer
  type?: string
  headers?: Record<string, string>
  /** Nothing is answered. */
  hangs?: boolean
  /** The connection ends without an answer. */
  cuts?: boolean
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
  /** The number of requests to this path. */
  count(path: string): number
  close(): Promise<void>
}

/** `hosts`: names whose https URLs are redirected here while the server is open, for calls of this process. */
export async function providerServer(
  routes: Record<string, Route> = {},
  hosts: readonly string[] = []
): Promise<ProviderServer> {
  const asked: Asked[] = []
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      response.destroy(error as Error)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const host = incoming.headers['x-played-host']
    const url = new URL(incoming.url ?? '/', host === undefined ? origin : `https://${String(host)}`)
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const one = {
      method: incoming.method ?? '',
      url,
      headers: incoming.headers,
      form: new URLSearchParams(Buffer.concat(chunks).toString())
    }
    asked.push(one)
    const {
      status = 200,
      json,
      body,
      type,
      headers = {},
      hangs = false,
      cuts = false
    } = (await routes[`${one.method} ${host === undefined ? '' : url.host}${url.pathname}`]?.(one)) ?? {
      status: 404,
      json: { error: 'no such route' }
    }
    if (cuts) response.destroy()
    if (hangs || cuts) return
    response.writeHead(status, { 'content-type': type ?? 'application/json; charset=utf-8', ...headers })
    response.end(body ?? JSON.stringify(json))
  }

  const original = https.request
  if (hosts.length > 0) {
    const played = (url: URL, options: RequestOptions): ClientRequest => {
      if (!hosts.includes(url.host)) return original(url, options)
      const headers = { ...(options.headers as Record<string, string>), 'x-played-host': url.host }
      const sent = request(`${origin}${url.pathname}${url.search}`, { ...options, agent: false, headers })
      // Makes the library treat an imitated host as one on the internet.
      sent.on('socket', (socket) => Object.defineProperty(socket, 'remoteAddress', { value: '203.0.114.1' }))
      return sent
    }
    https.request = played as typeof https.request
  }
  return {
    origin,
    routes,
    asked,
    count: (path) => asked.filter(({ url }) => url.pathname === path).length,
    async close() {
      if (hosts.length > 0) https.request = original
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  }
}
