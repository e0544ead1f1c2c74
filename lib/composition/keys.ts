import type { FastifyBaseLogger } from 'fastify'
import { jwtEngine } from '../adapters/jwt/jwt-engine.ts'
import { memoryState } from '../adapters/memory/record-store.ts'
import { aesSealer } from '../adapters/node/sealer.ts'
import { StartError } from '../errors.ts'
import { type Events, NO_REQUEST } from '../events.ts'
import { fixedKeyRing, type KeyRing } from '../keys/key-ring.ts'
import { type KeyManagement, manageKeys } from '../keys/manage-keys.ts'
import { managedKeyRing } from '../keys/managed-key-ring.ts'
import type { Clock } from '../ports/clock.ts'
import type { JsonWebKeyObject, LoadedKey, Random, Sealer } from '../ports/cryptography.ts'
import type { State, StoredKey } from '../ports/state.ts'
import type { Settings } from '../settings/settings.ts'
import { logLine } from '../ports/log.ts'
import { hkdfSync } from 'node:crypto'
import type { Kernel } from '../feature.ts'
import type { CookieOwner } from '../http/edge/cookie-jar.ts'
import type { CookieName, COOKIES } from '../protocol/cookies.ts'

const DAY_MS = 86_400_000

interface KeyParts {
  clock: Clock
  state: State
  events: Events
  log: FastifyBaseLogger
  tokenLifetimeMs: number
  hintLifetimeMs: number
  redirectLogin: boolean
}

/**
 * The algorithms with a managed key. The first one signs access tokens. The others sign ID tokens, and access tokens
 * for APIs. A client store cannot list its clients, so its clients may use only RS256 and ES256.
 */
function managedAlgorithms(
  { clients, accessToken: { alg: first }, apis: { resources } }: Settings,
  redirectLogin: boolean
): [string, ...string[]] {
  // Always include ES256, because an elliptic curve key takes almost no time to make.
  const ofApis = resources.flatMap(({ alg }) => alg ?? [])
  const always = first === 'RS256' ? ['RS256', 'ES256'] : [...new Set(['ES256', ...ofApis])]
  if (!redirectLogin) return always as [string, ...string[]]
  const wanted = Array.isArray(clients)
    ? clients.map(({ idTokenSignedResponseAlg = 'RS256' }) => idTokenSignedResponseAlg)
    : []
  return [...new Set([...always, 'RS256', ...wanted])] as [string, ...string[]]
}

interface Keys {
  ring: KeyRing
  /** `null`: the host gave the keys, or there is no `secret` to seal managed keys. */
  management: KeyManagement | null
}

/** The signing keys: the host's own, or managed ones. */
export async function keyRing(
  settings: Settings,
  { clock, state, events, log, tokenLifetimeMs, hintLifetimeMs, redirectLogin }: KeyParts
): Promise<Keys> {
  const { keys, secrets } = settings
  if (keys !== null && !Array.isArray(keys)) {
    return { ring: fixedKeyRing([await jwtEngine.loadSecret(keys.secret)]), management: null }
  }
  if (keys !== null) return { ring: fixedKeyRing(await Promise.all(keys.map(loadedKey))), management: null }
  const [first, ...former] = secrets
  const options = {
    algs: managedAlgorithms(settings, redirectLogin),
    rotateEveryMs: 90 * DAY_MS,
    announceMs: DAY_MS,
    tokenLifetimeMs,
    hintLifetimeMs,
    pollMs: 60_000
  }
  const deps = {
    clock,
    engine: jwtEngine,
    // Without a secret nothing can seal the keys, so they stay in this process.
    store: first === undefined ? memoryState().keys : state.keys,
    sealer: first === undefined ? PLAIN : aesSealer([first, ...former]),
    onChange(change: 'created' | 'retired', { kid, alg, signsFrom }: StoredKey) {
      if (change === 'created')
        events.emit('key_created', { kid, alg, signsFrom: new Date(signsFrom).toISOString() }, NO_REQUEST)
      else events.emit('key_retired', { kid, alg }, NO_REQUEST)
    }
  }
  const ring = managedKeyRing(options, {
    ...deps,
    onError: (error) => {
      log.error(...logLine('FST_AUTHORITY_KEYS_FAILED', 'the signing keys could not be read or made', { err: error }))
    }
  })
  return { ring, management: first === undefined ? null : manageKeys(options, deps) }
}

async function loadedKey(jwk: JsonWebKeyObject, index: number): Promise<LoadedKey> {
  try {
    return await jwtEngine.load(jwk)
  } catch (error) {
    throw new StartError(
      'FST_AUTHORITY_INVALID_OPTIONS',
      `Invalid option "keys[${index}]": ${error instanceof Error ? error.message : 'it is no private JWK'}.`,
      { cause: error }
    )
  }
}

const PLAIN: Sealer = { seal: (plain) => plain, open: (sealed) => sealed }

/** Kinds of cookies with a key of their own. */
type Keyed = { [Kind in CookieName]: (typeof COOKIES)[Kind]['key'] extends 'own' ? Kind : never }[CookieName]

/**
 * Derives the key for one kind of cookie. The key depends on issuer and prefix, so that another service with the same
 * secret does not accept the cookies of this service.
 */
export const cookieKey = (secret: string, kind: Keyed, owner: CookieOwner): Buffer =>
  ownKey(secret, `${kind} cookie`, owner)

/** A key derived from `secret`, different for each issuer and prefix. */
function ownKey(secret: string, purpose: string, { issuer, prefix }: CookieOwner): Buffer {
  return deriveKey(secret, JSON.stringify([purpose, issuer, prefix]))
}

/** Derives a 32-byte key for one purpose, so that no key works for another purpose. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `fastify-authority ${purpose}`, 32))
}

/**
 * The host's secrets. If there are none, each call makes a new random secret, which lives only as long as this process.
 */
export function anySecrets(secrets: readonly string[], random: Random): [string, ...string[]] {
  const [first = random.secret(), ...former] = secrets
  return [first, ...former]
}

/** Seals short texts with a key derived from the first secret, and opens them with the keys of all secrets. */
export function sealerOf(
  [first, ...former]: readonly [string, ...string[]],
  keyOf: (secret: string) => Buffer
): Sealer {
  const textOf = (secret: string): string => keyOf(secret).toString('base64url')
  return aesSealer([textOf(first), ...former.map(textOf)], { deflates: true })
}

/** Makes the functions that derive the keys and sealers of features. */
export function keysOf(
  secrets: readonly string[],
  owner: CookieOwner,
  random: Random
): Pick<Kernel, 'keysFor' | 'sealerFor' | 'storedKeysFor'> {
  const all = anySecrets(secrets, random)
  const [first, ...former] = all
  return {
    keysFor: (purpose) => [ownKey(first, purpose, owner), ...former.map((secret) => ownKey(secret, purpose, owner))],
    storedKeysFor: (purpose) => [deriveKey(first, purpose), ...former.map((secret) => deriveKey(secret, purpose))],
    sealerFor: (purpose) => sealerOf(all, (secret) => ownKey(secret, purpose, owner))
  }
}

export const factorSealer = (secrets: readonly string[], random: Random): Sealer =>
  sealerOf(anySecrets(secrets, random), (secret) => deriveKey(secret, 'second factors'))
