/**
 * Reads stored password hashes and decides which may run. A stored hash is not trusted to be cheap: one that needs
 * 4 GiB of memory could end the process at every sign-in of that user.
 */
import type { Argon2Parameters, ImportedHash } from '../ports/cryptography.ts'
import { ARGON2_MAX } from '../protocol/bounds.ts'
import {
  BASE64,
  bytesOf,
  type FirebaseParameters,
  NUMBER,
  parseImportedHash,
  unusable,
  type UnusableHash
} from './imported-hash-formats.ts'

interface Argon2Hash extends Argon2Parameters {
  kind: 'argon2'
  variant: 'argon2id' | 'argon2i' | 'argon2d'
  version: 16 | 19
  /** The name of the pepper; absent without one. */
  keyId?: string
  saltBytes: number
  tagBytes: number
  /** True if the string has associated data. */
  hasData: boolean
  /** The hash string for the engine: without `keyid`, in the order `m,t,p`. */
  plain: string
}

type StoredHash = Argon2Hash | ImportedHash | UnusableHash

const MAX_LENGTH = 1024

const ARGON2 = new RegExp(
  `^\\$(argon2id|argon2i|argon2d)(?:\\$v=(16|19))?` +
    `\\$m=${NUMBER},(?:t=${NUMBER},p=${NUMBER}|p=${NUMBER},t=${NUMBER})` +
    '(?:,keyid=([A-Za-z0-9+/]{1,11}))?(?:,data=([A-Za-z0-9+/]{1,43}))?' +
    `\\$${BASE64}\\$${BASE64}$`
)

const lengthOf = (text: string): number => bytesOf(text)?.length ?? NaN

function parseArgon2(encoded: string): StoredHash {
  const [, variant, version = '16', m, t1, p1, p2, t2, keyId, data, salt = '', tag = ''] = ARGON2.exec(encoded) ?? []
  if (variant !== 'argon2id' && variant !== 'argon2i' && variant !== 'argon2d') return unusable('malformed argon2 hash')
  const memoryCost = Number(m)
  const timeCost = Number(t1 ?? t2)
  const parallelism = Number(p1 ?? p2)
  if (
    // A hash above these limits would be a denial of service. The limits of other formats are in imported-hash-formats.
    memoryCost > ARGON2_MAX.memoryCost ||
    timeCost > ARGON2_MAX.timeCost ||
    parallelism > ARGON2_MAX.parallelism ||
    memoryCost * timeCost > ARGON2_MAX.work
  ) {
    return unusable('argon2 parameters above the limit')
  }
  if (timeCost < 1 || parallelism < 1 || memoryCost < 8 * parallelism)
    return unusable('argon2 parameters below what RFC 9106 allows')
  const saltBytes = lengthOf(salt)
  const tagBytes = lengthOf(tag)
  if (!(saltBytes >= 8 && saltBytes <= 64) || !(tagBytes >= 12 && tagBytes <= 128))
    return unusable('malformed argon2 salt or tag')
  return {
    kind: 'argon2',
    variant,
    version: version === '19' ? 19 : 16,
    memoryCost,
    timeCost,
    parallelism,
    ...(keyId === undefined ? {} : { keyId }),
    saltBytes,
    tagBytes,
    hasData: data !== undefined,
    plain:
      `$${variant}$v=${version}$m=${memoryCost},t=${timeCost},p=${parallelism}` +
      `${data === undefined ? '' : `,data=${data}`}$${salt}$${tag}`
  }
}

/**
 * Reads a stored hash: argon2 (PHC, with the parameters in either order, also with Django's prefix `argon2`), or a
 * format of another system. A hash that can't be read, or is above the limits of memory and time, is `unusable`.
 * `firebase`: the parameters for Firebase hashes that do not contain those of their project.
 */
export function parseStoredHash(encoded: string, firebase: FirebaseParameters | null = null): StoredHash {
  if (encoded.length > MAX_LENGTH) return unusable('hash too long')
  if (encoded.startsWith('$argon2')) return parseArgon2(encoded)
  return encoded.startsWith('argon2$')
    ? parseArgon2(encoded.slice('argon2'.length))
    : parseImportedHash(encoded, firebase)
}

/**
 * True if a verified hash should be replaced. A hash stays if it is argon2id of version 19 with these parameters and
 * this pepper, a salt of at least 16 bytes, a tag of at least 32 bytes, and no associated data. With other parameters,
 * its time would differ from that of the decoy, and reveal that the user exists.
 */
export function needsRehash(stored: StoredHash, parameters: Argon2Parameters, keyId: string | undefined): boolean {
  return (
    stored.kind !== 'argon2' ||
    stored.variant !== 'argon2id' ||
    stored.version !== 19 ||
    stored.memoryCost !== parameters.memoryCost ||
    stored.timeCost !== parameters.timeCost ||
    stored.parallelism !== parameters.parallelism ||
    stored.saltBytes < 16 ||
    stored.tagBytes < 32 ||
    stored.hasData ||
    stored.keyId !== keyId
  )
}
