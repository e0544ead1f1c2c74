import type { FastifyReply, FastifyRequest } from 'fastify'

/** 180 days: how long a browser stays known after its last sign-in. */
const MAX_AGE_SECONDS = 15_552_000

const nameOf = (secure: boolean): string => secure ? '__Host-authority_device' : 'authority_device'

/** The device token the request carries, unverified. Read from the header: a host may or may not have a cookie parser. */
export function readDeviceCookie (request: Pick<FastifyRequest, 'headers'>, secure: boolean): string | undefined {
  const prefix = `${nameOf(secure)}=`
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const trimmed = pair.trim()
    if (trimmed.startsWith(prefix)) return trimmed.slice(prefix.length)
  }
  return undefined
}

/**
 * Adds the cookie to the reply beside whatever cookies it has. `secure: false` is for an http loopback issuer, where browsers
 * refuse the `__Host-` prefix.
 */
export function setDeviceCookie (reply: FastifyReply, token: string, secure: boolean): void {
  // Fastify appends where the header is set-cookie.
  reply.header('set-cookie', `${nameOf(secure)}=${token}; Max-Age=${MAX_AGE_SECONDS}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`)
}

/** Every current browser sends the header, and a script in a page can't. @see https://www.w3.org/TR/fetch-metadata/ */
export function isFromBrowser (request: Pick<FastifyRequest, 'headers'>): boolean {
  return request.headers['sec-fetch-site'] !== undefined
}
