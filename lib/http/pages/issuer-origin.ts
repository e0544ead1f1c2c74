import type { FastifyInstance } from 'fastify'
import { isLoopbackHost } from '../../protocol/redirect-uri.ts'

const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via']

/**
 * Sends a browser that opened a page under another name of this machine (`http://127.0.0.1:3000`, which Fastify prints)
 * to the issuer's origin, because cookies, forms and the page's policy belong to that origin. The port must be the
 * issuer's. A request that came through a proxy stays, because its `Host` may not be what the browser asked for.
 */
export function leadToIssuer(child: FastifyInstance, issuer: string): void {
  const { origin, protocol, hostname, host, port } = new URL(issuer)
  if (!isLoopbackHost(hostname)) return
  child.addHook('onRequest', (request, reply, done) => {
    const { method, headers, originalUrl } = request
    const address = `${protocol}//${request.host}`
    const asked = URL.canParse(address) ? new URL(address) : null
    if (
      method === 'GET' &&
      // Refuses an absolute address, and anything else that a server may get instead of a path.
      originalUrl.startsWith('/') &&
      asked !== null &&
      asked.host !== host &&
      asked.port === port &&
      isLoopbackHost(asked.hostname) &&
      !FORWARDED.some((name) => headers[name] !== undefined)
    )
      reply.header('cache-control', 'no-store').redirect(`${origin}${originalUrl}`, 307)
    else done()
  })
}
