import type { ClaimsRequest } from './claims-request.ts'

/**
 * The parameters of an authorization request that the code and its refresh token family keep for the token endpoint, ID
 * tokens and userinfo. Kept as JSON in `RefreshTokenFamily.authorization`.
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
