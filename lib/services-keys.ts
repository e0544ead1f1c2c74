import type { FastifyBaseLogger } from 'fastify'
import { jwtEngine } from './adapters/jwt/jwt-engine.ts'
import { memoryKeyStore } from './adapters/memory/key-store.ts'
import { aesSealer } from './adapters/node/sealer.ts'
import { StartError } from './errors.ts'
import { fixedKeyRing, type KeyRing } from './keys/key-ring.ts'
import { managedKeyRing } from './keys/managed-key-ring.ts'
import type { AuthorityOptions } from './options.ts'
import type { Clock } from './ports/clock.ts'
import type { Sealer } from './ports/sealer.ts'
import type { State } from './ports/state.ts'

const DAY_MS = 86_400_000

interface KeyParts { clock: Clock, state: State, secrets: string[], log: FastifyBaseLogger, tokenLifetimeMs: number, redirectLogin: boolean }

/** An algorithm for access tokens, and those that clients want for their ID tokens. Clients that are looked up want the usual one. */
export function managedAlgorithms ({ clients = [] }: AuthorityOptions, redirectLogin: boolean): [string, ...string[]] {
  if (!redirectLogin) return ['ES256']
  const wanted = Array.isArray(clients) ? clients.map(({ idTokenSignedResponseAlg = 'RS256' }) => idTokenSignedResponseAlg) : []
  return ['ES256', ...new Set(['RS256', ...wanted].filter((alg) => alg !== 'ES256'))]
}

/** The signing keys: the host's own, or managed ones. */
export async function keyRing (options: AuthorityOptions, { clock, state, secrets, log, tokenLifetimeMs, redirectLogin }: KeyParts): Promise<KeyRing> {
  const { keys } = options
  if (keys !== undefined && !Array.isArray(keys)) return fixedKeyRing([await jwtEngine.loadSecret(keys.secret)])
  if (keys !== undefined) {
    return fixedKeyRing(await Promise.all(keys.map(async (jwk, index) => {
      try {
        return await jwtEngine.load(jwk)
      } catch (error) {
        throw new StartError('FST_AUTHORITY_INVALID_OPTIONS', `Invalid option "keys[${index}]": ${error instanceof Error ? error.message : 'it is no private JWK'}.`, { cause: error })
      }
    })))
  }
  const [first, ...former] = secrets
  return managedKeyRing(
    { algs: managedAlgorithms(options, redirectLogin), rotateEveryMs: 90 * DAY_MS, announceMs: DAY_MS, tokenLifetimeMs, pollMs: 60_000 },
    {
      clock,
      engine: jwtEngine,
      // Without a secret nothing could seal them: they stay in this process.
      store: first === undefined ? memoryKeyStore() : state.keys,
      sealer: first === undefined ? PLAIN : aesSealer([first, ...former]),
      onError: (error) => { log.error({ err: error }, 'fastify-authority: the signing keys could not be read or made') }
    }
  )
}

const PLAIN: Sealer = { seal: (plain) => plain, open: (sealed) => sealed }
