import { hkdfSync } from 'node:crypto'
import { aesSealer } from '../adapters/node/sealer.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import type { Random } from '../ports/random.ts'
import type { Sealer } from '../ports/sealer.ts'
import type { CookieName, COOKIES } from '../protocol/cookies.ts'

/** The kinds of cookies that are made with a key of their own. */
type Keyed = { [Kind in CookieName]: (typeof COOKIES)[Kind]['key'] extends 'own' ? Kind : never }[CookieName]

/**
 * The key of a cookie. Another service, or another registration of the plugin, with the same secret has another key, so
 * that it takes no cookie of this one.
 */
export const cookieKey = (secret: string, kind: Keyed, owner: CookieOwner): Buffer =>
  ownKey(secret, `${kind} cookie`, owner)

/** A key that another service, or another registration of the plugin, with the same secret does not have. */
export function ownKey(secret: string, purpose: string, { issuer, prefix }: CookieOwner): Buffer {
  return deriveKey(secret, JSON.stringify([purpose, issuer, prefix]))
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
