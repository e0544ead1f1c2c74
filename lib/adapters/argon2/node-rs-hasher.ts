import type { PasswordHasher } from '../../ports/password-hasher.ts'
import { loadEngine } from './load-engine.ts'

/**
 * argon2id by `@node-rs/argon2`, an optional peer dependency. Its strings and those of `argon2Hasher` are interchangeable.
 * Both calls reject with an error that names the package where it is not installed.
 */
export function nodeRsHasher (): PasswordHasher {
  const load = () => loadEngine('@node-rs/argon2', () => import('@node-rs/argon2'))
  return {
    async hash (password, { memoryCost, timeCost, parallelism }, secret) {
      const engine = await load()
      // Without `algorithm` and `version` it is argon2id, version 19; their enums exist in the package's types only.
      return await engine.hash(password, { outputLen: 32, memoryCost, timeCost, parallelism, ...(secret === undefined ? {} : { secret }) })
    },
    async verify (encoded, password, secret) {
      const engine = await load()
      return await engine.verify(encoded, password, secret === undefined ? {} : { secret })
    }
  }
}
