/** A managed signing key as it is kept: the private half sealed, the public half as a JWK. Times in milliseconds. */
export interface StoredKey {
  /** RFC 7638 thumbprint. */
  kid: string
  alg: string
  /** 1, 2, 3 … per algorithm. Two instances that make "the next key" at once both try the same number. */
  sequence: number
  /** When it starts to sign. It is published from the moment it is stored. */
  signsFrom: number
  createdAt: number
  publicJwk: Record<string, unknown>
  /** The private JWK, sealed with the option `secret`; `null`: retired, so that it signs nothing any more. */
  sealed: string | null
}

export interface KeyStore {
  list(): Promise<StoredKey[]>
  /** `false`, and nothing is written, if a key of this algorithm and sequence exists. */
  addIfAbsent(key: StoredKey): Promise<boolean>
  /** Throws the private half away and keeps the public one. Idempotent. */
  retire(kid: string): Promise<void>
  /** Idempotent. */
  remove(kid: string): Promise<void>
}
