/** Unguessable values from the system's CSPRNG, base64url without padding. */
export interface Random {
  /** 128 bits, 22 characters: identifiers that must not be guessed but are no credentials. */
  id(): string
  /** 256 bits, 43 characters: credentials. */
  secret(): string
}
