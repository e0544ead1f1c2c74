import { hkdfSync } from 'node:crypto'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'

/**
 * The key of a cookie. Another service, or another registration of the plugin, with the same secret has another key, so
 * that it takes no cookie of this one.
 */
export function cookieKey(secret: string, purpose: string, { issuer, prefix }: CookieOwner): Buffer {
  return deriveKey(secret, JSON.stringify(['cookie', purpose, issuer, prefix]))
}

/** A key of its own for each purpose, so that none can stand in for another. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `fastify-authority ${purpose}`, 32))
}
