/**
 * Password hashes of other systems: reads the string of each format and decides if its parameters may run. Refuses
 * every other format, also a single round of MD5 or SHA, which no service should keep.
 */
import type { ImportedHash } from '../ports/cryptography.ts'

/** A hash that must not run. `reason` is for the log and contains nothing of the hash string. */
export interface UnusableHash {
  kind: 'unusable'
  reason: string
}

/**
 * The hash parameters of a Firebase project, from its console. The hashes of its users contain them only if the
 * exporter put them there.
 */
export interface FirebaseParameters {
  signerKey: Uint8Array
  saltSeparator: Uint8Array
}

/**
 * A hash above the limits that follow would be a denial of service. They allow about one second of CPU time (measured
 * with Node.js 20 on a server core of 2.5 GHz).
 */
const BCRYPT_MAX_COST = 14
/**
 * `work` limits N × r × p. Each unit takes 0.4 µs. With a large r and a small N, which no known system uses, a hash
 * takes up to three times as long.
 */
const SCRYPT_MAX = { bytes: 256 * 1024 * 1024, r: 32, parallelism: 16, work: 2 ** 21 }
const FIREBASE_MAX = { n: 16, r: 16 }
/**
 * `work` is in tenths of a microsecond. The most expensive known hash is Keycloak's SHA-1: 1,300,000 iterations for
 * each of the four blocks in 64 bytes.
 */
const PBKDF2_MAX = { iterations: 2_000_000, work: 11_000_000 }
/**
 * `bytes`: the size of an output block. `work`: the cost of an iteration, in tenths of a microsecond. All iterations
 * run for each block.
 */
const PBKDF2_BLOCKS = { sha1: { bytes: 20, work: 2 }, sha256: { bytes: 32, work: 2 }, sha512: { bytes: 64, work: 5 } }
/** The binary logarithm of the rounds: 13 in WordPress, 11 in phpBB. A round takes 1 to 4 µs. */
const PHPASS_EXPONENT = { least: 7, most: 18 }

/** phpass's own base64 alphabet. The first character of a group has the lowest bits. */
const ITOA64 = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export const NUMBER = '(0|[1-9]\\d{0,9})'
export const BASE64 = '([A-Za-z0-9+/]+)'
const PADDED = '([A-Za-z0-9+/_-]+)={0,2}'
/** Django and Werkzeug use the salt as the text that it is. */
const TEXT_SALT = '([^$]{1,128})'
const HEX = '([0-9a-f]+)'

const BCRYPT = /^(\$wp|bcrypt\$|bcrypt_sha256\$)?(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53})$/
const SCRYPT = new RegExp(`^\\$scrypt\\$ln=${NUMBER},r=${NUMBER},p=${NUMBER}\\$${BASE64}\\$${BASE64}$`)
const DJANGO_SCRYPT = new RegExp(`^scrypt\\$${NUMBER}\\$${TEXT_SALT}\\$${NUMBER}\\$${NUMBER}\\$${PADDED}$`)
const WERKZEUG_SCRYPT = new RegExp(`^scrypt:${NUMBER}:${NUMBER}:${NUMBER}\\$${TEXT_SALT}\\$${HEX}$`)
const FIREBASE = new RegExp(
  `^\\$fbscrypt\\$v=1,n=${NUMBER},r=${NUMBER},p=${NUMBER}(?:,ss=${PADDED})?(?:,sk=${PADDED})?\\$${PADDED}\\$${PADDED}$`
)
const PBKDF2 = new RegExp(
  `^\\$pbkdf2(?:-(sha1|sha256|sha512))?\\$(?:i=)?${NUMBER}(?:,l=\\d{1,4})?\\$([A-Za-z0-9+./]+)\\$([A-Za-z0-9+./]+)$`
)
const DJANGO_PBKDF2 = new RegExp(`^pbkdf2_(sha1|sha256|sha512)\\$${NUMBER}\\$${TEXT_SALT}\\$${PADDED}$`)
const WERKZEUG_PBKDF2 = new RegExp(`^pbkdf2:(sha1|sha256|sha512):${NUMBER}\\$${TEXT_SALT}\\$${HEX}$`)
/** Base64 whose first byte is 0 (version 2) or 1 (version 3). */
const ASP_NET = /^(A[A-Za-f][A-Za-z0-9+/]{48,400})={0,2}$/
const PHPASS = /^\$[PH]\$([./0-9A-Za-z])([./0-9A-Za-z]{8})([./0-9A-Za-z]{22})$/

/** The digests in the numbering of version 3 of ASP.NET Core Identity. */
const ASP_NET_DIGESTS = ['sha1', 'sha256', 'sha512'] as const

export function unusable(reason: string): UnusableHash {
  return { kind: 'unusable', reason }
}

