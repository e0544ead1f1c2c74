import { pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { ImportedHashVerifier } from '../../ports/password-hasher.ts'

const deriveByPbkdf2 = promisify(pbkdf2)

const BCRYPT = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/
const SCRYPT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,6}),p=(\d{1,6})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
/** PHC (`i=…`) and passlib (rounds alone, `.` for `+`, and no digest name for SHA-1). */
const PBKDF2 = /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=)?(\d{1,10})(?:,l=\d{1,4})?\$([A-Za-z0-9+./]+)\$([A-Za-z0-9+./]+)$/
/** Django: the salt is text, the tag is base64 with padding. */
const DJANGO = /^pbkdf2_(sha1|sha256|sha512)\$(\d{1,10})\$([^$]+)\$([A-Za-z0-9+/]+={0,2})$/

function deriveByScrypt (password: string, salt: Buffer, length: number, ln: number, r: number, p: number): Promise<Buffer> {
  const N = 2 ** ln
  // Node's default of 32 MiB is below what common parameters need; what is absurd was refused before (accounts/stored-hash).
  const maxmem = 128 * r * (N + p + 2) + 1024
  return new Promise((resolve, reject) => {
    scrypt(password, salt, length, { N, r, p, maxmem }, (error, key) => {
      if (error) reject(error)
      else resolve(key)
    })
  })
}

function ofBase64 (text: string): Buffer {
  return Buffer.from(text.replaceAll('.', '+'), 'base64')
}

async function matches (encoded: string, password: string): Promise<boolean> {
  if (BCRYPT.test(encoded)) return await (await import('@node-rs/bcrypt')).verify(password, encoded)

  const [, ln, r, p, scryptSalt = '', scryptTag = ''] = SCRYPT.exec(encoded) ?? []
  if (ln !== undefined) {
    const tag = ofBase64(scryptTag)
    return timingSafeEqual(await deriveByScrypt(password, ofBase64(scryptSalt), tag.length, Number(ln), Number(r), Number(p)), tag)
  }

  const django = DJANGO.exec(encoded)
  const [, digest = 'sha1', iterations, salt = '', tagText = ''] = django ?? PBKDF2.exec(encoded) ?? []
  if (iterations === undefined) return false
  const tag = ofBase64(tagText)
  const saltBytes = django === null ? ofBase64(salt) : Buffer.from(salt)
  return timingSafeEqual(await deriveByPbkdf2(password, saltBytes, Number(iterations), tag.length, digest), tag)
}

/**
 * Verifies bcrypt (`$2a$`, `$2b$`, `$2y$`), scrypt (PHC) and PBKDF2 (PHC, passlib, Django). All work is off the main thread.
 * It runs whatever parameters a string has: bound them first. bcrypt reads 72 bytes of a password, as the system did that
 * made the hash; the argon2id hash that replaces it at the sign-in reads all.
 */
export function importedHashVerifier (): ImportedHashVerifier {
  return {
    async verify (encoded, password) {
      // bcrypt repeats its key with a NUL after it, and HMAC fills its key up with NULs: `abc`, `abc\0` and, in bcrypt,
      // `abc\0abc` have one hash. No form sends a NUL, so none matches; only after the work, which takes its time either way.
      return await matches(encoded, password) && !password.includes('\0')
    }
  }
}
