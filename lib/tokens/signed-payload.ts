import type { VerifyingKey } from '../ports/jwt.ts'
import { invalidToken } from '../protocol/bearer.ts'

/**
 * What a token says that bears this key's signature; `alg` is the one that its header names.
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
