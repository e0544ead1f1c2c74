import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieValues } from './cookie-header.ts'

/** 180 days: how long a browser stays known after its last sign-in. */
const MAX_AGE_SECONDS = 15_552_000

const nameOf = (secure: boolean): string => secure ? '__Host-authority_device' : 'authority_device'

/** The device token the request carries, unverified. */
export function readDeviceCookie (request: Pick<FastifyRequest, 'headers'>, secure: boolean): string | undefined {
  return cookieValues(request, nameOf(secure))[0]
}

/**
 * Adds the cookie to the reply beside whatever cookies it has. `secure: false` is for an http loopback issuer, where browsers
 * refuse the `__Host-` prefix.
 */
export function setDeviceCookie (reply: FastifyReply, token: string, secure: boolean): void {
  // reply.header adds to the set-cookie headers that are there, and replaces none.
  reply.header('set-cookie', `${nameOf(secure)}=${token}; Max-Age=${MAX_AGE_SECONDS}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`)
}

/** Every current browser sends this header, and no script in a page can set it. @see https://www.w3.org/TR/fetch-metadata/ */
export function isFromBrowser (request: Pick<FastifyRequest, 'headers'>): boolean {
  return request.headers['sec-fetch-site'] !== undefined
}
