import type { ClaimsRequest } from './claims-request.ts'

/**
 * What a code, and the refresh token family that comes of it, keeps of its authorization request: what the token
 * endpoint, ID tokens and userinfo need later. Kept as JSON in `RefreshTokenFamily.authorization`.
 */
export interface AuthorizationDetails {
  redirectUri: string
  /**
   * Absent where the request had none, which only a confidential client with `requirePkce: false` may. @see RFC 7636
   * §4.4
   */
  codeChallenge?: string
  nonce?: string
  /** @see OpenID Connect Core 1.0 §5.5 */
  claims?: ClaimsRequest
}

export function formatAuthorizationDetails(details: AuthorizationDetails): string {
  return JSON.stringify(details)
}

/** Reads a string that `formatAuthorizationDetails` made. */
export function readAuthorizationDetails(json: string): AuthorizationDetails {
  return JSON.parse(json) as AuthorizationDetails
}
