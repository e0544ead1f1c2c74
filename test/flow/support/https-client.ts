import { request } from 'node:https'
import { once } from 'node:events'
import { buffer } from 'node:stream/consumers'

export interface HttpsClientOptions {
  /** The only certificate that it trusts. */
  ca: string
  /** The address of this machine that requests come from. */
  from: string
}

/**
 * As `fetch`, from a chosen address, over TLS with a certificate of the test's own; each request is a connection. All
 * names are this machine.
 */
export function httpsClient({ ca, from }: HttpsClientOptions): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const body =
      init.body === undefined || init.body === null ? null : Buffer.from(await new Response(init.body).arrayBuffer())
    const type = init.body instanceof URLSearchParams ? { 'content-type': 'application/x-www-form-urlencoded' } : {}
    const headers = {
      ...type,
      ...Object.fromEntries(new Headers(init.headers)),
      ...(body === null ? {} : { 'content-length': String(body.length) })
    }
    // Resolves *.localhost to this machine, as browsers do but some resolvers don't.
    const outgoing = request({
      host: '127.0.0.1',
      port: url.port,
      servername: url.hostname,
      path: url.pathname + url.search,
      method: init.method ?? 'GET',
      headers: { host: url.host, ...headers },
      ca,
      localAddress: from,
      agent: false
    })
    outgoing.end(body)
    const [reply] = await once(outgoing, 'response')
    const content = await buffer(reply)
    const pairs = (reply.rawHeaders as string[]).flatMap((name, index, all): Array<[string, string]> =>
      index % 2 === 0 ? [[name, all[index + 1] ?? '']] : []
    )
    return new Response([204, 303, 304].includes(reply.statusCode) ? null : content, {
      status: reply.statusCode,
      headers: pairs
    })
  }
}
