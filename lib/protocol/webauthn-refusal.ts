/**
 * The reason for refusing an authenticator's answer, for the log and for tests. The sender never learns it.
 * @see W3C WebAuthn Level 3 §7.1, §7.2
 */
type WebauthnRefusal =
  | 'malformed'
  | 'type'
  | 'challenge'
  | 'origin'
  | 'cross_origin'
  | 'rp_id'
  | 'user_presence'
  | 'user_verification'
  | 'backup_flags'
  | 'no_credential'
  | 'credential_id'
  | 'algorithm'
  | 'public_key'
  | 'signature'
  | 'backup_eligibility'

export class WebauthnError extends Error {
  readonly refusal: WebauthnRefusal

  constructor(refusal: WebauthnRefusal, what: string) {
    super(`${refusal}: ${what}`)
    this.name = 'WebauthnError'
    this.refusal = refusal
  }
}

/** @throws WebauthnError unless it holds */
export function must(holds: boolean, refusal: WebauthnRefusal, what: string): asserts holds {
  if (!holds) throw new WebauthnError(refusal, what)
}
