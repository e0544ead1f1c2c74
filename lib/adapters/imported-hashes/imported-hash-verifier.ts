import { createCipheriv, createHash, createHmac, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { MissingPackageError } from '../../errors.ts'
import type { BcryptHash, HashMatch, ImportedHash, ImportedHashVerifier } from '../../ports/cryptography.ts'
import { phpassKey } from './phpass.ts'

interface ImportedHashVerifierOptions {
  /** The text that the other system appended to a password before bcrypt. Ignored for forms of Django and WordPress. */
  bcryptPepper?: string
}

/** The key length of AES-256. */
const FIREBASE_KEY_BYTES = 32
const FIREBASE_IV = new Uint8Array(16)

const deriveByPbkdf2 = promisify(pbkdf2)

function deriveByScrypt(
  password: string,
  { N, r, p, salt }: { N: number; r: number; p: number; salt: Uint8Array },
  length: number
): Promise<Buffer> {
  // Node's default of 32 MiB is less than common parameters need. Excessive parameters were rejected before
  // (accounts/imported-hash-formats).
  const maxmem = 128 * r * (N + p + 2) + 1024
  return new Promise((resolve, reject) => {
    scrypt(password, salt, length, { N, r, p, maxmem }, (error, key) => {
      if (error) reject(error)
      else resolve(key)
    })
  })
}

/**
 * Computes Firebase's hash: the project's signer key, encrypted with a key that scrypt derives from the password.
 * @see https://github.com/firebase/scrypt
 */
async function firebaseTag(password: string, hash: ImportedHash & { kind: 'firebase' }): Promise<Buffer> {
  const key = await deriveByScrypt(password, hash, FIREBASE_KEY_BYTES)
  return createCipheriv('aes-256-ctr', key, FIREBASE_IV).update(hash.signerKey)
}

/** Trims like PHP's `trim`, which leaves non-ASCII spaces. */
function trimmed(password: string): string {
  const blank = (at: number): boolean => at >= 0 && at < password.length && ' \t\n\r\v\0'.includes(password.charAt(at))
  let [start, end] = [0, password.length]
  while (blank(start)) start++
  while (end > start && blank(end - 1)) end--
  return password.slice(start, end)
}

function givenToBcrypt(of: BcryptHash['of'], password: string, pepper: string): string {
  if (of === 'sha256') return createHash('sha256').update(password).digest('hex')
  if (of === 'wordpress') return createHmac('sha384', 'wp-sha384').update(trimmed(password)).digest('base64')
  return password + pepper
}

/** Loads the package. It is optional, because most hosts have no bcrypt hashes. */
const bcryptPackage = async () => await import('@node-rs/bcrypt')

/** True if `@node-rs/bcrypt` can be loaded. Without it, a sign-in of a user with a bcrypt hash is answered 503. */
export const hasBcrypt = async (): Promise<boolean> =>
  await bcryptPackage().then(
    () => true,
    () => false
  )

async function matchesBcrypt(encoded: string, text: string): Promise<boolean> {
  const { verify } = await bcryptPackage().catch((cause: unknown) => {
    throw new MissingPackageError('@node-rs/bcrypt', 'a stored password hash is of bcrypt', cause)
  })
  return await verify(text, encoded)
}

async function tagOf(password: string, hash: Exclude<ImportedHash, BcryptHash>): Promise<Uint8Array> {
  if (hash.kind === 'scrypt') return await deriveByScrypt(password, hash, hash.tag.length)
  if (hash.kind === 'pbkdf2')
    return await deriveByPbkdf2(password, hash.salt, hash.iterations, hash.tag.length, hash.digest)
  return hash.kind === 'firebase' ? await firebaseTag(password, hash) : await phpassKey(password, hash)
}

/** The number of bytes of a password that bcrypt reads. */
const BCRYPT_BYTES = 72

function seesAll(hash: ImportedHash, password: string, bcryptPepper: string): boolean {
  if (hash.kind !== 'bcrypt' || hash.of === 'sha256') return true
  if (hash.of === 'wordpress') return trimmed(password) === password
  return Buffer.byteLength(password + bcryptPepper) <= BCRYPT_BYTES
}

/**
 * Verifies bcrypt (also as Django and WordPress wrap it), scrypt, Firebase's scrypt, PBKDF2 and phpass, without
 * blocking the event loop. Does not limit the cost parameters of a hash, so the caller must. bcrypt reads only 72 bytes
 * of a password, and WordPress trims white space. If the hash covers only a part of the typed password, the result is
 * `match_of_a_part`, because the rest may be wrong.
 */
export function importedHashVerifier({ bcryptPepper = '' }: ImportedHashVerifierOptions = {}): ImportedHashVerifier {
  return {
    async verify(hash, password): Promise<HashMatch> {
      const matches =
        hash.kind === 'bcrypt'
          ? await matchesBcrypt(hash.encoded, givenToBcrypt(hash.of, password, bcryptPepper))
          : timingSafeEqual(await tagOf(password, hash), hash.tag)
      // bcrypt repeats its key with a NUL after it, and HMAC pads its key with NULs. So `abc`, `abc\0` and, in bcrypt,
      // `abc\0abc` have the same hash. Nobody types a NUL, so a password with a NUL never matches. The check comes
      // after the hashing, so that the response time does not reveal it.
      if (!matches || password.includes('\0')) return 'no_match'
      return seesAll(hash, password, bcryptPepper) ? 'match' : 'match_of_a_part'
    }
  }
}
