import type { Options } from '@node-rs/argon2'
import type { Argon2Parameters, PasswordHasher } from '../../ports/cryptography.ts'
import { threadsOf } from '../threads/hashing-threads.ts'
import { type HashingCall, loadEngine } from './argon2-hasher.ts'

/** Returns `null` in a bundle. Used on Linux only, because a thread cannot have its own priority elsewhere. */
const ownThreads = threadsOf<HashingCall>('./hashing-thread', import.meta.url)
const threads = () => (process.platform === 'linux' ? ownThreads() : null)

function withSecret(options: Options, secret: Uint8Array | undefined): Options {
  // Copies the bytes, because a message with a view of a buffer carries the whole buffer.
  return secret === undefined ? options : { ...options, secret: new Uint8Array(secret) }
}

/**
 * Omits `algorithm` and `version`, because the package exports their enums only as types. Its defaults are argon2id and
 * version 19.
 */
function hashOptions({ memoryCost, timeCost, parallelism }: Argon2Parameters, secret: Uint8Array | undefined): Options {
  return withSecret({ outputLen: 32, memoryCost, timeCost, parallelism }, secret)
}

/**
 * Hashes with argon2id by `@node-rs/argon2`, an optional peer dependency. Verifies the hashes of `argon2Hasher` too,
 * and `argon2Hasher` verifies these. If the package is not installed, both methods reject with an error that names it.
 *
 * On Linux, worker threads of the lowest priority do the hashing, so that the event loop runs first during a flood of
 * sign-ins. The process starts them when needed, at most one for each core. On other systems a thread cannot have its
 * own priority, and in a bundle the thread's file is missing. There the threads of libuv's pool do the hashing, as for
 * `argon2Hasher`.
 */
export function nodeRsHasher(): PasswordHasher {
  const load = () => loadEngine('@node-rs/argon2', () => import('@node-rs/argon2'))
  return {
    async hash(password, parameters, secret) {
      const options = hashOptions(parameters, secret)
      const own = threads()
      return own === null
        ? await (await load()).hash(password, options)
        : String(await own.run({ what: 'hash', password, options }))
    },
    async verify(encoded, password, secret) {
      const options = withSecret({}, secret)
      const own = threads()
      return own === null
        ? await (await load()).verify(encoded, password, options)
        : (await own.run({ what: 'verify', encoded, password, options })) === true
    }
  }
}
