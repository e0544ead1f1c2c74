import { hkdfSync } from 'node:crypto'
import { aesSealer } from '../adapters/node/sealer.ts'
import type { Kernel } from '../feature.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import type { Random, Sealer } from '../ports/cryptography.ts'
import type { CookieName, COOKIES } from '../protocol/cookies.ts'

/** Kinds of cookies with a key of their own. */
type Keyed = { [Kind in CookieName]: (typeof COOKIES)[Kind]['key'] extends 'own' ? Kind : never }[CookieName]

/**
 * The key of a cookie. Another service, or another registration of the plugin, with the same secret has another key, so
 * that it accepts no cookie of this one.
 */
export const cookieKey = (secret: string, kind: Keyed, owner: CookieOwner): Buffer =>
  ownKey(secret, `${kind} cookie`, owner)

/** A key that another service, or another registration of the plugin, with the same secret does not have. */
function ownKey(secret: string, purpose: string, { issuer, prefix }: CookieOwner): Buffer {
  return deriveKey(secret, JSON.stringify([purpose, issuer, prefix]))
}

/** A separate key for each purpose, so that none can replace another. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `fastify-authority ${purpose}`, 32))
}

/** The host's secrets. Without any, one that lives as long as this process, like its state in memory. */
export function anySecrets(secrets: readonly string[], random: Random): [string, ...string[]] {
  const [first = random.secret(), ...former] = secrets
  return [first, ...former]
}

/** Seals short texts, under a key derived from each secret. */
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
