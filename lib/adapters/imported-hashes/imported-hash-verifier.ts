import { pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { MissingPackageError } from '../../errors.ts'
import type { ImportedHash, ImportedHashVerifier } from '../../ports/password-hasher.ts'

const deriveByPbkdf2 = promisify(pbkdf2)

function deriveByScrypt (password: string, { N, r, p, salt, tag }: ImportedHash & { kind: 'scrypt' }): Promise<Buffer> {
  // Node's default of 32 MiB is below what common parameters need; what is absurd was refused before (accounts/stored-hash).
  const maxmem = 128 * r * (N + p + 2) + 1024
  return new Promise((resolve, reject) => {
    scrypt(password, salt, tag.length, { N, r, p, maxmem }, (error, key) => {
      if (error) reject(error)
      else resolve(key)
    })
  })
}

/** The package is the host's to install, and loaded when the first bcrypt hash is met: most hosts have none. */
async function matchesBcrypt (encoded: string, password: string): Promise<boolean> {
  const { verify } = await import('@node-rs/bcrypt').catch((cause: unknown) => {
    throw new MissingPackageError('@node-rs/bcrypt', 'a stored password hash is of bcrypt', cause)
  })
  return await verify(password, encoded)
}

async function matches (hash: ImportedHash, password: string): Promise<boolean> {
  if (hash.kind === 'bcrypt') return await matchesBcrypt(hash.encoded, password)
  if (hash.kind === 'scrypt') return timingSafeEqual(await deriveByScrypt(password, hash), hash.tag)
  return timingSafeEqual(await deriveByPbkdf2(password, hash.salt, hash.iterations, hash.tag.length, hash.digest), hash.tag)
}

/**
 * Verifies bcrypt (`$2a$`, `$2b$`, `$2y$`), scrypt (PHC) and PBKDF2 (PHC, passlib, Django). All work is off the main thread.
 * It runs whatever parameters a hash has: bound them first. bcrypt reads 72 bytes of a password, as the system did that
 * made the hash; the argon2id hash that replaces it at the sign-in reads all.
 */
export function importedHashVerifier (): ImportedHashVerifier {
  return {
    async verify (hash, password) {
      // bcrypt repeats its key with a NUL after it, and HMAC fills its key up with NULs: `abc`, `abc\0` and, in bcrypt,
      // `abc\0abc` have one hash. No form sends a NUL, so a password with one never matches. The check comes after the hashing, so that the time is the same either way.
      return await matches(hash, password) && !password.includes('\0')
    }
  }
}
