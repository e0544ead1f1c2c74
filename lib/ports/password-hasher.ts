/** argon2id parameters. `memoryCost` is KiB. */
export interface Argon2Parameters {
  memoryCost: number
  timeCost: number
  parallelism: number
}

/**
 * The raw argon2 engine. Stateless: what may run, how much at once and with which parameters is decided above it
 * (accounts/password-hashing). Strings are PHC strings in the order `m,t,p`, interchangeable between engines.
 */
export interface PasswordHasher {
  /** argon2id with a fresh 16 byte salt and a 32 byte tag. `secret` is the pepper. */
  hash(password: string, parameters: Argon2Parameters, secret?: Uint8Array): Promise<string>
  /** Any argon2 variant and parameters. `false` on no match; rejects on a string it can't read. */
  verify(encoded: string, password: string, secret?: Uint8Array): Promise<boolean>
}

/** A hash that another system made, as it was read (accounts/imported-hash-formats): with parameters that may run. */
export type ImportedHash =
  | BcryptHash
  | { kind: 'scrypt'; N: number; r: number; p: number; salt: Uint8Array; tag: Uint8Array }
  | { kind: 'pbkdf2'; digest: 'sha1' | 'sha256' | 'sha512'; iterations: number; salt: Uint8Array; tag: Uint8Array }
  | { kind: 'firebase'; N: number; r: number; p: number; salt: Uint8Array; tag: Uint8Array; signerKey: Uint8Array }
  | { kind: 'phpass'; rounds: number; salt: Uint8Array; tag: Uint8Array }

export interface BcryptHash {
  kind: 'bcrypt'
  cost: number
  /** The plain bcrypt string. */
  encoded: string
  /**
   * The input of bcrypt: the password itself, its SHA-256 in hex (Django's `bcrypt_sha256`), or an HMAC of it with
   * SHA-384 in base64 (WordPress 6.8).
   */
  of: 'password' | 'sha256' | 'wordpress'
}

/**
 * The result of comparing a password with a hash. `match_of_a_part`: the hash covers only a part of the typed password,
 * so the rest may be wrong.
 */
export type HashMatch = 'match' | 'match_of_a_part' | 'no_match'

/** Verifies hashes that other systems made. */
export interface ImportedHashVerifier {
  verify(hash: ImportedHash, password: string): Promise<HashMatch>
}
