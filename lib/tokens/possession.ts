import type { Proof } from '../protocol/dpop.ts'

/** The parts of a request that its proof is about. */
interface ProvingRequest {
  method: string
  /** As it was sent, with its query. */
  originalUrl: string
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Proofs that a client has the key of its tokens. @see RFC 9449 */
export interface Possession {
  /** The algorithms of proofs. */
  algs: readonly string[]
  /**
   * The proof of a request; `null` if it has none. Its use is not recorded yet.
   * @param accessToken the token that the request sends; `null` at an endpoint that takes none
   * @param origin the origin of the URL in the proof. Default: that of the issuer
   * @throws OAuthError `invalid_dpop_proof`, `use_dpop_nonce`
   */
  read(request: ProvingRequest, accessToken: string | null, origin?: string): Proof | null
  /**
   * Records the use of a proof, which counts once in all processes. Call it after all other checks.
   * @throws OAuthError `invalid_dpop_proof` if it was used before
   */
  spend(proof: Proof): Promise<void>
}
