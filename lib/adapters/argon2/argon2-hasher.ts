import type { PasswordHasher } from '../../ports/cryptography.ts'
import type { Options } from '@node-rs/argon2'

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Rewrites the parameters of a hash in the order `m,t,p`, the only order that libargon2 reads. Some versions of the
 * package `argon2` write `m,p,t`.
 */
function withCanonicalOrder(encoded: string): string {
  return encoded.replace(/\$m=(\d+),p=(\d+),t=(\d+)/, '$m=$1,t=$3,p=$2')
}

/**
 * Hashes with argon2id by the package `argon2` (libargon2 on the threads of libuv's pool). Verifies the hashes of
 * `nodeRsHasher` too, and `nodeRsHasher` verifies these.
 */
export function argon2Hasher(): PasswordHasher {
  const load = () => loadEngine('argon2', () => import('argon2'))
  return {
    async hash(password, { memoryCost, timeCost, parallelism }, secret) {
      const engine = await load()
      return withCanonicalOrder(
        await engine.hash(password, {
          type: engine.argon2id,
          version: 0x13,
          hashLength: 32,
          memoryCost,
          timeCost,
          parallelism,
          ...(secret === undefined ? {} : { secret: asBuffer(secret) })
        })
      )
    },
    async verify(encoded, password, secret) {
      const engine = await load()
      return await engine.verify(encoded, password, secret === undefined ? {} : { secret: asBuffer(secret) })
    }
  }
}

/**
 * Loads an argon2 package at its first use, so that a host with another hasher never loads its binary.
 *
 * @throws Error that names the package, if the package is missing or has no binary for this platform
 */
export async function loadEngine<Engine>(packageName: string, load: () => Promise<Engine>): Promise<Engine> {
  try {
    return await load()
  } catch (cause) {
    throw new Error(
      `The password hasher needs the package ${packageName}, and it could not be loaded. Install ` +
        `it: npm install ${packageName}`,
      { cause }
    )
  }
}

/** A call of the engine as a message to a worker thread. */
export type HashingCall =
  | { what: 'hash'; password: string; options: Options }
  | { what: 'verify'; encoded: string; password: string; options: Options }
