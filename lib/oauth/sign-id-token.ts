import type { Client } from '../ports/client-store.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import type { User } from '../ports/user-store.ts'
import { readAuthorizationDetails } from '../protocol/authorization-request.ts'
import type { GrantDeps } from './deps.ts'

/**
 * The ID token of a family that came of an authorization code or a token exchange with `openid`; nothing for others.
 * @see OpenID Connect Core 1.0 §3.1.3.3, §12.2
 */
export async function signIdToken(
  {
    user,
    client,
    scopes,
    family,
    accessToken,
    nonce
  }: {
    user: User
    client: Client
    scopes: string[]
    family: RefreshTokenFamily
    accessToken: string
    nonce?: string | undefined
  },
  deps: GrantDeps
): Promise<{ id_token?: string }> {
  if (family.authorization === null || deps.idTokens === null || !scopes.includes('openid')) return {}
  const { claims } = readAuthorizationDetails(family.authorization)
  return {
    id_token: await deps.idTokens.mint({
      user,
      client,
      scopes,
      authentication: family,
      sid: family.sessionSid,
      nonce,
      claims,
      accessToken
    })
  }
}
