import { hkdfSync } from 'node:crypto'
import { aesSealer } from '../adapters/node/sealer.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import type { Random } from '../ports/random.ts'
import type { Sealer } from '../ports/sealer.ts'

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

/** Under keys of their own. Where there is no secret, what is sealed lives no longer than the store of this process. */
export function factorSealer(secrets: readonly string[], random: Random): Sealer {
  const [first = random.secret(), ...former] = secrets
  const keyOf = (secret: string): string => deriveKey(secret, 'second factors').toString('base64url')
  return aesSealer([keyOf(first), ...former.map(keyOf)], { deflates: true })
}
