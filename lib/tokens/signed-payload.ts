import type { VerifyingKey } from '../ports/cryptography.ts'
import { invalidToken } from '../protocol/bearer.ts'

/**
 * The payload of a token signed by this key with the algorithm `alg` of its header.
 * @throws OAuthError `invalid_token`
 * @see RFC 8725 §3.1
 */
export function signedPayload(key: VerifyingKey, alg: string, token: string): unknown {
  if (key.alg !== alg) throw invalidToken('The token is signed with another algorithm.', 'alg')
  try {
    return key.verify(token)
  } catch {
    throw invalidToken('The signature is not valid.')
  }
}
