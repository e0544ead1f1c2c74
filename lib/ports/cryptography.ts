export type JsonWebKeyObject = Record<string, unknown>

/**
 * The kinds of JWT that this service makes. Their `typ` keeps one kind from passing for another.
 * @see RFC 8725 §3.11
 */
export type TokenType = 'at+jwt' | 'JWT' | 'logout+jwt'

/** Verifies signatures of one key. */
export type VerifyingKey = Pick<LoadedKey, 'kid' | 'alg' | 'verify'>

/** A key that is ready for use. Both functions are synchronous; the key material was parsed once. */
export interface LoadedKey {
  kid: string
  alg: string
  /** `null` for a shared secret, which has no public half. */
  publicJwk: JsonWebKeyObject | null
  /**
   * Makes a compact JWS with this `kid` and this `typ` (default `at+jwt`). The payload must contain `iat` and `exp`
   * itself.
   */
  sign(payload: Record<string, unknown>, typ?: TokenType): string
  /** The payload of a token that this key signed with its algorithm. Throws for any other token. Checks no claim. */
  verify(token: string): unknown
}

export interface JwtEngine {
  /** A new private JWK, made off the event loop. */
  generate(alg: string): Promise<JsonWebKeyObject>
  /** Rejects a JWK that is not a private key for its `alg`, or is too weak. */
  load(privateJwk: JsonWebKeyObject): Promise<LoadedKey>
  /** The public half of a key, which can only verify. Rejects a malformed JWK and a shared secret. */
  loadPublic(publicJwk: JsonWebKeyObject): Promise<VerifyingKey>
  /** Loads a shared secret for HS256. */
  loadSecret(secret: string): Promise<LoadedKey>
}

/** Unguessable values from the system's CSPRNG, base64url without padding. */
export interface Random {
  /** 128 bits, 22 characters: identifiers that must not be guessed but are no credentials. */
  id(): string
  /** 256 bits, 43 characters: credentials. */
  secret(): string
}

/** Authenticated encryption at rest under the option `secret`. */
export interface Sealer {
  /**
   * `context`: the purpose and owner of the text. The sealed text opens only under the same context, so that a text
   * sealed for one purpose or user is useless for another.
   */
  seal(plain: string, context?: string): string
  /** `null` if no configured secret opens it, or it was sealed for another context. */
  open(sealed: string, context?: string): string | null
}

/** argon2id parameters. `memoryCost` is KiB. */
export interface Argon2Parameters {
  memoryCost: number
  timeCost: number
  parallelism: number
}

/**
 * The raw argon2 engine, without state. Limits, the queue and parameters are decided above it
 * (accounts/password-hashing). Strings are PHC strings in the order `m,t,p`, interchangeable between engines.
 */
export interface PasswordHasher {
  /** argon2id with a fresh 16 byte salt and a 32 byte tag. `secret` is the pepper. */
  hash(password: string, parameters: Argon2Parameters, secret?: Uint8Array): Promise<string>
  /** Any argon2 variant and parameters. `false` on no match; rejects on a string it can't read. */
  verify(encoded: string, password: string, secret?: Uint8Array): Promise<boolean>
}

/** A parsed hash of another system, with cost parameters within the limits of accounts/imported-hash-formats. */
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