/**
 * Decodes unpadded base64 in the alphabet of RFC 4648, of passlib (`.` for `+`) or of URLs (`-` and `_`). `null` for a
 * spelling that is not canonical, which some engines refuse.
 */
export function bytesOf(text: string): Buffer | null {
  const base64 = text.replaceAll('.', '+').replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64').replace(/={1,2}$/, '') === base64 ? bytes : null
}

function bytesOfHex(text: string): Buffer | null {
  return text.length % 2 === 0 ? Buffer.from(text, 'hex') : null
}

function bytesOfItoa64(text: string): Buffer | null {
  const bytes: number[] = []
  let [value, bits] = [0, 0]
  for (const character of text) {
    value |= ITOA64.indexOf(character) << bits
    bits += 6
    if (bits < 8) continue
    bytes.push(value & 0xff)
    value >>= 8
    bits -= 8
  }
  return value === 0 ? Buffer.from(bytes) : null
}

/** Accepts 12 to 64 bytes: a shorter tag could match by chance, and a longer one would multiply the work of PBKDF2. */
function isTag(bytes: Uint8Array | null): bytes is Uint8Array {
  return bytes !== null && bytes.length >= 12 && bytes.length <= 64
}

/** The fault of these parameters; `null` if they may run. */
function scryptFault({ N, r, p }: { N: number; r: number; p: number }): string | null {
  if (128 * N * r > SCRYPT_MAX.bytes || r > SCRYPT_MAX.r || p > SCRYPT_MAX.parallelism || N * r * p > SCRYPT_MAX.work)
    return 'scrypt parameters above the limit'
  // RFC 7914 §6: N is a power of 2, and less than 2^(128 * r / 8).
  return N < 2 || r < 1 || p < 1 || !Number.isInteger(Math.log2(N)) || Math.log2(N) >= 16 * r
    ? 'scrypt parameters below what RFC 7914 allows'
    : null
}

function scrypt(
  N: number,
  r: string | undefined,
  p: string | undefined,
  salt: Uint8Array | null,
  tag: Uint8Array | null
): ImportedHash | UnusableHash {
  const cost = { N, r: Number(r), p: Number(p) }
  const fault = scryptFault(cost)
  if (fault !== null) return unusable(fault)
  if (salt === null || salt.length === 0 || !isTag(tag)) return unusable('malformed scrypt salt or tag')
  return { kind: 'scrypt', ...cost, salt, tag }
}

function parseScrypt(encoded: string): ImportedHash | UnusableHash {
  const phc = SCRYPT.exec(encoded)
  if (phc !== null) return scrypt(2 ** Number(phc[1]), phc[2], phc[3], bytesOf(phc[4] ?? ''), bytesOf(phc[5] ?? ''))
  const django = DJANGO_SCRYPT.exec(encoded)
  if (django !== null)
    return scrypt(Number(django[1]), django[3], django[4], Buffer.from(django[2] ?? ''), bytesOf(django[5] ?? ''))
  const werkzeug = WERKZEUG_SCRYPT.exec(encoded)
  if (werkzeug !== null)
    return scrypt(
      Number(werkzeug[1]),
      werkzeug[2],
      werkzeug[3],
      Buffer.from(werkzeug[4] ?? ''),
      bytesOfHex(werkzeug[5] ?? '')
    )
  return unusable('malformed scrypt hash')
}

function parseFirebase(encoded: string, project: FirebaseParameters | null): ImportedHash | UnusableHash {
  const [, n, r, p, separatorText, keyText, saltText = '', tagText = ''] = FIREBASE.exec(encoded) ?? []
  if (n === undefined) return unusable('malformed Firebase hash')
  const cost = { N: 2 ** Number(n), r: Number(r), p: Number(p) }
  if (Number(n) > FIREBASE_MAX.n || cost.r > FIREBASE_MAX.r) return unusable('scrypt parameters above the limit')
  const fault = scryptFault(cost)
  if (fault !== null) return unusable(fault)
  if (keyText === undefined && project === null) return unusable('Firebase hash without a signer key')
  const signerKey = keyText === undefined ? project?.signerKey : bytesOf(keyText)
  const separator =
    separatorText === undefined
      ? keyText === undefined
        ? project?.saltSeparator
        : new Uint8Array()
      : bytesOf(separatorText)
  const salt = bytesOf(saltText)
  const tag = bytesOf(tagText)
  // The tag is the encrypted signer key, so both have the same length.
  if (!signerKey || !separator || salt === null || !isTag(tag) || tag.length !== signerKey.length)
    return unusable('malformed Firebase salt key or tag')
  return { kind: 'firebase', ...cost, salt: Buffer.concat([salt, separator]), tag, signerKey }
}

