/**
 * Reads stored password hashes and decides which may run. A hash in the store is not trusted to be cheap: one with
 * `m=4 GiB` would take the process down at every sign-in of that user.
 */
import type { Argon2Parameters, ImportedHash } from '../ports/password-hasher.ts'

interface Argon2Hash extends Argon2Parameters {
  kind: 'argon2'
  variant: 'argon2id' | 'argon2i' | 'argon2d'
  version: 16 | 19
  /** Names the pepper; absent where there is none. */
  keyId?: string
  saltBytes: number
  tagBytes: number
  /** Whether the string has associated data. */
  hasData: boolean
  /** For the engine: without `keyid`, in the order `m,t,p`. */
  plain: string
}

type StoredHash =
  | Argon2Hash
  | ImportedHash
  /** Never run. `reason` is for the log and holds nothing of the string. */
  | { kind: 'unusable', reason: string }

const MAX_LENGTH = 1024
/** Above these a hash is a denial of service, not a hash. Memory in KiB. */
const ARGON2_MAX = { memoryCost: 262_144, timeCost: 16, parallelism: 16, work: 2 ** 21 }
const BCRYPT_MAX_COST = 14
const SCRYPT_MAX = { bytes: 256 * 1024 * 1024, parallelism: 16, work: 2 ** 22 }
const PBKDF2_MAX_ITERATIONS = 2_000_000

const NUMBER = '(0|[1-9]\\d{0,9})'
const BASE64 = '([A-Za-z0-9+/]+)'
const ARGON2 = new RegExp(`^\\$(argon2id|argon2i|argon2d)(?:\\$v=(16|19))?\\$m=${NUMBER},(?:t=${NUMBER},p=${NUMBER}|p=${NUMBER},t=${NUMBER})(?:,keyid=([A-Za-z0-9+/]{1,11}))?(?:,data=([A-Za-z0-9+/]{1,43}))?\\$${BASE64}\\$${BASE64}$`)
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
const SCRYPT = new RegExp(`^\\$scrypt\\$ln=${NUMBER},r=${NUMBER},p=${NUMBER}\\$${BASE64}\\$${BASE64}$`)
const PBKDF2 = new RegExp(`^\\$pbkdf2(?:-(sha1|sha256|sha512))?\\$(?:i=)?${NUMBER}(?:,l=\\d{1,4})?\\$([A-Za-z0-9+./]+)\\$([A-Za-z0-9+./]+)$`)
const DJANGO = new RegExp(`^pbkdf2_(sha1|sha256|sha512)\\$${NUMBER}\\$([^$]{1,128})\\$([A-Za-z0-9+/]+)={0,2}$`)

function unusable (reason: string): StoredHash {
  return { kind: 'unusable', reason }
}

/** The bytes that unpadded base64 stands for, `.` being `+`; `null` where it isn't the one canonical spelling, which some engines refuse. */
function bytesOf (text: string): Buffer | null {
  const base64 = text.replaceAll('.', '+')
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64').replace(/={1,2}$/, '') === base64 ? bytes : null
}

const lengthOf = (text: string): number => bytesOf(text)?.length ?? NaN

function parseArgon2 (encoded: string): StoredHash {
  const [, variant, version = '16', m, t1, p1, p2, t2, keyId, data, salt = '', tag = ''] = ARGON2.exec(encoded) ?? []
  if (variant !== 'argon2id' && variant !== 'argon2i' && variant !== 'argon2d') return unusable('malformed argon2 hash')
  const memoryCost = Number(m)
  const timeCost = Number(t1 ?? t2)
  const parallelism = Number(p1 ?? p2)
  if (memoryCost > ARGON2_MAX.memoryCost || timeCost > ARGON2_MAX.timeCost || parallelism > ARGON2_MAX.parallelism || memoryCost * timeCost > ARGON2_MAX.work) {
    return unusable('argon2 parameters above the limit')
  }
  if (timeCost < 1 || parallelism < 1 || memoryCost < 8 * parallelism) return unusable('argon2 parameters below what RFC 9106 allows')
  const saltBytes = lengthOf(salt)
  const tagBytes = lengthOf(tag)
  if (!(saltBytes >= 8 && saltBytes <= 64) || !(tagBytes >= 12 && tagBytes <= 128)) return unusable('malformed argon2 salt or tag')
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
    plain: `$${variant}$v=${version}$m=${memoryCost},t=${timeCost},p=${parallelism}${data === undefined ? '' : `,data=${data}`}$${salt}$${tag}`
  }
}

