import type { Options } from '@node-rs/argon2'
import type { Argon2Parameters, PasswordHasher } from '../../ports/cryptography.ts'
import { threadsOf } from '../threads/hashing-threads.ts'
import { type HashingCall, loadEngine } from './argon2-hasher.ts'

/** `null`: no threads, so the engine's own asynchronous calls are used. Only on Linux a thread can have a priority. */
const ownThreads = threadsOf<HashingCall>('./hashing-thread', import.meta.url)
const threads = () => (process.platform === 'linux' ? ownThreads() : null)

function withSecret(options: Options, secret: Uint8Array | undefined): Options {
  // Copies the bytes, because a message with a view of a buffer carries the whole buffer.
  return secret === undefined ? options : { ...options, secret: new Uint8Array(secret) }
}

/** Without `algorithm` and `version` it is argon2id, version 19; their enums exist in the package's types only. */
function hashOptions({ memoryCost, timeCost, parallelism }: Argon2Parameters, secret: Uint8Array | undefined): Options {
  return withSecret({ outputLen: 32, memoryCost, timeCost, parallelism }, secret)
}

/**
 * argon2id by `@node-rs/argon2`, an optional peer dependency. Its strings and those of `argon2Hasher` are
 * interchangeable. Both calls reject with an error that names the package where it is not installed.
 *
 * On Linux it hashes in worker threads of the lowest priority, so that a flood of sign-ins takes no time from the event
 * loop. The process has at most one for each core, begun when they are needed. Elsewhere a thread can't have a priority
 * of its own, and a bundle lacks the thread's file: there it hashes on the threads of libuv's pool, as `argon2Hasher`
 * does.
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