function pbkdf2(
  digestName: string | undefined,
  iterations: number,
  salt: Uint8Array,
  tag: Uint8Array | null
): ImportedHash | UnusableHash {
  if (iterations > PBKDF2_MAX.iterations) return unusable('PBKDF2 iterations above the limit')
  if (iterations < 1 || !isTag(tag)) return unusable('malformed PBKDF2 hash')
  const digest = digestName === 'sha256' || digestName === 'sha512' ? digestName : 'sha1'
  const block = PBKDF2_BLOCKS[digest]
  if (iterations * Math.ceil(tag.length / block.bytes) * block.work > PBKDF2_MAX.work)
    return unusable('PBKDF2 work above the limit')
  return { kind: 'pbkdf2', digest, iterations, salt, tag }
}

/** PHC and passlib have their salt in base64, Django and Werkzeug as text. */
function parsePbkdf2(encoded: string): ImportedHash | UnusableHash {
  const phc = PBKDF2.exec(encoded)
  if (phc !== null)
    return pbkdf2(
      phc[1],
      Number(phc[2]),
      Buffer.from((phc[3] ?? '').replaceAll('.', '+'), 'base64'),
      bytesOf(phc[4] ?? '')
    )
  const [, digest, iterations, salt = '', tag = ''] = DJANGO_PBKDF2.exec(encoded) ?? []
  if (iterations !== undefined) return pbkdf2(digest, Number(iterations), Buffer.from(salt), bytesOf(tag))
  const werkzeug = WERKZEUG_PBKDF2.exec(encoded)
  return werkzeug === null
    ? unusable('unknown hash format')
    : pbkdf2(werkzeug[1], Number(werkzeug[2]), Buffer.from(werkzeug[3] ?? ''), bytesOfHex(werkzeug[4] ?? ''))
}

/** @see https://github.com/dotnet/aspnetcore/blob/main/src/Identity/Extensions.Core/src/PasswordHasher.cs */
function parseAspNet(base64: string): ImportedHash | UnusableHash {
  const bytes = bytesOf(base64)
  const digest = bytes?.[0] === 0 ? 'sha1' : ASP_NET_DIGESTS[bytes?.readUInt32BE(1) ?? NaN]
  if (bytes === null || digest === undefined) return unusable('malformed ASP NET hash')
  if (bytes[0] === 0)
    return bytes.length === 49
      ? pbkdf2('sha1', 1000, bytes.subarray(1, 17), bytes.subarray(17))
      : unusable('malformed ASP NET hash')
  const saltBytes = bytes.readUInt32BE(9)
  if (saltBytes < 16) return unusable('malformed ASP NET hash')
  return pbkdf2(digest, bytes.readUInt32BE(5), bytes.subarray(13, 13 + saltBytes), bytes.subarray(13 + saltBytes))
}

function parsePhpass(encoded: string): ImportedHash | UnusableHash {
  const [, cost = '', salt = '', tagText = ''] = PHPASS.exec(encoded) ?? []
  const exponent = cost === '' ? NaN : ITOA64.indexOf(cost)
  const tag = bytesOfItoa64(tagText)
  if (exponent > PHPASS_EXPONENT.most) return unusable('phpass rounds above the limit')
  if (!(exponent >= PHPASS_EXPONENT.least) || tag === null) return unusable('malformed phpass hash')
  return { kind: 'phpass', rounds: 2 ** exponent, salt: Buffer.from(salt), tag }
}

function parseBcrypt([, wrapper, encoded = '', cost]: RegExpExecArray): ImportedHash | UnusableHash {
  if (Number(cost) > BCRYPT_MAX_COST) return unusable('bcrypt cost above the limit')
  if (Number(cost) < 4) return unusable('malformed bcrypt hash')
  const of = wrapper === '$wp' ? 'wordpress' : wrapper === 'bcrypt_sha256$' ? 'sha256' : 'password'
  return { kind: 'bcrypt', cost: Number(cost), encoded, of }
}

/**
 * Reads bcrypt (plain, of Django, of WordPress 6.8), scrypt (PHC, Django, Werkzeug), Firebase's scrypt, PBKDF2 (PHC,
 * passlib, Django, Werkzeug, ASP.NET Identity 2 and 3), and phpass. Any other string, and any hash above the limits of
 * memory and time, is `unusable`.
 */
export function parseImportedHash(encoded: string, firebase: FirebaseParameters | null): ImportedHash | UnusableHash {
  if (encoded.startsWith('$scrypt$') || /^scrypt[$:]/.test(encoded)) return parseScrypt(encoded)
  if (encoded.startsWith('$fbscrypt$')) return parseFirebase(encoded, firebase)
  if (/^\$[PH]\$/.test(encoded)) return parsePhpass(encoded)
  const bcrypt = BCRYPT.exec(encoded)
  if (bcrypt !== null) return parseBcrypt(bcrypt)
  const aspNet = ASP_NET.exec(encoded)?.[1]
  return aspNet === undefined ? parsePbkdf2(encoded) : parseAspNet(aspNet)
}
