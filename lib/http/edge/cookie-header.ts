import type { FastifyRequest } from 'fastify'

/** All cookies of the request. Reads the header itself, because a host may have no cookie parser. */
export function sentCookies({
  headers: { cookie = '' }
}: Pick<FastifyRequest, 'headers'>): Array<{ name: string; value: string }> {
  return cookie.split(';').flatMap((pair) => {
    const text = pair.trim()
    const at = text.indexOf('=')
    return at < 0 ? [] : [{ name: text.slice(0, at), value: text.slice(at + 1) }]
  })
}

/** Every value that the request's cookies have under this name. */
export function cookieValues(request: Pick<FastifyRequest, 'headers'>, name: string): string[] {
  return sentCookies(request).flatMap((cookie) => (cookie.name === name ? [cookie.value] : []))
}
