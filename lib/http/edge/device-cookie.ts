import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieValues } from './cookie-header.ts'

/** 180 days: how long a browser stays known after its last sign-in. */
const MAX_AGE_SECONDS = 15_552_000

const nameOf = (secure: boolean): string => (secure ? '__Host-authority_device' : 'authority_device')

/** The device token the request carries, unverified. */
export function readDeviceCookie(request: Pick<FastifyRequest, 'headers'>, secure: boolean): string | undefined {
  return cookieValues(request, nameOf(secure))[0]
}

const named =
  (secure: boolean) =>
  (cookie: unknown): cookie is string =>
    typeof cookie === 'string' && cookie.startsWith(`${nameOf(secure)}=`)

/** The device token that the reply gives the browser already. */
export function pendingDeviceCookie(reply: FastifyReply, secure: boolean): string | undefined {
  const set = [reply.getHeader('set-cookie') ?? []].flat().find(named(secure))
  return set?.slice(nameOf(secure).length + 1, set.indexOf(';'))
}

/**
 * Adds the cookie to the reply beside whatever cookies it has; one of this name that it has already is replaced.
 * `secure: false` is for an http loopback issuer, where browsers refuse the `__Host-` prefix.
 */
export function setDeviceCookie(reply: FastifyReply, token: string, secure: boolean): void {
  const others = [reply.getHeader('set-cookie') ?? []]
    .flat()
    .filter((cookie) => !named(secure)(cookie))
    .map(String)
  reply.removeHeader('set-cookie')
  // reply.header adds to the set-cookie headers that are there, and replaces none.
  for (const cookie of others) reply.header('set-cookie', cookie)
  reply.header(
    'set-cookie',
    `${nameOf(secure)}=${token}; Max-Age=${MAX_AGE_SECONDS}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  )
}

/**
 * Every current browser sends this header, and no script in a page can set it. @see
 * https://www.w3.org/TR/fetch-metadata/
 */
export function isFromBrowser(request: Pick<FastifyRequest, 'headers'>): boolean {
  return request.headers['sec-fetch-site'] !== undefined
}