function parseScrypt (encoded: string): StoredHash {
  const [, ln, r, p, saltText = '', tagText = ''] = SCRYPT.exec(encoded) ?? []
  if (ln === undefined) return unusable('malformed scrypt hash')
  const hash = { kind: 'scrypt' as const, N: 2 ** Number(ln), r: Number(r), p: Number(p) }
  if (128 * hash.N * hash.r > SCRYPT_MAX.bytes || hash.p > SCRYPT_MAX.parallelism || hash.N * hash.r * hash.p > SCRYPT_MAX.work) {
    return unusable('scrypt parameters above the limit')
  }
  // RFC 7914 §6: N is less than 2^(128 * r / 8), which a small r could break.
  if (hash.N < 2 || hash.r < 1 || hash.p < 1 || Number(ln) >= 16 * hash.r) return unusable('scrypt parameters below what RFC 7914 allows')
  const salt = bytesOf(saltText)
  const tag = bytesOf(tagText)
  if (salt === null || salt.length === 0 || !isTag(tag)) return unusable('malformed scrypt salt or tag')
  return { ...hash, salt, tag }
}

/** PHC and passlib have their salt in base64, Django as text. */
function parsePbkdf2 (encoded: string): StoredHash {
  const django = DJANGO.exec(encoded)
  const [, digest, iterationsText, saltText = '', tagText = ''] = django ?? PBKDF2.exec(encoded) ?? []
  if (iterationsText === undefined) return unusable('unknown hash format')
  const iterations = Number(iterationsText)
  const tag = bytesOf(tagText)
  if (iterations > PBKDF2_MAX_ITERATIONS) return unusable('PBKDF2 iterations above the limit')
  if (iterations < 1 || !isTag(tag)) return unusable('malformed PBKDF2 hash')
  const salt = django === null ? Buffer.from(saltText.replaceAll('.', '+'), 'base64') : Buffer.from(saltText)
  return { kind: 'pbkdf2', digest: digest === 'sha256' || digest === 'sha512' ? digest : 'sha1', iterations, salt, tag }
}

/** A short tag matches by chance; a long one multiplies PBKDF2's work. */
function isTag (bytes: Buffer | null): bytes is Buffer {
  return bytes !== null && bytes.length >= 12 && bytes.length <= 64
}

/**
 * Reads a hash: argon2 (PHC, either parameter order), bcrypt, scrypt (PHC), PBKDF2 (PHC, passlib, Django). Whatever it can't
 * read, and whatever asks for more memory or time than the limits above, is `unusable`.
 */
export function parseStoredHash (encoded: string): StoredHash {
  if (encoded.length > MAX_LENGTH) return unusable('hash too long')
  if (encoded.startsWith('$argon2')) return parseArgon2(encoded)
  if (encoded.startsWith('$scrypt$')) return parseScrypt(encoded)

  const cost = BCRYPT.exec(encoded)?.[1]
  if (cost !== undefined) {
    if (Number(cost) > BCRYPT_MAX_COST) return unusable('bcrypt cost above the limit')
    return Number(cost) < 4 ? unusable('malformed bcrypt hash') : { kind: 'bcrypt', cost: Number(cost), encoded }
  }
  return parsePbkdf2(encoded)
}

/**
 * Whether a verified hash should be made anew: anything but argon2id version 19 with these very parameters (a hash that costs
 * more or less than the decoy tells that the user exists), a 16 byte salt and 32 byte tag at least, and this pepper.
 */
export function needsRehash (stored: StoredHash, parameters: Argon2Parameters, keyId: string | undefined): boolean {
  return stored.kind !== 'argon2' || stored.variant !== 'argon2id' || stored.version !== 19 ||
    stored.memoryCost !== parameters.memoryCost || stored.timeCost !== parameters.timeCost || stored.parallelism !== parameters.parallelism ||
    stored.saltBytes < 16 || stored.tagBytes < 32 || stored.hasData || stored.keyId !== keyId
}
