export type JsonWebKeyObject = Record<string, unknown>

/** The kinds of JWT that are made here. Their `typ` keeps one from passing for another. @see RFC 8725 §3.11 */
export type TokenType = 'at+jwt' | 'JWT' | 'logout+jwt'

/** Verifies signatures of one key. */
export type VerifyingKey = Pick<LoadedKey, 'alg' | 'verify'>

/** A key that is ready for use. Both functions are synchronous; the key material was parsed once. */
export interface LoadedKey {
  kid: string
  alg: string
  /** `null` for a shared secret, which has no public half. */
  publicJwk: JsonWebKeyObject | null
  /** A compact JWS with this `kid` and this `typ` (default `at+jwt`). `iat` and `exp` are the payload's own. */
  sign(payload: Record<string, unknown>, typ?: TokenType): string
  /** The payload of a token that this key signed with this key's algorithm. Throws on any other. Checks no claim. */
  verify(token: string): unknown
}

export interface JwtEngine {
  /** A new private JWK, made off the event loop. */
  generate(alg: string): Promise<JsonWebKeyObject>
  /** Rejects on a JWK that is no private key for its `alg`, or one too weak. */
  load(privateJwk: JsonWebKeyObject): Promise<LoadedKey>
  /** The public half of a key, which verifies alone. Rejects on a JWK that is none. */
  loadPublic(publicJwk: JsonWebKeyObject): Promise<VerifyingKey>
  /** HS256. */
  loadSecret(secret: string): Promise<LoadedKey>
}
