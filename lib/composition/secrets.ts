import { hkdfSync } from 'node:crypto'
import { aesSealer } from '../adapters/node/sealer.ts'
import type { Kernel } from '../feature.ts'
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
function ownKey(secret: string, purpose: string, { issuer, prefix }: CookieOwner): Buffer {
  return deriveKey(secret, JSON.stringify([purpose, issuer, prefix]))
}

/** A key of its own for each purpose, so that none can stand in for another. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `fastify-authority ${purpose}`, 32))
}

/** The host's secrets. Where it has none, one that lives as long as this process, as its state in memory does. */
export function anySecrets(secrets: readonly string[], random: Random): [string, ...string[]] {
  const [first = random.secret(), ...former] = secrets
  return [first, ...former]
}

/** A sealer of short texts, under the key that is made of each secret. */
export function sealerOf(
  [first, ...former]: readonly [string, ...string[]],
  keyOf: (secret: string) => Buffer
): Sealer {
  const textOf = (secret: string): string => keyOf(secret).toString('base64url')
  return aesSealer([textOf(first), ...former.map(textOf)], { deflates: true })
}

/** The keys of features. */
export function keysOf(
  secrets: readonly string[],
  owner: CookieOwner,
  random: Random
): Pick<Kernel, 'keyFor' | 'sealerFor'> {
  const all = anySecrets(secrets, random)
  return {
    keyFor: (purpose) => deriveKey(all[0], purpose),
    sealerFor: (purpose) => sealerOf(all, (secret) => ownKey(secret, purpose, owner))
  }
}

export const factorSealer = (secrets: readonly string[], random: Random): Sealer =>
  sealerOf(anySecrets(secrets, random), (secret) => deriveKey(secret, 'second factors'))
