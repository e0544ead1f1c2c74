import { isPublic } from '../clients/rights.ts'
import type { Client } from '../ports/client-store.ts'
import type { RefreshTokenFamily } from '../ports/token-store.ts'
import { invalidToken } from '../protocol/bearer.ts'
import { parseCredential } from '../protocol/credential.ts'
import type { GrantContext, GrantDeps } from './deps.ts'
import {
  commitUse,
  type RefreshAttempt,
  reportRefresh,
  signForFamily,
  stillGrantable,
  withRotation
} from './refresh-family.ts'

interface RefreshResponse {
  access_token: string
  expires_in: number
  /** Only with `rotate: 'always'`. */
  refresh_token?: string
}

/**
 * `POST /auth/refresh`: a new access token for a refresh token. There is no place for client authentication in this
 * request, so tokens of confidential clients are refused, whose secret the token endpoint asks for.
 * @throws OAuthError `invalid_token`
 * @see RFC 6749 §6, RFC 9700 §4.14
 */
export async function refreshAccessToken(
  token: string,
  { origin }: Pick<GrantContext, 'origin'>,
  deps: GrantDeps
): Promise<RefreshResponse> {
  const presented = parseCredential(token)
  if (presented === null) throw refused('malformed')
  const attempt: RefreshAttempt = { presented, origin, refused }
  // Before the token is replaced, for signing keys may not be ready yet.
  await deps.accessTokens.ready()
  return deps.refreshToken.rotate === 'always' ? await rotate(attempt, deps) : await use(attempt, deps)
}

async function use(attempt: RefreshAttempt, deps: GrantDeps): Promise<RefreshResponse> {
  const family = await commitUse(attempt, undefined, deps)
  const access = await accessTokenFor(family, attempt, deps)
  reportRefresh(family, false, attempt, deps)
  return access
}

async function rotate(attempt: RefreshAttempt, deps: GrantDeps): Promise<RefreshResponse> {
  const { result, refreshToken } = await withRotation(
    attempt,
    undefined,
    async (family) => await accessTokenFor(family, attempt, deps),
    deps
  )
  return { ...result, refresh_token: refreshToken }
}

async function accessTokenFor(
  family: RefreshTokenFamily,
  attempt: RefreshAttempt,
  deps: GrantDeps
): Promise<RefreshResponse> {
  const client = family.clientId === null ? null : await deps.clients.findById(family.clientId)
  if (family.clientId !== null && !mayRefreshHere(client)) throw refused('client')
  const { accessToken } = await signForFamily(
    { family, client, scopes: stillGrantable(family, client, deps) },
    attempt,
    deps
  )
  return {
    access_token: accessToken,
    expires_in: deps.accessTokens.expiresInSeconds
  }
}

function mayRefreshHere(client: Client | null): boolean {
  return client !== null && isPublic(client)
}

function refused(detail: string): Error {
  return invalidToken('The refresh token is invalid, expired or revoked.', detail)
}
