import type { FastifyRequest } from 'fastify'

/**
 * Every value that the request's cookies have under this name. It reads the header itself, because a host may have no
 * cookie parser.
 */
export function cookieValues(request: Pick<FastifyRequest, 'headers'>, name: string): string[] {
  const prefix = `${name}=`
  return (request.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
    .map((pair) => pair.slice(prefix.length))
}
